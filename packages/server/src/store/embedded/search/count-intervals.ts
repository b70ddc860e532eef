/** Counts of a partition by interval, in few statements. */
import type { PartitionReader, PartitionSearch } from "./partition-search.ts"

/**
 * Most posts, for each interval, whose ids are read to count them. Ours: one statement for each interval takes longer than
 * that.
 */
const idsPerIntervalMax = 100

/** A partition whose ids lie between `least` and `greatest`. */
export interface BoundedPartition {
  readonly reader: PartitionReader
  readonly least: bigint
  readonly greatest: bigint
}

/** Adds the posts of a partition to the counts of the intervals `edges[i] <= id < edges[i + 1]`. */
export async function countIntervals(
  search: PartitionSearch,
  { reader, least, greatest }: BoundedPartition,
  { edges, counts }: { readonly edges: readonly bigint[]; readonly counts: number[] },
): Promise<void> {
  const add = (index: number, count: number): void => void (counts[index] = (counts[index] ?? 0) + count)
  const intervals = counts
    .map((_, index) => ({ index, above: (edges[index] ?? 0n) - 1n, upTo: (edges[index + 1] ?? 0n) - 1n }))
    .filter(({ above, upTo }) => above < upTo && above < greatest && upTo >= least)
  const [first, last] = [intervals[0], intervals.at(-1)]
  if (first === undefined || last === undefined) return
  const all = { above: first.above, upTo: last.upTo }
  const total = await search.count(reader, all)
  if (first === last) {
    add(first.index, total)
  } else if (total <= idsPerIntervalMax * intervals.length) {
    let next = 0
    for (const id of await search.find(reader, { ...all, direction: "newer", limit: total })) {
      while (BigInt(id) > (intervals[next] ?? last).upTo) next += 1
      add((intervals[next] ?? last).index, 1)
    }
  } else {
    for (const { index, ...interval } of intervals) add(index, await search.count(reader, interval))
  }
}
