import { EarlierPosts, type RuleEnvelope } from "@sluice/rules"
import fc from "fast-check"
import { beforeEach, describe, expect, test } from "vitest"
import { compareIds, type PostId } from "../model/ids.ts"
import { createManualClock } from "../runtime/manual-clock.testing.ts"
import { aPost } from "../store/contract/fixtures.ts"
import { MemorySearchIndex } from "../store/memory/memory-search-index.testing.ts"
import { MemoryState, MemoryStore } from "../store/memory/memory-store.testing.ts"
import { findIncluding } from "./find-including.ts"
import { tailPostsMax, type SearchDeps } from "./find-posts.ts"
import { IndexFiller } from "./index-filler.ts"

let state: MemoryState
let store: MemoryStore
let index: MemorySearchIndex
let filler: IndexFiller
/** Posts that are damaged. */
let damaged: Set<string>
/** Posts that were read, and searches of the index. */
let counted: { posts: number; searches: number }

beforeEach(begin)

function begin(): void {
  state = new MemoryState()
  store = new MemoryStore(state)
  index = new MemorySearchIndex()
  damaged = new Set()
  counted = { posts: 0, searches: 0 }
  filler = new IndexFiller({
    postRetentionMs: 0,
    isBehindOthers: false,
    store,
    index,
    clock: createManualClock(),
    earlier: new EarlierPosts(),
    pause: () => undefined,
    failed: (error) => expect.fail(String(error)),
  })
}

function deps(): Pick<SearchDeps, "store" | "index" | "pause"> {
  return {
    pause: () => undefined,
    store: {
      posts: (range) => store.posts(range),
      arrivedPosts: (range) => store.arrivedPosts(range),
      supersededOf: (ids) => store.supersededOf(ids),
      supersededWithin: (range) => store.supersededWithin(range),
      async postsById(range) {
        counted.posts += range.ids.length
        const read = await store.postsById(range)
        return {
          ...read,
          posts: read.posts.filter(({ id }) => !damaged.has(id)),
          damaged: range.ids.filter((id) => damaged.has(id)),
        }
      },
    },
    index: {
      position: () => index.position(),
      count: (...args) => index.count(...args),
      hasCutPosts: (range) => index.hasCutPosts(range),
      find(...args) {
        counted.searches += 1
        return index.find(...args)
      },
    },
  }
}

/** Stores a post that brings these along. */
async function append(id: string, ...included: readonly string[]): Promise<void> {
  const tweets = included.map((one) => ({ id: one, text: `post ${one}` }))
  const envelope: RuleEnvelope = { data: { id, text: "a note" }, includes: { tweets } }
  await store.append([{ post: aPost(id, "7", { envelope: JSON.stringify(envelope) }), matches: [] }], 0)
}

async function find(...ids: readonly string[]): Promise<Readonly<Record<string, string>>> {
  return Object.fromEntries(await findIncluding(ids as readonly PostId[], deps()))
}

describe.each([
  ["in the index", true],
  ["in its tail", false],
])("posts %s", (_where, isIndexed) => {
  test("an id has the newest post that includes it, and none where no post does", async () => {
    await append("30", "1", "2")
    await append("10", "2", "3")
    await append("20", "3")
    await append("40")
    if (isIndexed) await filler.catchUp()
    expect(await find("1", "2", "3", "4", "10", "40")).toEqual({ 1: "30", 2: "30", 3: "20" })
    expect(await find("4")).toEqual({})
  })
})

test("a newer post in the tail goes before one of the index, and an older one does not", async () => {
  await append("20", "1", "2")
  await filler.catchUp()
  await append("30", "1")
  await append("10", "2")
  expect(await find("1", "2")).toEqual({ 1: "30", 2: "20" })
})

test("while more posts than a search reads wait for the index, those count that it has", async () => {
  await append("1000000", "1")
  await filler.catchUp()
  for (let at = 0; at < tailPostsMax; at += 1) await append(String(2_000_000 + at), "1", "2")
  expect(await find("1", "2")).toEqual({ 1: "1000000" })
})

test("a hundred ids, most of them of one post that thousands include, take a bounded number of reads", async () => {
  const ids = Array.from({ length: 100 }, (_, at) => String(at + 1))
  for (const id of ids) await append(String(1_000 + Number(id)), id)
  for (let at = 0; at < 3_000; at += 1) await append(String(10_000 + at), "1")
  for (let step = 0; step < 3; step += 1) await filler.catchUp()
  const expected = Object.fromEntries(ids.map((id) => [id, id === "1" ? "12999" : String(1_000 + Number(id))]))
  expect(await find(...ids)).toEqual(expected)
  expect(counted.searches).toBeLessThanOrEqual(101)
  expect(counted.posts).toBeLessThanOrEqual(400)
  counted = { posts: 0, searches: 0 }
  expect(Object.keys(await find(...ids.slice(50)))).toHaveLength(50)
  expect(counted).toEqual({ posts: 50, searches: 1 })
})

test("a damaged post gives way to an older one, and is named when there is no other", async () => {
  await append("10", "1", "2")
  await append("20", "1")
  await append("30", "3")
  await filler.catchUp()
  for (const id of ["20", "30"]) damaged.add(id)
  expect(await find("1", "2", "3", "4")).toEqual({ 1: "10", 2: "10", 3: "30" })
})

test("a post that was deleted, and is in the index still, gives way to an older one", async () => {
  await append("10", "1")
  await append("20", "1")
  await append("30", "2")
  await filler.catchUp()
  for (const id of ["20", "30"]) state.posts.delete(id as PostId)
  expect(await find("1", "2")).toEqual({ 1: "10" })
})

test("whatever posts include, and however many of them are indexed, the newest is found", async () => {
  const ids = Array.from({ length: 9 }, (_, at) => String(at + 1))
  const anyPosts = fc.uniqueArray(
    fc.tuple(fc.integer({ min: 10, max: 99 }).map(String), fc.array(fc.constantFrom(...ids), { maxLength: 4 })),
    { selector: ([id]) => id, maxLength: 12 },
  )
  await fc.assert(
    fc.asyncProperty(anyPosts, fc.nat(12), async (posts, indexed) => {
      begin()
      for (const [id, included] of posts.slice(0, indexed)) await append(id, ...included)
      await filler.catchUp()
      for (const [id, included] of posts.slice(indexed)) await append(id, ...included)
      const newestFirst = posts.toSorted(([a], [b]) => compareIds(b, a))
      const expected = ids.flatMap((id) => {
        const newest = newestFirst.find(([, included]) => included.includes(id))
        return newest === undefined ? [] : [[id, newest[0]]]
      })
      expect(await find(...ids)).toEqual(Object.fromEntries(expected))
    }),
    { numRuns: 200 },
  )
})
