/** Dead letters as rows. */
import type { DeadLetter } from "../../model/dead-letter.ts"

/** Columns of a dead letter, but for what its match and its link say. */
export const deadLetterColumns = "id, app_id, link_id, seq, failures, outcome, status, error, dead_lettered_at_ms"

/** A dead letter. */
export interface DeadLetterRow extends Omit<DeadLetter, "status" | "error" | "epoch"> {
  readonly epoch: string | null
  readonly status: number | null
  readonly error: string | null
}
