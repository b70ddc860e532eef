import { beforeEach, expect, test } from "vitest"
import { firstIdAt, type PostId } from "../model/ids.ts"
import { createManualClock, type ManualClock } from "../runtime/manual-clock.testing.ts"
import type { ArrivalPosition } from "../store/port/arrival-store.ts"
import { aPost } from "../store/contract/fixtures.ts"
import { MemorySearchIndex } from "../store/memory/memory-search-index.testing.ts"
import { MemoryState, MemoryStore } from "../store/memory/memory-store.testing.ts"
import { IndexSweep } from "./index-sweep.ts"

const never = new AbortController().signal
const dayMs = 86_400_000
const ids = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => String(from + index) as PostId)
const everything = [0n, 9_223_372_036_854_775_807n]

let clock: ManualClock

beforeEach(() => {
  clock = createManualClock()
})

/** The first ids of a day, by the clock. */
function idsOfDay(daysAgo: number, count: number): readonly PostId[] {
  const first = firstIdAt(clock.nowMs() - daysAgo * dayMs)
  return Array.from({ length: count }, (_, index) => (first + BigInt(index)).toString() as PostId)
}

/** An index, a store of some of its posts, and a sweep of both that counts the posts it compares. */
async function sweptIndex(
  { indexed, stored }: { readonly indexed: readonly PostId[]; readonly stored: readonly PostId[] },
  postRetentionMs: number,
  passedMax?: number,
  startsAt = 0,
) {
  const store = new MemoryStore(new MemoryState())
  await store.append(
    stored.map((id) => ({ post: aPost(id), matches: [] })),
    1,
  )
  const index = new MemorySearchIndex()
  await index.add(
    indexed.map((id) => ({ id, terms: [] })),
    { after: undefined, position: "1" as ArrivalPosition },
  )
  const counted = { compared: 0 }
  const sweep = new IndexSweep({
    random: { fraction: () => startsAt },
    store,
    clock,
    postRetentionMs,
    ...(passedMax !== undefined && { passedMax }),
    index: {
      async find(query, range) {
        const found = await index.find(query, range)
        // One alone is an end of the ids.
        if (range.limit > 1) counted.compared += found.length
        return found
      },
      remove: (gone) => index.remove(gone),
    },
  })
  return { store, index, sweep, counted, left: async () => (await index.count({ kind: "everything" }, everything))[0] }
}

test("posts that retention has deleted leave the index, and all others stay", async () => {
  const { sweep, index, left } = await sweptIndex({ indexed: ids(1, 1_300), stored: ids(1_101, 1_300) }, dayMs)
  await sweep.pass(never)
  expect(await left()).toBe(200)
  const range = { above: -1n, upTo: 10_000n, direction: "newer", limit: 1 } as const
  expect(await index.find({ kind: "everything" }, range)).toEqual(["1101"])
})

test("posts that are gone leave the index behind any number that retention spared", async () => {
  const [spared, old, young] = [idsOfDay(9, 1_200), idsOfDay(3, 700), idsOfDay(1, 300)]
  const { sweep, left } = await sweptIndex(
    { indexed: [...spared, ...old, ...young], stored: [...spared, ...young] },
    2 * dayMs,
  )
  await sweep.pass(never)
  expect(await left()).toBe(1_500)
})

test("posts with ids that hold no time are compared, however many are there", async () => {
  const { sweep, left } = await sweptIndex({ indexed: ids(1, 1_900), stored: ids(1, 1_200) }, dayMs)
  await sweep.pass(never)
  expect(await left()).toBe(1_200)
})

test("from the lowest id on, a pass compares no posts whose ids say that retention keeps them, but for the first", async () => {
  const [spared, young] = [idsOfDay(9, 700), idsOfDay(1, 3_700)]
  const indexed = [...spared, ...young]
  const { sweep, counted, left } = await sweptIndex({ indexed, stored: indexed }, 2 * dayMs, 1_500)
  await sweep.pass(never)
  expect(counted.compared).toBe(1_000 + 1_500)
  expect(await left()).toBe(4_400)
})

test("posts that were deleted while nobody kept the index up to date leave it in some passes, however long posts are kept", async () => {
  const { sweep, counted, left } = await sweptIndex({ indexed: ids(1, 4_100), stored: ids(1, 3_500) }, 0, 1_000)
  for (const passes of [1, 2, 3]) {
    await sweep.pass(never)
    expect([counted.compared, await left()]).toEqual([1_500 * passes, 4_100])
  }
  await sweep.pass(never)
  expect(await left()).toBe(3_500)
})

test("the first pass of a process begins anywhere among the posts", async () => {
  const { sweep, left } = await sweptIndex({ indexed: ids(1, 4_001), stored: ids(1, 3_500) }, 0, 1_000, 0.75)
  await sweep.pass(never)
  expect(await left()).toBe(3_500)
})

test("a pass ends after so many posts that are there, the next goes on behind them, and the last begins again", async () => {
  const { store, sweep, counted, left } = await sweptIndex(
    { indexed: ids(1, 3_100), stored: ids(1, 2_500) },
    dayMs,
    1_000,
  )
  await sweep.pass(never)
  expect([counted.compared, await left()]).toEqual([2_000, 3_100])
  await sweep.pass(never)
  expect([counted.compared, await left()]).toEqual([2_000 + 1_000 + 1_100, 2_500])
  await store.trimPosts({ after: undefined, beforeMs: clock.nowMs(), limit: 10_000 })
  await sweep.pass(never)
  expect(await left()).toBe(0)
})
