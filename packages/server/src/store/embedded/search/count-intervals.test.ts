import { expect, test } from "vitest"
import { countIntervals, intervalsOf } from "./count-intervals.ts"
import type { PartitionReader, PartitionSearch } from "./partition-search.ts"

/** The counts of a partition with these ids, and how many passes they took. */
async function counted(ids: readonly bigint[], edges: readonly bigint[]) {
  let passes = 0
  const search: PartitionSearch = {
    find: async () => [],
    async tally(_reader, { above, upTo }, { from, length }) {
      passes += 1
      const steps = ids.filter((id) => id > above && id <= upTo).map((id) => Number((id - from) / length))
      return new Map([...Map.groupBy(steps, (step) => step)].map(([step, { length: count }]) => [step, count]))
    },
  }
  const counts = edges.slice(1).map(() => 0)
  const partition = { reader: {} as PartitionReader, least: ids[0] ?? 0n, greatest: ids.at(-1) ?? 0n }
  await countIntervals(search, partition, intervalsOf(edges), counts)
  return { counts, passes }
}

const ids = Array.from({ length: 1_000 }, (_, index) => BigInt(1_000 + index))

test("one interval is counted in one pass", async () => {
  expect(await counted(ids, [1_100n, 5_000n])).toEqual({ counts: [900], passes: 1 })
})

test("intervals of one length are counted in one pass, also where the first and the last one are shorter", async () => {
  const hours = [900n, 1_100n, 1_300n, 1_500n]
  expect(await counted(ids, hours)).toEqual({ counts: [100, 200, 200], passes: 1 })
  expect(await counted(ids, [1_050n, ...hours.slice(1), 1_550n])).toEqual({ counts: [50, 200, 200, 50], passes: 1 })
  expect(await counted(ids, [1_050n, 1_100n, 1_300n])).toEqual({ counts: [50, 200], passes: 1 })
  expect(await counted(ids, [1_050n, 1_300n, 1_310n])).toEqual({ counts: [250, 10], passes: 1 })
})

test("empty intervals, as before `since_id`, change nothing", async () => {
  const edges = [1_050n, 1_050n, 1_050n, 1_100n, 1_300n, 1_500n, 1_540n, 1_540n]
  expect(await counted(ids, edges)).toEqual({ counts: [0, 0, 50, 200, 200, 40, 0], passes: 1 })
})

test("intervals of several lengths take a pass each", async () => {
  const edges = [0n, 10n, 1_000n, 1_500n, 1_600n, 9_000n, 10_000n]
  expect(await counted(ids, edges)).toEqual({ counts: [0, 0, 500, 100, 400, 0], passes: 3 })
  expect(await counted(ids, [1_000n, 1_300n, 1_400n, 1_500n])).toEqual({ counts: [300, 100, 100], passes: 3 })
})

test("intervals beyond the partition take no pass", async () => {
  expect(await counted(ids, [0n, 500n, 1_000n])).toEqual({ counts: [0, 0], passes: 0 })
  expect(await counted(ids, [2_000n, 2_001n, 3_000n])).toEqual({ counts: [0, 0], passes: 0 })
})
