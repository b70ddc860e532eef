/** Lists that are ordered by id and read by key, either way. */
import type { KeysetRange } from "../store.ts"
import type { Statement } from "./statements.ts"

/**
 * The two ways to read such a list. Parameters: what chooses the list, then an id, then how many. `older` answers ids
 * up to the given one and that one too, the greatest first; `newer` those above it, the smallest first.
 */
export interface Keyset<Row> {
  readonly older: Statement<Row>
  readonly newer: Statement<Row>
}

/** The greatest id, and a number below every id. */
export const idEnds = { above: 9_223_372_036_854_775_807n, below: -1n }

/** Rows of a list, newest first, whichever way they were read. */
export function readKeyset<Row, Id extends string>(
  keyset: Keyset<Row>,
  range: KeysetRange<Id>,
  list: readonly bigint[],
): readonly Row[] {
  if (range.direction === "newer") {
    const from = range.from === undefined ? idEnds.below : BigInt(range.from)
    return keyset.newer.all(...list, from, range.limit).toReversed()
  }
  const upTo = range.from === undefined ? idEnds.above : BigInt(range.from) - 1n
  return keyset.older.all(...list, upTo, range.limit)
}
