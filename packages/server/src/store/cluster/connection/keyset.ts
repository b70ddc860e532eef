/** Lists that are ordered by id and read by key, either way. */
import { idEnds as ends } from "../../id-bounds.ts"
import type { KeysetRange } from "../../keyset-range.ts"
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
  const [from$, limit$] = [`$${list.length + 1}`, `$${list.length + 2}`]
  if (direction === "newer") {
    const sql = `${select} AND ${id} > ${from$} ORDER BY ${id} LIMIT ${limit$}`
    return (await queries.rows<Row>(sql, ...list, from ?? idEnds.below, limit)).toReversed()
  }
  const upTo = from === undefined ? idEnds.above : String(BigInt(from) - 1n)
  return queries.rows<Row>(`${select} AND ${id} <= ${from$} ORDER BY ${id} DESC LIMIT ${limit$}`, ...list, upTo, limit)
}
