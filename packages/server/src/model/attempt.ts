import type { AttemptOutcome } from "@sluice/api"
import type { LinkId, MatchSeq } from "./ids.ts"

/** The result of one attempt to deliver. */
export interface Attempt {
  readonly linkId: LinkId
  readonly seq: MatchSeq
  /** When it began. */
  readonly atMs: number
  readonly durationMs: number
  readonly outcome: AttemptOutcome
  /** Of the response, if there was one. */
  readonly status?: number
  /** Bytes of the body that was sent. */
  readonly bytes: number
  /** What went wrong, in words; nothing of a response's body. */
  readonly error?: string
}
