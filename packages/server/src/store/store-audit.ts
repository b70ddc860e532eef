/** The result of an audit. */
import type { AppId, MatchSeq } from "../model/ids.ts"
import type { LinkTally } from "../model/link.ts"

/** The result of an audit of the whole store. */
export interface StoreAudit {
  /** A sentence for each damaged record, which names it. At most 100. */
  readonly damage: readonly string[]
  readonly posts: {
    /** Ever stored, counted in the transactions that stored them. */
    readonly accepted: number
    /** Deleted by retention. */
    readonly trimmed: number
    readonly stored: number
  }
  readonly logs: readonly {
    readonly appId: AppId
    readonly head: MatchSeq
    /** Retention has passed the entries up to here. */
    readonly trimmedTo: MatchSeq
    /** Entries after that; `head - trimmedTo` when none is missing. */
    readonly entries: number
  }[]
  readonly links: readonly LinkTally[]
}
