/** Ranges of lists that are ordered by id, on what is in memory. */
import type { KeysetRange } from "./store.ts"

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

function compareIds(a: string, b: string): -1 | 0 | 1 {
  const [left, right] = [BigInt(a), BigInt(b)]
  return left < right ? -1 : left > right ? 1 : 0
}
