/**
 * Matches that are to be sent again, wherever they are: retries at once, dead letters and delivered ones as retries.
 *
 * A match that the cursor has passed and the log still has is a retry, a dead letter or delivered: gap markers and expired
 * dead letters are of what retention has passed. So what is neither a retry nor a dead letter was delivered.
 */
import type { MatchSeq } from "../../model/ids.ts"
import type { LinkMatch, RedeliveryOutcome } from "../../model/redelivery.ts"
import { LinkLedger, type LinkBefore, type LinkChange } from "./link-change.ts"
import type { RetryRoom } from "./retry-room.ts"

/** A link whose matches are to be sent again, and its log. */
export interface RedeliverableLink extends Pick<LinkBefore, "position" | "trimmedTo"> {
  readonly firstPosition: MatchSeq
  readonly delivered: number
  readonly head: number
}

/** A match of a link as it is before that. */
export interface RedeliverableMatch {
  readonly seq: MatchSeq
  /** NULL in the first epoch of the log. */
  readonly epoch: string | null
  /** Failures of the retry; NULL when the match is no retry. */
  readonly failures: number | null
  readonly isDead: boolean
  /** Most bytes to send for it; 0 when the log does not have it. */
  readonly bytes: number
}

/**
 * Sends matches of one link again: returns an outcome for each of `named`, in order. `found` has them all, in any
 * order.
 */
export function redeliverMatches(
  link: RedeliverableLink,
  found: readonly RedeliverableMatch[],
  room: RetryRoom,
  named: readonly LinkMatch[],
): { readonly outcomes: readonly RedeliveryOutcome[]; readonly change: LinkChange } {
  const matches = new Map(found.map((match) => [match.seq, match]))
  const outstanding = found.filter(({ failures, isDead }) => isDead || failures !== null)
  const ledger = new LinkLedger({ ...link, outstanding })
  const redeliver = ({ seq, epoch }: LinkMatch): RedeliveryOutcome => {
    const match = matches.get(seq)
    if (seq <= link.firstPosition || seq > link.head) return "unknown"
    if (epoch !== (match?.epoch ?? undefined)) return "unknown"
    const state = ledger.stateOf(seq)
    if (state === "waiting") return "waiting"
    // At most as many as the link still counts as delivered; the log may have more.
    const isGone = state === "delivered" && (seq <= link.trimmedTo || link.delivered + ledger.delivered <= 0)
    if (isGone) return "gone"
    if (state !== "retry" && !room.take(match?.bytes ?? 0)) return "no-room"
    ledger.redeliver(seq, match?.failures ?? 0)
    return "redelivered"
  }
  return { outcomes: named.map(redeliver), change: ledger.change() }
}

/** Dead letters of one link that become retries. */
export function redeliverDead(link: Pick<LinkBefore, "position">, seqs: readonly MatchSeq[]): LinkChange {
  const ledger = new LinkLedger({ ...link, trimmedTo: 0, outstanding: seqs.map(asDead) })
  for (const seq of seqs) ledger.redeliver(seq)
  return ledger.change()
}

/** Dead letters of one link that have been kept for their time. */
export function expire(link: Pick<LinkBefore, "position" | "trimmedTo">, seqs: readonly MatchSeq[]): LinkChange {
  const ledger = new LinkLedger({ ...link, outstanding: seqs.map(asDead) })
  for (const seq of seqs) ledger.expire(seq)
  return ledger.change()
}

function asDead(seq: MatchSeq): { readonly seq: MatchSeq; readonly isDead: true } {
  return { seq, isDead: true }
}
