/** A flipped bit in the file: found, named, and never shown as if it were what was stored. */
import { readFileSync, writeFileSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import fc from "fast-check"
import { afterEach, beforeEach, expect, test } from "vitest"
import type { AppId, LinkId, MatchSeq, UserId } from "../../model/ids.ts"
import type { PostShape } from "../../model/post.ts"
import { aLink, anApp, aPost, aWebhook } from "../contract.ts"
import type { Store } from "../store.ts"
import { StoreDamaged } from "../store-faults.ts"
import { audited } from "./audited.testing.ts"
import { openEmbeddedStore } from "./embedded-store.ts"

const app = "100" as AppId
const link = "31" as LinkId
const postCount = 8
const firstId = 1_900_000_000_000_000_000n
const idOf = (index: number): string => String(firstId + BigInt(index))
const coreOf = (index: number): string => `{"id":"${idOf(index)}","text":"the core of number ${index}"}`
const envelopeOf = (index: number): string =>
  `{"data":{"id":"${idOf(index)}","text":"all of number ${index}"}}`
const rulesOf = (index: number): string => `[{"id":"5","tag":"tag of ${index}"}]`

let directory: string
let file: string
let healthy: Buffer

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "sluice-damage-"))
  file = join(directory, "sluice.db")
  await using store = await openEmbeddedStore({ file })
  await store.createApp(anApp("100"), [])
  await store.createWebhook(aWebhook("100", "1"), { webhooksMax: 5 })
  await store.createLink(aLink("100", "31", "1"))
  for (let index = 1; index <= postCount; index += 1) {
    const texts = { core: coreOf(index), envelope: envelopeOf(index), createdAtMs: 1_700_000_000_000 + index }
    const matches = [{ appId: app, rules: [{ id: "5", tag: `tag of ${index}` }] }]
    await store.append([{ post: aPost(idOf(index), "7", texts), matches }], 1_800_000_000_000 + index)
  }
  const retries = Array.from({ length: postCount }, (_, index) => ({
    seq: (index + 1) as MatchSeq,
    failures: 1,
    dueAtMs: 5,
  }))
  await store.saveProgress([
    { linkId: link, position: postCount as MatchSeq, retries, settled: [], dead: [], delivered: 0 },
  ])
})

beforeEach(() => {
  healthy = readFileSync(file)
})

afterEach(async () => {
  await rm(directory, { recursive: true, force: true })
})

/** Flips a bit of the closed file. */
function flip(offset: number, bit = 0): void {
  const bytes = Buffer.from(healthy)
  bytes.writeUInt8(bytes.readUInt8(offset) ^ (1 << bit), offset)
  writeFileSync(file, bytes)
}

/** Where a text stands in the file, every time. */
function placesOf(text: string): readonly number[] {
  const places: number[] = []
  for (let at = healthy.indexOf(text); at !== -1; at = healthy.indexOf(text, at + 1)) places.push(at)
  return places
}

/** Where a post's default fields stand in the table, before all that came, and in the index of its author. */
function placesOfCore(index: number): { readonly inTable: number; readonly inIndex: number } {
  const inTable = healthy.indexOf(coreOf(index) + envelopeOf(index))
  const inIndex = placesOf(coreOf(index)).find((at) => at !== inTable)
  if (inTable === -1 || inIndex === undefined) throw new Error("not found")
  return { inTable, inIndex }
}

async function entries(store: Store, shape: PostShape = "core") {
  return store.matches({ appId: app, after: 0 as MatchSeq, limit: 100, shape })
}

async function timeline(store: Store, shape: PostShape = "core") {
  return store.userPosts({
    userId: "7" as UserId,
    direction: "older",
    limit: 100,
    excludeReplies: false,
    excludeReposts: false,
    scanMax: 100,
    shape,
  })
}

