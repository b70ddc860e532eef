/** Lists that are ordered by id and read by key, either way. */
import { idEdgeOf, idEnds as ends } from "../../id-bounds.ts"
import { keysetSql, type KeysetRange } from "../../keyset-range.ts"
import type { Queries, SqlValue } from "./database.ts"

/** The greatest id, and a number below every id, as PostgreSQL is given them. */
export const idEnds = { above: String(ends.above), below: String(ends.below) }

/**
 * Reads a page of a list, newest first. `select` ends in a condition, whose parameters `$1` … are `list`; `id` is the
 * column with its table, as SQL.
 */
export async function readKeyset<Row>(
  queries: Queries,
  { select, id }: { readonly select: string; readonly id: string },
  list: readonly SqlValue[],
  { direction, from, limit }: KeysetRange<string>,
): Promise<readonly Row[]> {
  const parameters = { from: `$${list.length + 1}`, limit: `$${list.length + 2}` }
  const sql = `${select} ${keysetSql(id, direction, parameters)}`
  const rows = await queries.rows<Row>(sql, ...list, String(idEdgeOf(direction, from)), limit)
  return direction === "older" ? rows : rows.toReversed()
}
