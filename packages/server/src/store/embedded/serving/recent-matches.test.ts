import { join } from "node:path"
import fc from "fast-check"
import { afterEach, beforeEach, expect, test } from "vitest"
import type { AppId, MatchSeq } from "../../../model/ids.ts"
import { anApp, aPost } from "../../contract/fixtures.ts"
import type { MatchRange } from "../../port/match-log.ts"
import type { Store } from "../../store.ts"
import { logKey, type LogKey } from "./appended-entries.ts"
import { openForReading } from "../connection/database.ts"
import { openEmbeddedStore, type WritableStore } from "./embedded-store.ts"
import { prepareReadLog, type ReadLog } from "../nouns/match-entries.ts"
import { RecentMatches } from "./recent-matches.ts"
import {
  temporaryDirectory,
  type TemporaryDirectory,
} from "../../../../../../test/support/temporary-directory.testing.ts"

const apps = ["100", "200"] as AppId[]

let directory: TemporaryDirectory
let store: Store & WritableStore
let trimmedTo: (app: AppId) => MatchSeq
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
  const trimmed = db.prepare("SELECT trimmed_to FROM match_logs WHERE app_id = ?")
  trimmedTo = (app) => (trimmed.get(BigInt(app))?.["trimmed_to"] ?? 0) as MatchSeq
  reads = []
  recent = remembering(16_777_216)
  store.onChange((change) => recent.onAnnounced(change))
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

function remembering(keptBytesMax: number): RecentMatches {
  const setFollowed = (log: LogKey, isFollowed: boolean): void =>
    isFollowed ? store.followed.add(log) : store.followed.delete(log)
  return new RecentMatches({ readLog: noting, readTrimmedTo: trimmedTo, keptBytesMax, setFollowed })
}

async function append(app: AppId, count: number, text = "x"): Promise<void> {
  const batch = Array.from({ length: count }, () => {
    lastPost += 1
    const post = aPost(String(lastPost), undefined, { core: text, envelope: `${text} with more` })
    const omitted = text === "omitted" ? { omitted: 4 } : {}
    return { post, matches: [{ appId: app, rules: [{ id: "5", tag: "" }], ...omitted }] }
  })
  await store.append(batch, lastPost)
}

/** Appends entries in a write that fails, between two that succeed. */
async function appendBesideUndone(app: AppId, text: string): Promise<void> {
  const undone = ["1000000", "1000001"].map((id) => ({
    post: aPost(id, undefined, { core: "undone", envelope: "undone" }),
    // There is no such app.
    matches: [{ appId: id === "1000001" ? ("404" as AppId) : app, rules: [{ id: "5", tag: "" }] }],
  }))
  const outcomes = await Promise.allSettled([
    append(app, 1, text),
    store.append(undone, lastPost),
    append(app, 1, text),
  ])
  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"])
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
  fc.record({ kind: fc.constant("undone" as const), app: fc.nat(1) }),
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

test("the remembered entries are those of the log, after any appends, trims and reads", async () => {
  const heads = [0, 0]
  await fc.assert(
    fc.asyncProperty(fc.array(act, { maxLength: 30, size: "max" }), async (acts) => {
      for (const each of acts) {
        const appId = apps[each.app] ?? apps[0]!
        const head = heads[each.app] ?? 0
        if (each.kind === "append") {
          await append(appId, each.count, "x".repeat(each.count))
          heads[each.app] = head + each.count
        } else if (each.kind === "undone") {
          await appendBesideUndone(appId, "y")
          heads[each.app] = head + 2
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

test("entries that one reader has read are not read again for others, nor is the end of the log", async () => {
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
  expect(reads.length).toBe(before)
})

test("entries appended after a reader's end are not read from the file, for any number of blocks", async () => {
  await append("100" as AppId, 10)
  expect(recent.read(range(0, 200))).toHaveLength(10)
  const before = reads.length
  for (const count of [1, 60, 200]) await append("100" as AppId, count, "omitted")
  for (let after = 10; after < 271; after += 50) {
    const asked = range(after, 50)
    expect(recent.read(asked)).toEqual(plain(asked).entries)
  }
  expect(recent.read(range(271, 50))).toEqual([])
  expect(reads.length).toBe(before)
})

test("appended entries that a reader has read from the file before the announcement are not kept twice", async () => {
  await append("100" as AppId, 10)
  recent.read(range(0, 200))
  const held: Parameters<RecentMatches["onAnnounced"]>[0][] = []
  const late = remembering(16_777_216)
  late.read(range(0, 200))
  store.onChange((change) => held.push(change))
  await append("100" as AppId, 5)
  // The file has them, and the announcement has not come: a reader that has seen the head reads the file.
  late.noteHead("100" as AppId, 15 as MatchSeq)
  expect(late.read(range(10, 3)).map(({ seq }) => seq)).toEqual([11, 12, 13])
  await append("100" as AppId, 100)
  for (const change of held) late.onAnnounced(change)
  const asked = range(0, 200)
  expect(late.read(asked)).toEqual(plain(asked).entries)
})

test("a read of the heads makes up for a lost announcement", async () => {
  const deaf = remembering(16_777_216)
  await append("100" as AppId, 2)
  expect(deaf.read(range(0, 10))).toHaveLength(2)
  await append("100" as AppId, 1)
  expect(deaf.read(range(2, 10))).toEqual([])
  deaf.noteHead("100" as AppId, 3 as MatchSeq)
  expect(deaf.read(range(2, 10))).toHaveLength(1)
})

test("the entries of a log without a reader are no longer handed over, until it has a reader again", async () => {
  await append("100" as AppId, 1)
  recent.read(range(0, 10))
  expect(store.followed.has(logKey("100" as AppId, "core"))).toBe(true)
  for (let batch = 0; batch < 9; batch += 1) await append("100" as AppId, 500)
  expect(store.followed.has(logKey("100" as AppId, "core"))).toBe(false)
  recent.read(range(4_490, 100))
  expect(store.followed.has(logKey("100" as AppId, "core"))).toBe(true)
})

test("entries too large to hand over are read from the file", async () => {
  recent.read(range(0, 10))
  await append("100" as AppId, 1)
  recent.read(range(0, 10))
  await append("100" as AppId, 12, "x".repeat(100_000))
  const before = reads.length
  const asked = range(1, 100)
  expect(recent.read(asked)).toEqual(plain(asked).entries)
  expect(reads.length).toBeGreaterThan(before)
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

test("kept small entries count by their memory, not by their texts alone", async () => {
  await append("100" as AppId, 640)
  const ofLittle = remembering(100_000)
  for (let after = 0; after < 640; after += 64) ofLittle.read(range(after, 64))
  const before = reads.length
  for (let after = 512; after < 640; after += 64) ofLittle.read(range(after, 64))
  expect(reads.length).toBe(before)
  for (let after = 0; after < 448; after += 64) ofLittle.read(range(after, 64))
  expect(reads.length).toBe(before + 7)
})
