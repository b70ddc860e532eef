/** Rows of sources, of what they could not give, and of their dead letters. */
import type { SourceDeadLetter, StoredSourceGap, StoredSource } from "../../model/source.ts"
import { recordOf, isTrue, type StoredBoolean } from "./record.ts"

/** The columns of a source, a list with commas. */
export const sourceColumns = "name, driver, position, saved_at_ms, is_paused"

/** A row with these columns under the names of the model. */
export interface SourceRow {
  readonly name: string
  readonly driver: number
  readonly position: string | null
  readonly savedAtMs: number | null
  readonly isPaused: StoredBoolean
}

/** The source of a row. */
export function sourceOf({ isPaused, ...row }: SourceRow): StoredSource {
  return { ...recordOf(row), isPaused: isTrue(isPaused) }
}

/** The columns of a gap, a list with commas. */
export const gapColumns = "id, source, from_ms, to_ms, reason, noted_at_ms"

/** A row with these columns. */
export interface SourceGapRow extends Omit<StoredSourceGap, "fromMs" | "toMs"> {
  readonly fromMs: number | null
  readonly toMs: number | null
}

/** The gap of a row. */
export function sourceGapOf(row: SourceGapRow): StoredSourceGap {
  return recordOf(row) as StoredSourceGap
}

/** The columns of a dead letter of a source, a list with commas. */
export const sourceDeadLetterColumns = "id, source, at_ms, title, detail, record"

/** The dead letter of a row with these columns. */
export function sourceDeadLetterOf(row: SourceDeadLetter): SourceDeadLetter {
  return { ...row, record: new Uint8Array(row.record) }
}
