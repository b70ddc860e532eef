/**
 * Counts of a partition by interval, in one pass over the posts that are found.
 *
 *     intervals   ├──┤────┼────┼────┼─┤      of one length, but for those at the ends
 *     steps       ├────┼────┼────┼────┼      the step of a post is one division
 *
 * A statement for each interval took three times as long: FTS5 reads a list of posts from its beginning on.
 */
import type { PartitionReader, PartitionSearch, Steps } from "./partition-search.ts"

/** A partition whose ids lie between `least` and `greatest`. */
export interface BoundedPartition {
  readonly reader: PartitionReader
  readonly least: bigint
  readonly greatest: bigint
}

/** Ids from `from` up to `to`, exclusive, and where their count belongs. */
export interface Interval {
  readonly index: number
  readonly from: bigint
  readonly to: bigint
}

/** The intervals `edges[i] <= id < edges[i + 1]`, in their order, without empty ones. */
export function intervalsOf(edges: readonly bigint[]): readonly Interval[] {
  return edges
    .slice(1)
    .map((to, index): Interval => ({ index, from: edges[index] ?? to, to }))
    .filter(({ from, to }) => from < to)
}

/** Adds the posts of a partition to the counts of intervals. */
export async function countIntervals(
  search: PartitionSearch,
  { reader, least, greatest }: BoundedPartition,
  all: readonly Interval[],
  counts: number[],
): Promise<void> {
  const intervals = all.filter(({ from, to }) => from <= greatest && to > least)
  const steps = stepsOf(intervals)
  const passes = steps === undefined ? intervals.map((one) => [one]) : [intervals]
  for (const pass of passes) {
    const [first, last] = [pass[0], pass.at(-1)]
    if (first === undefined || last === undefined) continue
    const range = { above: first.from - 1n, upTo: last.to - 1n }
    const tally = await search.tally(reader, range, steps ?? { from: first.from, length: first.to - first.from })
    for (const [at, { index }] of pass.entries()) counts[index] = (counts[index] ?? 0) + (tally.get(at) ?? 0)
  }
}

/** The steps of which each interval is one; undefined when the intervals are not of one length. */
function stepsOf(intervals: readonly Interval[]): Steps | undefined {
  const [first, second] = intervals
  if (first === undefined || second === undefined) return undefined
  const lengths = intervals.map(({ from, to }) => to - from)
  const length = lengths.slice(0, 2).reduce((a, b) => (a > b ? a : b))
  const areOfOneLength = lengths.every((one, at) =>
    at === 0 || at === lengths.length - 1 ? one <= length : one === length,
  )
  const areNeighbours = intervals.every(({ from }, at) => at === 0 || intervals[at - 1]?.to === from)
  return areOfOneLength && areNeighbours ? { from: second.from - length, length } : undefined
}
