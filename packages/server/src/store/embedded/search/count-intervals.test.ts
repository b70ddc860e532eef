import { expect, test } from "vitest"
import { countIntervals } from "./count-intervals.ts"
import type { PartitionReader, PartitionSearch } from "./partition-search.ts"
import type { PostId } from "../../../model/ids.ts"

/** The counts of a partition with these ids, and how many statements they took. */
async function counted(ids: readonly bigint[], edges: readonly bigint[]) {
  const calls = { find: 0, count: 0 }
  const within = (above: bigint, upTo: bigint) => ids.filter((id) => id > above && id <= upTo)
  const search: PartitionSearch = {
    async find(_reader, { above, upTo }) {
      calls.find += 1
      return within(above, upTo).map((id) => String(id) as PostId)
    },
    async count(_reader, { above, upTo }) {
      calls.count += 1
      return within(above, upTo).length
    },
  }
  const counts = edges.slice(1).map(() => 0)
  const partition = { reader: {} as PartitionReader, least: ids[0] ?? 0n, greatest: ids.at(-1) ?? 0n }
  await countIntervals(search, partition, { edges, counts })
  return { counts, ...calls }
}

const ids = Array.from({ length: 1_000 }, (_, index) => BigInt(1_000 + index))

test("one interval is counted by one statement", async () => {
  expect(await counted(ids, [1_100n, 5_000n])).toEqual({ counts: [900], count: 1, find: 0 })
})

test("few posts in several intervals are counted by their ids", async () => {
  const edges = [0n, 1_001n, 1_050n, 1_050n, 1_100n, 2_000n, 3_000n]
  expect(await counted(ids.slice(0, 150), edges)).toEqual({ counts: [1, 49, 0, 50, 50, 0], count: 1, find: 1 })
})

test("many posts in few intervals are counted by a statement for each interval that may have some", async () => {
  const edges = [0n, 10n, 1_000n, 1_500n, 1_600n, 9_000n, 10_000n]
  expect(await counted(ids, edges)).toEqual({ counts: [0, 0, 500, 100, 400, 0], count: 4, find: 0 })
})

test("intervals beyond the partition take no statement", async () => {
  expect(await counted(ids, [0n, 500n, 1_000n])).toEqual({ counts: [0, 0], count: 0, find: 0 })
  expect(await counted(ids, [2_000n, 2_001n, 3_000n])).toEqual({ counts: [0, 0], count: 0, find: 0 })
})