/** Numbers of the entries that are answered without their posts. */
async function withoutPost(store: Store, shape: PostShape = "core"): Promise<readonly number[]> {
  const [logged, owed] = [await entries(store, shape), await store.retries(link, shape)]
  expect(logged.map(({ seq }) => Number(seq))).toEqual(
    Array.from({ length: postCount }, (_, index) => index + 1),
  )
  const lacking = logged.filter(({ postJson }) => postJson === undefined).map(({ seq }) => seq)
  expect(owed.filter(({ entry }) => entry.postJson === undefined).map(({ seq }) => seq)).toEqual(lacking)
  return lacking
}

test("a whole store has no damage", async () => {
  await using store = await openEmbeddedStore({ file })
  expect(await audited(file)).toMatchObject({ damage: [], posts: { accepted: 8, trimmed: 0, stored: 8 } })
  expect(await withoutPost(store)).toEqual([])
  expect(await withoutPost(store, "envelope")).toEqual([])
})

test("a flipped bit in a post's default fields is found wherever they are shown", async () => {
  flip(placesOfCore(3).inTable + 30)
  await using store = await openEmbeddedStore({ file })
  expect(await withoutPost(store)).toEqual([3])
  expect(await withoutPost(store, "envelope")).toEqual([])
  expect((await audited(file)).damage).toContain(`posts: post ${idOf(3)} is not as it was stored`)
})

test("a flipped bit in the index of timelines leaves the post out, and names it", async () => {
  flip(placesOfCore(3).inIndex + 30)
  await using store = await openEmbeddedStore({ file })
  const found = await timeline(store)
  expect(found.damaged).toEqual([idOf(3)])
  expect(found.posts).toHaveLength(postCount - 1)
  expect(await withoutPost(store)).toEqual([])
  const { damage } = await audited(file)
  expect(damage).toContain(`posts: post ${idOf(3)} is not as it was stored, in the index of its author`)
})

test("a flipped bit in all that came with a post is found wherever that is shown", async () => {
  flip((placesOf(envelopeOf(3))[0] ?? -1) + 40, 5)
  await using store = await openEmbeddedStore({ file })
  expect(await withoutPost(store, "envelope")).toEqual([3])
  expect(await withoutPost(store)).toEqual([])
  expect(await timeline(store, "envelope")).toMatchObject({ damaged: [idOf(3)] })
  const recent = await store.recentPosts(100)
  expect(recent).toHaveLength(postCount - 1)
  expect(recent.map(({ id }) => id)).not.toContain(idOf(3))
  expect((await audited(file)).damage).toContain(`posts: post ${idOf(3)} is not as it was stored`)
})

test("a flipped bit in the rules of a match takes the rules and the post with it", async () => {
  flip((placesOf(rulesOf(3))[0] ?? -1) + 8)
  await using store = await openEmbeddedStore({ file })
  expect(await withoutPost(store)).toEqual([3])
  expect((await entries(store))[2]).toMatchObject({ seq: 3, rulesJson: "[]" })
  expect((await audited(file)).damage).toContain("matches: match 3 of app 100 is not as it was stored")
})

test("a match that lost its number leaves no hole in the log", async () => {
  // Before the rules lie six bytes of time, eight of the post's id, and one of the number.
  const at = (placesOf(rulesOf(3))[0] ?? -1) - 15
  expect(healthy[at]).toBe(3)
  flip(at, 6)
  await using store = await openEmbeddedStore({ file })
  const logged = await entries(store)
  expect(logged.map(({ seq }) => Number(seq))).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
  expect(logged.filter(({ postJson }) => postJson === undefined).map(({ seq }) => seq)).toEqual([3])
  expect(await store.matches({ appId: app, after: 2 as MatchSeq, limit: 1, shape: "core" })).toMatchObject([
    { seq: 3, rulesJson: "[]" },
  ])
  expect((await audited(file)).damage).toContain("retries: link 31 needs match 3, which is not there")
})

