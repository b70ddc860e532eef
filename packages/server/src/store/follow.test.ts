import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { beforeFirstMatch, type AppId, type MatchSeq } from "../model/ids.ts"
import { systemClock, type Clock } from "../runtime/clock.ts"
import { anApp, aPost } from "./contract/fixtures.ts"
import { openEmbeddedStore } from "./embedded/serving/embedded-store.ts"
import { follow } from "./follow.ts"
import type { Store } from "./store.ts"
import { temporaryDirectory, type TemporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"

let directory: TemporaryDirectory
let store: Store
const app = "100" as AppId
const other = "200" as AppId

beforeEach(async () => {
  directory = await temporaryDirectory()
  store = await openEmbeddedStore({ file: join(directory.path, "sluice.db") })
  await store.createApp(anApp(app), [])
  await store.createApp(anApp(other), [])
})

afterEach(async () => {
  await store[Symbol.asyncDispose]()
  await directory.remove()
})

async function append(appId: AppId, ...ids: number[]): Promise<void> {
  const rules = [{ id: "1", tag: "" }]
  await store.append(
    ids.map((id) => ({ post: aPost(String(id)), matches: [{ appId, rules }] })),
    1,
  )
}

type FollowedStore = Parameters<typeof follow>[0]

/** The store with other implementations of its log reads. */
function withRead(matches: Store["matches"]): FollowedStore {
  return {
    matches,
    head: (appId) => store.head(appId),
    heads: () => store.heads(),
    onChange: (listener) => store.onChange(listener),
  }
}

/** Follows until `count` entries have come. Returns their positions, batch by batch. */
async function take(
  count: number,
  options: { clock?: Clock; after?: number; batchMax?: number; upTo?: number; store?: FollowedStore } = {},
) {
  const stop = new AbortController()
  const batches: number[][] = []
  const from = {
    appId: app,
    after: (options.after ?? beforeFirstMatch) as MatchSeq,
    shape: "core" as const,
    batchMax: options.batchMax ?? 100,
    ...(options.upTo !== undefined && { upTo: options.upTo as MatchSeq }),
  }
  for await (const entries of follow(options.store ?? store, options.clock ?? systemClock, from, stop.signal)) {
    batches.push(entries.map((entry) => entry.seq))
    if (batches.flat().length >= count) stop.abort()
  }
  return batches
}

test("existing entries are read in batches, from the cursor on", async () => {
  await append(app, 1, 2, 3, 4, 5)
  expect(await take(4, { after: 1, batchMax: 3 })).toEqual([[2, 3, 4], [5]])
})

test("catching up continues as following without a gap or a repeat, whenever the log grows", async () => {
  await append(app, 1)
  const taken = take(150)
  for (let id = 2; id <= 150; id++) await append(app, id)
  expect((await taken).flat()).toEqual(Array.from({ length: 150 }, (_, index) => index + 1))
})

test("a lost hint only delays", async () => {
  // A store whose announcements never arrive, and a clock whose waits end at once.
  const silent = { ...withRead((range) => store.matches(range)), onChange: () => () => undefined }
  const clock: Clock = { ...systemClock, sleep: () => systemClock.sleep(1) }
  const stop = new AbortController()
  const from = { appId: app, after: beforeFirstMatch, shape: "core" as const, batchMax: 10 }
  const seen: number[] = []
  const following = (async () => {
    for await (const entries of follow(silent, clock, from, stop.signal)) {
      seen.push(...entries.map((entry) => entry.seq))
      if (seen.length === 2) stop.abort()
    }
  })()
  await append(app, 1)
  await append(app, 2)
  await following
  expect(seen).toEqual([1, 2])
})

test("another app's matches do not wake it", async () => {
  let reads = 0
  const counting = withRead(async (range) => {
    reads += 1
    return store.matches(range)
  })
  const taken = take(1, { store: counting })
  for (let id = 1; id <= 20; id++) await append(other, id)
  await append(app, 100)
  await taken
  expect(reads).toBe(2)
})

test("it ends when its signal is aborted, also while it waits", async () => {
  const stop = new AbortController()
  const from = { appId: app, after: beforeFirstMatch, shape: "core" as const, batchMax: 10 }
  const next = follow(store, systemClock, from, stop.signal).next()
  setImmediate(() => stop.abort())
  expect(await next).toEqual({ done: true, value: undefined })
})

describe("with an end", () => {
  test("it reads up to the end, whatever comes after that, and ends", async () => {
    await append(app, 1, 2, 3, 4, 5)
    expect(await take(100, { upTo: 4, batchMax: 3 })).toEqual([[1, 2, 3], [4]])
    expect(await take(100, { upTo: 2, after: 2 })).toEqual([])
  })

  test("it waits for entries that are not there yet", async () => {
    await append(app, 1)
    const taken = take(100, { upTo: 3 })
    await append(app, 2)
    await append(app, 3)
    await append(app, 4)
    expect((await taken).flat()).toEqual([1, 2, 3])
  })

  test("it also ends when retention has deleted its last entries, with others after them or none", async () => {
    await append(app, 1, 2, 3)
    await store.trimMatches(app, { beforeMs: 2, limit: 3 })
    expect(await take(100, { upTo: 3 })).toEqual([])
    await append(app, 4, 5)
    expect(await take(100, { upTo: 3 })).toEqual([])
    expect(await take(100, { upTo: 4 })).toEqual([[4]])
  })
})
