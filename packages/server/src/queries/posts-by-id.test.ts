import { afterEach, beforeEach, expect, test } from "vitest"
import { createRecordedEvents } from "../delivery/links/link-harness.testing.ts"
import { presentPostById, presentPostsById } from "../http/present/posts-by-id.ts"
import { defaultSelection, parseSelection } from "../model/field-selection.ts"
import type { AppId, PostId } from "../model/ids.ts"
import { aPost } from "../store/contract/fixtures.ts"
import type { PostsByIdRange, PostsByIdRead } from "../store/port/post-store.ts"
import type { Store } from "../store/store.ts"
import { openTestedStore } from "../store/tested-store.testing.ts"
import { temporaryDirectory, type TemporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { HeldPages } from "./held-pages.ts"
import { createPostsById, type FoundPosts, type PostsById } from "./posts-by-id.ts"

const app = "5" as AppId
const { signal: always } = new AbortController()

let directory: TemporaryDirectory
let store: Store
let heldPages: HeldPages
/** The reads that the store was asked for. */
let reads: PostsByIdRange[]
let lookUps: PostsById
/** The carriers of posts that are not stored. */
let carriers: Map<PostId, PostId>
/** The ids whose carriers were asked for. */
let askedFor: (readonly PostId[])[]

beforeEach(async () => {
  directory = await temporaryDirectory()
  store = await openTestedStore(directory.path)
  heldPages = new HeldPages()
  reads = []
  carriers = new Map()
  askedFor = []
  lookUps = withReads((range) => store.postsById(range))
})

afterEach(async () => {
  await store[Symbol.asyncDispose]()
  await directory.remove()
})

/** Look-ups in the store with another read of posts by their ids. */
function withReads(
  read: (range: PostsByIdRange) => Promise<PostsByIdRead>,
  events = createRecordedEvents(),
): PostsById {
  const noted = new Proxy(store, {
    get(target, name) {
      if (name === "postsById") {
        return (range: PostsByIdRange) => {
          reads.push(range)
          return read(range)
        }
      }
      const value: unknown = Reflect.get(target, name)
      return typeof value === "function" ? value.bind(target) : value
    },
  })
  const searches = {
    async including(ids: readonly PostId[]) {
      askedFor.push(ids)
      return new Map([...carriers].filter(([id]) => ids.includes(id)))
    },
  }
  return createPostsById({ store: noted, searches, heldPages, events })
}

async function insert(ids: readonly string[], bytes = 10): Promise<void> {
  const text = "x".repeat(bytes)
  const posts = ids.map((id) =>
    aPost(id, "7", {
      core: `{"id":"${id}","text":"${text}"}`,
      envelope: `{"data":{"id":"${id}","text":"t","lang":"${text}"}}`,
    }),
  )
  await store.append(
    posts.map((post) => ({ post, matches: [] })),
    0,
  )
}

async function find(ids: readonly string[], selection = defaultSelection, by = lookUps): Promise<FoundPosts> {
  const found = await by.find(app, { ids: ids as readonly PostId[], selection }, always)
  found.release()
  return found
}

function shownIds({ posts }: FoundPosts): readonly string[] {
  return (JSON.parse(posts.dataJson) as { id: string }[]).map(({ id }) => id)
}

test("stored texts go in as they are, in the order of the ids, and unknown ids are named in that order", async () => {
  await insert(["1", "2", "3"], 1)
  const found = await find(["3", "404", "1", "403"])
  expect(presentPostsById(found)).toMatch(
    /^\{"data":\[\{"id":"3","text":"x"\},\{"id":"1","text":"x"\}\],"errors":\[.*\]\}$/,
  )
  expect(found.absent).toEqual([
    { id: "404", why: "unknown" },
    { id: "403", why: "unknown" },
  ])
  expect(presentPostById(await find(["2"]))).toBe('{"data":{"id":"2","text":"x"}}')
  expect(presentPostById(await find(["404"]))).toMatch(/^\{"errors":\[/)
  expect(presentPostsById(await find(["404"]))).toMatch(/^\{"errors":\[/)
  expect(reads).toHaveLength(4)
  expect(heldPages.bytes).toBe(0)
})

test.each([
  ["default fields", defaultSelection],
  ["another field", parseSelection({ "tweet.fields": "lang" })],
])("large posts are read in parts, and those beyond the bytes of a page are named: %s", async (_, selection) => {
  const ids = Array.from({ length: 12 }, (_each, index) => String(100 - index))
  await insert(ids, 400_000)
  const found = await find(["404", ...ids, "405"], selection)
  expect(shownIds(found)).toEqual(ids.slice(0, 6))
  expect(found.absent).toEqual([
    { id: "404", why: "unknown" },
    ...[...ids.slice(6), "405"].map((id) => ({ id, why: "no-room" })),
  ])
  expect(reads.map((range) => range.ids.length)).toEqual([14, 10])
  expect(shownIds(await find(ids.slice(6), selection))).toEqual(ids.slice(6))
})

test("a post of any size is shown when it is the first", async () => {
  await insert(["1", "2"], 3_000_000)
  const found = await find(["1", "2"])
  expect(shownIds(found)).toEqual(["1"])
  expect(found.absent).toEqual([{ id: "2", why: "no-room" }])
})

test("damaged posts are named at their places, and why some cannot be read is reported", async () => {
  await insert(["1", "3"])
  const events = createRecordedEvents()
  const fault = new Error("EIO")
  const faulty = withReads(async (range) => {
    const { posts } = await store.postsById(range)
    return { posts, damaged: ["2" as PostId], fault }
  }, events)
  const found = await find(["404", "3", "2", "1"], defaultSelection, faulty)
  expect(shownIds(found)).toEqual(["3", "1"])
  expect(found.absent).toEqual([
    { id: "404", why: "unknown" },
    { id: "2", why: "damaged" },
  ])
  expect(JSON.parse(presentPostsById(found))).toMatchObject({
    errors: [{ title: "Not Found Error" }, { title: "Damaged" }],
  })
  expect(events.failures).toEqual([{ where: "posts by id", error: fault }])
})

/** Stores a post with these in its `includes`, each of so many bytes, and makes it their carrier. */
async function insertCarrier(carrier: string, ids: readonly string[], bytes = 1): Promise<void> {
  const text = "x".repeat(bytes)
  const tweets = ids.map((id) => ({ id, text: `from ${carrier}`, author_id: "8", note: text }))
  const users = [{ id: "8", username: "eight", name: "Eight" }]
  const envelope = JSON.stringify({ data: { id: carrier, text: "t" }, includes: { users, tweets } })
  await store.append([{ post: aPost(carrier, "7", { envelope }), matches: [] }], 0)
  for (const id of ids) carriers.set(id as PostId, carrier as PostId)
}

test("posts that others brought along stand in their places, as their cores or with what came along", async () => {
  await insert(["1", "3"], 1)
  await insertCarrier("10", ["2", "4"])
  const found = await find(["404", "4", "3", "2", "1"])
  expect(JSON.parse(found.posts.dataJson)).toEqual([
    { id: "4", text: "from 10", edit_history_tweet_ids: ["4"] },
    { id: "3", text: "x" },
    { id: "2", text: "from 10", edit_history_tweet_ids: ["2"] },
    { id: "1", text: "x" },
  ])
  expect(found.absent).toEqual([{ id: "404", why: "unknown" }])
  expect(askedFor).toEqual([["404", "4", "2"]])
  const expanded = await find(["2", "404"], parseSelection({ expansions: "author_id" }))
  expect(presentPostsById(expanded)).toContain('"includes":{"users":[{"id":"8","username":"eight","name":"Eight"}]}')
})

test("a carrier that is gone or damaged, or has the post no longer, is no reason for a fault", async () => {
  await insertCarrier("10", ["2"])
  carriers.set("4" as PostId, "10" as PostId)
  carriers.set("5" as PostId, "404" as PostId)
  carriers.set("6" as PostId, "11" as PostId)
  const faulty = withReads(async (range) => ({ ...(await store.postsById(range)), damaged: ["11" as PostId] }))
  const found = await find(["6", "5", "4", "2"], defaultSelection, faulty)
  expect(shownIds(found)).toEqual(["2"])
  expect(found.absent).toEqual([
    { id: "6", why: "damaged" },
    { id: "5", why: "unknown" },
    { id: "4", why: "unknown" },
  ])
})

test("large carriers are read in parts, each asked for once, and the posts keep their order", async () => {
  const ids = Array.from({ length: 12 }, (_each, index) => String(20 - index))
  await insert(["15"], 1)
  const brought = ids.filter((id) => id !== "15")
  for (const [at, id] of brought.entries()) await insertCarrier(String(100 + at), [id], 400_000)
  expect(shownIds(await find(ids))).toEqual(ids)
  expect(askedFor).toEqual([brought])
  const ofCarriers = reads.filter(({ shape }) => shape === "envelope").map((range) => range.ids.length)
  expect(ofCarriers).toEqual([11, 8, 5, 2])
})

test("a post that comes by itself while the carriers of others are read is shown as it came", async () => {
  const ids = ["20", "19", "18", "17", "16"]
  for (const [at, id] of ids.entries()) await insertCarrier(String(100 + at), [id], 400_000)
  let parts = 0
  const coming = withReads(async (range) => {
    if (range.shape === "core") parts += 1
    if (range.shape === "core" && parts === 2) await insert(["17", "16"], 1)
    return store.postsById(range)
  })
  const found = await find(ids, defaultSelection, coming)
  expect(shownIds(found)).toEqual(ids)
  expect(found.posts.dataJson).toContain('{"id":"17","text":"x"}')
  expect(parts).toBe(2)
})

test("a post is known that is stored, damaged or not, or that a stored one brings along", async () => {
  await insert(["1"])
  await insertCarrier("10", ["2"])
  const damaged = withReads(async () => ({ posts: [], damaged: ["3" as PostId] }))
  const known = async (id: string, by = lookUps): Promise<boolean> => by.isKnown(app, id as PostId, always)
  expect([await known("1"), await known("2"), await known("3", damaged), await known("404")]).toEqual([
    true,
    true,
    true,
    false,
  ])
})

test("a post that a stored one brings along has an envelope with what came along", async () => {
  await insert(["1"])
  await insertCarrier("10", ["2"])
  const included = await lookUps.includedEnvelope(app, "2" as PostId, always)
  expect(JSON.parse(included ?? "")).toMatchObject({ data: { id: "2" }, includes: { tweets: [{ id: "2" }] } })
  for (const id of ["1", "404"]) expect(await lookUps.includedEnvelope(app, id as PostId, always)).toBeUndefined()
  const damaged = withReads(async () => ({ posts: [], damaged: ["10" as PostId] }))
  expect(await damaged.includedEnvelope(app, "2" as PostId, always)).toBeUndefined()
})

test("a look-up holds the bytes of a page while it reads, its own until it is released, and none after a fault", async () => {
  await insert(["1"], 1_000)
  let heldWhileReading = 0
  const noting = withReads((range) => {
    heldWhileReading = heldPages.bytes
    return store.postsById(range)
  })
  const found = await noting.find(app, { ids: ["1" as PostId], selection: defaultSelection }, always)
  expect(heldWhileReading).toBe(2_097_152)
  expect(heldPages.bytes).toBe(found.posts.dataJson.length)
  found.release()
  expect(heldPages.bytes).toBe(0)
  const failing = withReads(() => Promise.reject(new Error("the disk is gone")))
  await expect(failing.find(app, { ids: ["1" as PostId], selection: defaultSelection }, always)).rejects.toThrow("gone")
  expect(heldPages.bytes).toBe(0)
})

test("a deleted post is not found in the `includes` of a post that still shows it", async () => {
  const tweets = ["1", "2"].map((id) => ({ id, text: "shown" }))
  const carrier = aPost("9", "7", { envelope: JSON.stringify({ data: { id: "9", text: "t" }, includes: { tweets } }) })
  await store.append([{ post: carrier, matches: [] }], 0)
  for (const { id } of tweets) carriers.set(id as PostId, "9" as PostId)
  expect(shownIds(await find(["1", "2"]))).toEqual(["1", "2"])
  // The store does not know that the carrier shows it, as before a step of the deletion has come to it.
  await store.delete([{ kind: "post", id: "1" as PostId }], 5)
  expect(shownIds(await find(["1", "2"]))).toEqual(["2"])
  expect(await lookUps.isKnown(app, "1" as PostId, always)).toBe(false)
  expect(await lookUps.isKnown(app, "2" as PostId, always)).toBe(true)
})
