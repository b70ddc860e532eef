/** Attempts as rows. */
import type { AttemptResponse, AttemptSignatures, StoredAttempt } from "../../model/attempt.ts"
import { recordOf } from "./record.ts"

/** Columns of an attempt, but for its number. */
export const attemptColumns = "link_id, seq, at_ms, duration_ms, outcome, status, bytes, error, signatures, response"

/** An attempt. */
export interface AttemptRow extends Omit<StoredAttempt, "status" | "error" | "signatures" | "response" | "epoch"> {
  readonly epoch: string | null
  readonly status: number | null
  readonly error: string | null
  /** JSON text. */
  readonly signatures: string | null
  /** JSON text. */
  readonly response: string | null
}

/** A row as an attempt. */
export function attemptOf({ signatures, response, ...row }: AttemptRow): StoredAttempt {
  return {
    ...recordOf(row),
    ...(signatures !== null && { signatures: JSON.parse(signatures) as AttemptSignatures }),
    ...(response !== null && { response: JSON.parse(response) as AttemptResponse }),
  }
}

/** A member of an attempt as its column; NULL when it is absent. */
export function jsonOrNull(value: object | undefined): string | null {
  return value === undefined ? null : JSON.stringify(value)
}