test("counts beside a link that are not those of its rows are told", async () => {
  using db = new DatabaseSync(file)
  db.exec("UPDATE links SET retries = 7, dead_letters = 1, missed = 2")
  db.close()
  expect((await audited(file)).damage).toEqual([
    "links: link 31 counts 7 retries, and has 8",
    "links: link 31 counts 1 dead letters, and has 0",
    "links: link 31 counts 2 missed matches, and has gap markers of 0",
  ])
})

test("a match whose post is gone is an entry without it", async () => {
  using db = new DatabaseSync(file)
  db.exec(`DELETE FROM posts WHERE id = ${idOf(3)}`)
  db.close()
  await using store = await openEmbeddedStore({ file })
  expect(await withoutPost(store)).toEqual([3])
  const { damage } = await audited(file)
  expect(damage).toContain(`matches: match 3 of app 100 is of post ${idOf(3)}, which is not there`)
})

test("matches at the end of a log that are gone are not taken for the end", async () => {
  using db = new DatabaseSync(file)
  db.exec(`DELETE FROM matches WHERE seq >= ${postCount - 1}`)
  db.close()
  await using store = await openEmbeddedStore({ file })
  expect(await withoutPost(store)).toEqual([postCount - 1, postCount])
  const { damage } = await audited(file)
  expect(damage).toContain(`retries: link 31 needs match ${postCount}, which is not there`)
  expect(damage).toContain("match_logs: the log of app 100 runs from 1 to 8, and has 6 entries")
})

test("a page that makes no sense is an error that says what to do", async () => {
  const bytes = Buffer.from(healthy)
  const page = Math.floor((placesOf(rulesOf(3))[0] ?? 0) / 16_384)
  bytes.fill(0xff, page * 16_384, page * 16_384 + 64)
  writeFileSync(file, bytes)
  await using store = await openEmbeddedStore({ file })
  const refused = await entries(store).catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(StoreDamaged)
  expect(refused).toMatchObject({ message: expect.stringMatching(/sluice doctor/) })
  const { damage } = await audited(file)
  expect(damage.join("\n")).toMatch(/matches: cannot be read to the end/)
})

test("wherever a bit flips, what is shown is what was stored, and what is missing is named", async () => {
  const written = [...healthy.keys()].filter((at) => healthy[at] !== 0)
  let harmed = 0
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...written), fc.nat({ max: 7 }), async (offset, bit) => {
      flip(offset, bit)
      try {
        await using store = await openEmbeddedStore({ file })
        const isWhole = await showsOnlyWhatWasStored(store)
        if (isWhole) return
        harmed += 1
        expect((await audited(file)).damage).not.toEqual([])
      } catch (error) {
        if (!isRefusal(error)) throw error
        harmed += 1
      } finally {
        for (const suffix of ["-wal", "-shm"]) await rm(file + suffix, { force: true })
      }
    }),
    { numRuns: 150 },
  )
  expect(harmed).toBeGreaterThan(5)
})

/** Whether everything is shown. Fails when something is shown that was not stored. */
async function showsOnlyWhatWasStored(store: Store): Promise<boolean> {
  let shown = 0
  for (const shape of ["core", "envelope"] as const) {
    const textOf = shape === "core" ? coreOf : envelopeOf
    const logged = [
      ...(await entries(store, shape)),
      ...(await store.retries(link, shape)).map(({ entry }) => entry),
    ]
    for (const { seq, postId, rulesJson, postJson } of logged) {
      if (postJson === undefined) continue
      expect([postId, rulesJson, postJson]).toEqual([idOf(seq), rulesOf(seq), textOf(seq)])
      shown += 1
    }
    for (const { id, json } of (await timeline(store, shape)).posts) {
      expect(json).toBe(textOf(Number(BigInt(id) - firstId)))
      shown += 1
    }
  }
  return shown === 6 * postCount
}

/** An error of the store's or of SQLite's, and not one of this test's. */
function isRefusal(error: unknown): boolean {
  const { code } = error as { code?: unknown }
  return (
    error instanceof StoreDamaged || code === "ERR_SQLITE_ERROR" || /version/.test((error as Error).message)
  )
}
