import { afterEach, beforeEach, expect, test } from "vitest"
import type { PostId } from "../model/ids.ts"
import { systemClock } from "../runtime/clock.ts"
import { FairRounds } from "../runtime/fair-rounds.ts"
import { aPost } from "../store/contract/fixtures.ts"
import type { ServedStore } from "../store/engine.ts"
import { testedEngine } from "../store/tested-store.testing.ts"
import { temporaryDirectory, type TemporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { SearchTooCostly } from "./find-posts.ts"
import { startSearchThread, type SearchThread } from "./search-thread.ts"

const { signal } = new AbortController()
const ample = { postsMax: 10_000, msMax: 60_000 }
/** Ends at the first post. */
const none = { postsMax: 1, msMax: 0 }

let directory: TemporaryDirectory
let served: ServedStore
let thread: SearchThread

beforeEach(async () => {
  directory = await temporaryDirectory()
  const engine = await testedEngine(directory.path)
  const settings = { cacheBytes: 67_108_864, crashPoint: undefined, warn: () => undefined }
  served = await engine.serve({ ...settings, rounds: new FairRounds(systemClock), report: expect.unreachable })
  thread = await startSearchThread(
    { storeAccess: served.grantReadAccess(), postRetentionMs: 0 },
    { failed: (error) => expect.fail(String(error)) },
  )
})

afterEach(async () => {
  await thread.close()
  await served[Symbol.asyncDispose]()
  await directory.remove()
})

async function append(id: string, text: string, includes: object = {}): Promise<void> {
  const metrics = { public_metrics: { like_count: Number(id) } }
  const envelope = JSON.stringify({ data: { id, text, ...metrics }, includes })
  await served.store.append([{ post: aPost(id, "7", { envelope }), matches: [] }], 0)
}

const liked = { value: "cat min_likes:1", withReposts: true }
const rarelyLiked = { value: "cat min_likes:99", withReposts: true }

test("a count that one interval makes too costly is known as such on this side of the thread", async () => {
  for (const id of ["1", "2", "3"]) await append(id, "a cat")
  await expect(thread.count(rarelyLiked, [0n, 9n], none, signal)).rejects.toBeInstanceOf(SearchTooCostly)
  expect(await thread.count(liked, [0n, 2n, 9n], ample, signal)).toEqual({ counts: [1, 2], firstCounted: 0 })
  // The interval that was counted in whole is given, and the one in which the count stopped is left for the next page.
  expect(await thread.count(liked, [0n, 3n, 9n], none, signal)).toEqual({ counts: [1], firstCounted: 1 })
})

test.each([false, true])(
  "searches and look-ups find what is stored, with an index that is filled: %s",
  async (isFilled) => {
    thread.fill(isFilled)
    for (const id of ["1", "2", "3"]) await append(id, id === "2" ? "a dog" : "a cat")
    await append("4", "a note", { tweets: [{ id: "77", text: "a cat" }] })
    const all = { direction: "older", above: -1n, upTo: 9n, limit: 9 } as const
    expect(await thread.find(liked, all, ample, signal)).toEqual({ ids: ["3", "1"], damaged: [] })
    const ranking = await thread.rank(liked, { ...all, isWhole: false }, ample, signal)
    expect(ranking).toMatchObject({ posts: [{ id: "3" }, { id: "1" }], above: -1n })
    expect(await thread.including(["77", "1", "78"] as PostId[], signal)).toEqual(new Map([["77", "4"]]))
  },
)

test("a search whose client has left ends", async () => {
  await append("1", "a cat")
  const left = new AbortController()
  left.abort(new Error("left"))
  const range = { direction: "older", above: -1n, upTo: 9n, limit: 9 } as const
  await expect(thread.find(liked, range, ample, left.signal)).rejects.toThrow("left")
})
