import { join } from "node:path"
import fc from "fast-check"
import { afterEach, beforeEach, expect, test } from "vitest"
import type { AppId, MatchSeq } from "../../model/ids.ts"
import { anApp, aPost } from "../contract/fixtures.ts"
import type { MatchRange, Store } from "../store.ts"
import { openForReading } from "./database.ts"
import { openEmbeddedStore } from "./embedded-store.ts"
import { prepareReadLog, type ReadLog } from "./match-entries.ts"
import { RecentMatches } from "./recent-matches.ts"
import { temporaryDirectory, type TemporaryDirectory } from "../../../../../test/support/temporary-directory.testing.ts"

const apps = ["100", "200"] as AppId[]

let directory: TemporaryDirectory
let store: Store
let plain: ReadLog
let recent: RecentMatches
let reads: MatchRange[]
let lastPost: number

beforeEach(async () => {
  directory = await temporaryDirectory()
  const file = join(directory.path, "sluice.db")
  store = await openEmbeddedStore({ file })
  for (const app of apps) await store.createApp(anApp(app), [])
  const db = openForReading(file)
  plain = prepareReadLog(db)
  reads = []
  recent = new RecentMatches(db, noting, { keptBytesMax: 16_777_216 })
  lastPost = 0
})

afterEach(async () => {
  await store[Symbol.asyncDispose]()
  await directory.remove()
})

/** Reads, and notes that it was asked. */
function noting(asked: MatchRange): ReturnType<ReadLog> {
  reads.push(asked)
  return plain(asked)
}

async function append(app: AppId, count: number, text = "x"): Promise<void> {
  const batch = Array.from({ length: count }, () => {
    lastPost += 1
    const post = aPost(String(lastPost), undefined, { core: text, envelope: text })
    return { post, matches: [{ appId: app, rules: [{ id: "5" }] }] }
  })
  await store.append(batch, lastPost)
}

const range = (after: number, limit: number, more: Partial<MatchRange> = {}): MatchRange => ({
  appId: "100" as AppId,
  after: after as MatchSeq,
  limit,
  bytesMax: Number.POSITIVE_INFINITY,
  shape: "core",
  ...more,
})

const act = fc.oneof(
  fc.record({ kind: fc.constant("append" as const), app: fc.nat(1), count: fc.integer({ min: 1, max: 90 }) }),
  fc.record({ kind: fc.constant("trim" as const), app: fc.nat(1), keep: fc.nat(100) }),
  fc.record({
    kind: fc.constant("read" as const),
    app: fc.nat(1),
    back: fc.nat(250),
    limit: fc.constantFrom(1, 4, 63, 64, 65, 200),
    bytesMax: fc.constantFrom(1, 50, 1_000, Number.POSITIVE_INFINITY),
    shape: fc.constantFrom("core" as const, "envelope" as const),
  }),
)

test("what is remembered is what is there, whatever was appended, trimmed and read before", async () => {
  const heads = [0, 0]
  await fc.assert(
    fc.asyncProperty(fc.array(act, { maxLength: 30 }), async (acts) => {
      for (const each of acts) {
        const appId = apps[each.app] ?? apps[0]!
        const head = heads[each.app] ?? 0
        if (each.kind === "append") {
          await append(appId, each.count, "x".repeat(each.count))
          heads[each.app] = head + each.count
        } else if (each.kind === "trim") {
          await store.trimMatches(appId, { beforeMs: lastPost - each.keep, limit: 1_000 })
        } else {
          const { limit, bytesMax, shape, back } = each
          const after = Math.max(0, head - back) as MatchSeq
          const asked: MatchRange = { appId, after, limit, bytesMax, shape }
          expect(recent.read(asked)).toEqual(plain(asked).entries)
        }
      }
    }),
    { numRuns: 60 },
  )
})

test("what one reader has read is not read again for others, at the end of the log neither", async () => {
  await append("100" as AppId, 150)
  expect(recent.read(range(0, 200))).toHaveLength(150)
  const before = reads.length
  for (let reader = 0; reader < 100; reader += 1) {
    expect(recent.read(range(reader, 100)).at(-1)?.seq).toBe(Math.min(150, reader + 100))
    expect(recent.read(range(150, 100))).toEqual([])
  }
  expect(reads.length).toBe(before)
  await append("100" as AppId, 1)
  for (let reader = 0; reader < 100; reader += 1) expect(recent.read(range(150, 100))).toHaveLength(1)
  expect(reads.length).toBeLessThanOrEqual(before + 2)
})

test("the least recently read entries are dropped", async () => {
  await append("100" as AppId, 64, "x".repeat(100_000))
  expect(recent.read(range(0, 64))).toHaveLength(64)
  await append("200" as AppId, 640, "x".repeat(100_000))
  for (let after = 0; after < 640; after += 64) recent.read(range(after, 64, { appId: "200" as AppId }))
  const before = reads.length
  recent.read(range(576, 64, { appId: "200" as AppId }))
  expect(reads.length).toBe(before)
  recent.read(range(0, 64))
  expect(reads.length).toBeGreaterThan(before)
})

test("what is kept of small entries counts as what it takes in memory, not as their texts alone", async () => {
  await append("100" as AppId, 640)
  const ofLittle = new RecentMatches(openForReading(join(directory.path, "sluice.db")), noting, {
    keptBytesMax: 100_000,
  })
  for (let after = 0; after < 640; after += 64) ofLittle.read(range(after, 64))
  const before = reads.length
  for (let after = 512; after < 640; after += 64) ofLittle.read(range(after, 64))
  expect(reads.length).toBe(before)
  for (let after = 0; after < 448; after += 64) ofLittle.read(range(after, 64))
  expect(reads.length).toBe(before + 7)
})
