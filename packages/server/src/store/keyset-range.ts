/** Ranges of lists that are ordered by id, in SQL and in memory. */
import { compareIds } from "../model/ids.ts"

/** A page of a list that is ordered by id, newest first. */
export interface KeysetRange<Id extends string> {
  /** `older` reads below `from`, `newer` above it. Both return the newest first. */
  readonly direction: "older" | "newer"
  /** Exclusive. When absent, `older` begins with the newest, `newer` with the oldest. */
  readonly from?: Id
  readonly limit: number
}

/** SQL after a condition: the rest of a page's statement. `from` and `limit` are its parameters, `from` an `idEdgeOf`. */
export function keysetSql(id: string, direction: "older" | "newer", { from = "?", limit = "?" } = {}): string {
  const [side, order] = direction === "older" ? ["<=", "DESC"] : [">", "ASC"]
  return `AND ${id} ${side} ${from} ORDER BY ${id} ${order} LIMIT ${limit}`
}

/** Those of `rows` that a range takes, newest first. */
export function withinKeyset<Id extends string, Row extends { readonly id: Id }>(
  rows: readonly Row[],
  { direction, from, limit }: KeysetRange<Id>,
): readonly Row[] {
  const within = rows
    .filter(({ id }) => from === undefined || compareIds(id, from) === (direction === "older" ? -1 : 1))
    .toSorted((a, b) => compareIds(b.id, a.id))
  return direction === "older" ? within.slice(0, limit) : within.slice(-limit)
}
