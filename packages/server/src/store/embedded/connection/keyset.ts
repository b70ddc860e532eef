/** Lists that are ordered by id and read by key, either way. */
import type { DatabaseSync } from "node:sqlite"
import { idEdgeOf } from "../../id-bounds.ts"
import { keysetSql, type KeysetRange } from "../../keyset-range.ts"
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
    older: prepare(db, `${select} ${keysetSql(id, "older")}`),
    newer: prepare(db, `${select} ${keysetSql(id, "newer")}`),
  }
}

/** Rows of a list, newest first, whichever way they were read. `list` are the parameters that choose the list. */
export function readKeyset<Row>(
  keyset: Keyset<Row>,
  { direction, from, limit }: KeysetRange<string>,
  list: readonly (bigint | string | null)[],
): readonly Row[] {
  const rows = keyset[direction].all(...list, idEdgeOf(direction, from), limit)
  return direction === "older" ? rows : rows.toReversed()
}
