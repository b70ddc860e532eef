import type { AttemptOutcome } from "@sluice/api"
import type { LinkId, MatchSeq } from "./ids.ts"

/** What came of one attempt to deliver, as it is told to whoever asks why. */
export interface Attempt {
  readonly linkId: LinkId
  readonly seq: MatchSeq
  /** When it began. */
  readonly atMs: number
  readonly durationMs: number
  readonly outcome: AttemptOutcome
  /** Of the answer, when one came. */
  readonly status?: number
  /** Bytes of the body that was sent. */
  readonly bytes: number
  /** What went wrong, in words; nothing of an answer's body. */
  readonly error?: string
}
