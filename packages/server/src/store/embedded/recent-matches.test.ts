import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import fc from "fast-check"
import { afterEach, beforeEach, expect, test } from "vitest"
import type { AppId, MatchSeq } from "../../model/ids.ts"
import { anApp, aPost } from "../contract.ts"
import type { MatchRange, Store } from "../store.ts"
import { openForReading } from "./database.ts"
import { openEmbeddedStore } from "./embedded-store.ts"
import { prepareMatches, type ReadMatches } from "./match-reads.ts"
import { rememberingMatches } from "./recent-matches.ts"

const apps = ["100", "200"] as AppId[]

let directory: string
let store: Store
let plain: ReadMatches
let remembering: ReadMatches
let reads: MatchRange[]
let lastPost: number

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "sluice-recent-"))
  const file = join(directory, "sluice.db")
  store = await openEmbeddedStore({ file })
  for (const app of apps) await store.createApp(anApp(app), [])
  const db = openForReading(file)
  plain = prepareMatches(db)
  reads = []
  remembering = rememberingMatches(db, (range) => {
    reads.push(range)
    return plain(range)
  })
  lastPost = 0
})

afterEach(async () => {
  await store[Symbol.asyncDispose]()
  await rm(directory, { recursive: true, force: true })
})

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
    bytesMax: fc.option(fc.constantFrom(1, 50, 1_000), { nil: undefined }),
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
          const asked: MatchRange = {
            appId,
            after,
            limit,
            shape,
            ...(bytesMax !== undefined && { bytesMax }),
          }
          expect(remembering(asked)).toEqual(plain(asked))
        }
      }
    }),
    { numRuns: 60 },
  )
})

test("what one reader has read is not read again for others, at the end of the log neither", async () => {
  await append("100" as AppId, 150)
  expect(remembering(range(0, 200))).toHaveLength(150)
  const before = reads.length
  for (let reader = 0; reader < 100; reader += 1) {
    expect(remembering(range(reader, 100)).at(-1)?.seq).toBe(Math.min(150, reader + 100))
    expect(remembering(range(150, 100))).toEqual([])
  }
  expect(reads.length).toBe(before)
  await append("100" as AppId, 1)
  for (let reader = 0; reader < 100; reader += 1) expect(remembering(range(150, 100))).toHaveLength(1)
  expect(reads.length).toBeLessThanOrEqual(before + 2)
})

test("what was not asked for the longest is forgotten", async () => {
  await append("100" as AppId, 64, "x".repeat(100_000))
  expect(remembering(range(0, 64))).toHaveLength(64)
  await append("200" as AppId, 640, "x".repeat(100_000))
  for (let after = 0; after < 640; after += 64) remembering(range(after, 64, { appId: "200" as AppId }))
  const before = reads.length
  remembering(range(576, 64, { appId: "200" as AppId }))
  expect(reads.length).toBe(before)
  remembering(range(0, 64))
  expect(reads.length).toBeGreaterThan(before)
})
