/** Lists that are ordered by id and read by key, either way. */
import type { DatabaseSync } from "node:sqlite"
import { idEnds } from "../../id-bounds.ts"
import type { KeysetRange } from "../../keyset-range.ts"
import { prepare, type Statement } from "./statements.ts"

/** The two ways to read such a list; each takes the parameters of its `where`, then an id, then a limit. */
export interface Keyset<Row> {
  /** Ids up to the given one, inclusive, the greatest first. */
  readonly older: Statement<Row>
  /** Ids above the given one, the smallest first. */
  readonly newer: Statement<Row>
}

/** Prepares a list. `select` ends in a condition; `id` is the column with its table, as SQL. */
export function prepareKeyset<Row>(db: DatabaseSync, select: string, id: string): Keyset<Row> {
  return {
    older: prepare(db, `${select} AND ${id} <= ? ORDER BY ${id} DESC LIMIT ?`),
    newer: prepare(db, `${select} AND ${id} > ? ORDER BY ${id} LIMIT ?`),
  }
}

/** Rows of a list, newest first, whichever way they were read. `list` are the parameters that choose the list. */
export function readKeyset<Row, Id extends string>(
  keyset: Keyset<Row>,
  range: KeysetRange<Id>,
  list: readonly (bigint | string | null)[],
): readonly Row[] {
  if (range.direction === "newer") {
    const from = range.from === undefined ? idEnds.below : BigInt(range.from)
    return keyset.newer.all(...list, from, range.limit).toReversed()
  }
  const upTo = range.from === undefined ? idEnds.above : BigInt(range.from) - 1n
  return keyset.older.all(...list, upTo, range.limit)
}
