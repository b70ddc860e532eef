import { EarlierPosts } from "@sluice/rules"
import { beforeEach, expect, test } from "vitest"
import type { PostId } from "../model/ids.ts"
import { createManualClock } from "../runtime/manual-clock.testing.ts"
import { aPost } from "../store/contract/fixtures.ts"
import { MemorySearchIndex } from "../store/memory/memory-search-index.testing.ts"
import { MemoryState, MemoryStore } from "../store/memory/memory-store.testing.ts"
import { SearchTooCostly, type SearchBudget, type SearchDeps } from "./find-posts.ts"
import { indexedPost } from "./indexed-post.ts"
import { PostSearch } from "./post-search.ts"
import { rankPosts, type RankedSpan } from "./rank-posts.ts"

const ample: SearchBudget = { postsMax: 10_000, msMax: 60_000 }
const everything = { above: -1n, upTo: 9_223_372_036_854_775_807n, isWhole: false }

let store: MemoryStore
let index: MemorySearchIndex
let deps: SearchDeps
/** Posts before which a search paused. */
let pauses: number

beforeEach(() => {
  store = new MemoryStore(new MemoryState())
  index = new MemorySearchIndex()
  pauses = 0
  deps = {
    store,
    index,
    clock: createManualClock(),
    pause: () => void (pauses += 1),
  }
})

async function append(id: string, text: string, metrics?: unknown): Promise<void> {
  const envelope = JSON.stringify({ data: { id, text, public_metrics: metrics } })
  await store.append([{ post: aPost(id, "7", { envelope }), matches: [] }], 0)
}

/** Indexes the posts that are stored. */
async function fillIndex(): Promise<void> {
  const { posts, position } = await store.arrivedPosts({ limit: 20, bytesMax: 1_000_000 })
  const earlier = new EarlierPosts()
  const indexed = posts.map((post) => indexedPost(post, earlier))
  await index.add(indexed, { after: undefined, position: position ?? expect.fail("There are posts.") })
}

const ranking = (value: string, span: RankedSpan = everything, budget = ample) =>
  rankPosts(new PostSearch({ value, withReposts: true }, new EarlierPosts()), span, budget, deps)

const rank = async (...args: Parameters<typeof ranking>) => (await ranking(...args)).posts.map(({ id }) => id)

test("more clauses come first, then more reactions, then newer posts", async () => {
  await append("1", "a cat and a dog")
  await append("2", "a cat", { like_count: 1 })
  await append("3", "a cat")
  await append("4", "a cat", { like_count: 2 })
  await append("5", "a dog")
  await append("6", "a cow", { like_count: 99 })
  expect(await rank("cat OR dog")).toEqual(["1", "4", "2", "5", "3"])
})

test("likes and replies count once, reposts and quotes twice, and whatever is no number not at all", async () => {
  await append("1", "a cat", { like_count: 1, reply_count: 1, retweet_count: 1, quote_count: 1 })
  await append("2", "a cat", { quote_count: 3.5 })
  await append("3", "a cat", { like_count: 5 })
  await append("4", "a cat", { like_count: "99", reply_count: null, impression_count: 99 })
  await append("5", "a cat", [9])
  expect(await rank("cat")).toEqual(["2", "1", "3", "5", "4"])
})

test("ids are compared as numbers", async () => {
  await append("9", "a cat")
  await append("10", "a cat")
  expect(await rank("cat")).toEqual(["10", "9"])
})

test("the posts of the span are ranked, the newest that the budget allows", async () => {
  for (const id of ["1", "2", "3", "4"]) await append(id, "a cat", { like_count: 9 - Number(id) })
  expect(await rank("cat", { above: 1n, upTo: 3n, isWhole: false })).toEqual(["2", "3"])
  expect(await rank("cat", everything, { postsMax: 2, msMax: 60_000 })).toEqual(["3", "4"])
})

test("the posts of an earlier ranking are ranked as a whole, or not at all", async () => {
  for (const id of ["1", "2", "3", "4", "5", "6"]) await append(id, "a cat", { like_count: 9 - Number(id) })
  const first = await ranking("cat", everything, { postsMax: 4, msMax: 60_000 })
  expect(first).toEqual({
    posts: ["3", "4", "5", "6"].map((id) => ({ id, clauses: 1, reactions: 9 - Number(id) })),
    above: 2n,
  })
  const again = { above: first.above, upTo: 6n, isWhole: true }
  // The budget is less than the first was, as on a busier machine.
  expect(await ranking("cat", again, { postsMax: 2, msMax: 60_000 })).toEqual(first)
  await expect(ranking("cat", again, { postsMax: 1, msMax: 60_000 })).rejects.toBeInstanceOf(SearchTooCostly)
})

test("a ranking of posts that the index alone finds ends when its time is over", async () => {
  const clock = createManualClock()
  deps = { ...deps, clock, pause: () => clock.advance(1) }
  for (let id = 1; id <= 20; id += 1) await append(String(id), "a cat")
  await fillIndex()
  expect(new PostSearch({ value: "cat", withReposts: true }, new EarlierPosts()).isExact).toBe(true)
  // The look for posts that the index does not have takes a turn, too.
  expect(await rank("cat", everything, { postsMax: 10_000, msMax: 5 })).toEqual(["20", "19", "18", "17"])
})

test("a ranking gives others their turns, and leaves out posts that cannot be read", async () => {
  await append("1", "a cat")
  await append("2", "a cat")
  await append("3", "a cat")
  await fillIndex()
  deps = {
    ...deps,
    store: {
      posts: (range) => store.posts(range),
      arrivedPosts: (range) => store.arrivedPosts(range),
      supersededOf: (ids) => store.supersededOf(ids),
      supersededWithin: (range) => store.supersededWithin(range),
      async postsById(range) {
        const { posts } = await store.postsById(range)
        return { posts: posts.filter(({ id }) => id !== "1"), damaged: ["1" as PostId] }
      },
    },
  }
  expect(await rank("cat")).toEqual(["3", "2"])
  expect(pauses).toBeGreaterThanOrEqual(2)
})
