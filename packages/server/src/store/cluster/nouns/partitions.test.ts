import pg from "pg"
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import type { AppId, MatchSeq, PostId, WebhookId } from "../../../model/ids.ts"
import { createManualClock } from "../../../runtime/manual-clock.testing.ts"
import {
  addLink,
  aDeadMatch,
  allOlder,
  aMatch,
  anApp,
  aPost,
  app,
  aRetry,
  link,
  other,
  positions,
  progress,
  seqs,
} from "../../contract/fixtures.ts"
import { auditOf } from "../serving/audited.testing.ts"
import { openClusterStore, type ClusterStore } from "../serving/cluster-store.ts"
import type { ClusterSettings } from "../connection/connections.ts"
import { ClusterDatabase } from "../connection/database.ts"
import { dropPassedMatches, ensurePartitions, idAtMs } from "./partitions.ts"
import { createTestDatabase, type TestDatabase } from "../connection/postgres.testing.ts"

const dayMs = 86_400_000
const startMs = Date.UTC(2026, 10, 22, 12)

let testDatabase: TestDatabase
let settings: ClusterSettings
let database: ClusterDatabase
let store: ClusterStore

beforeEach(async () => {
  testDatabase = await createTestDatabase()
  settings = { url: testDatabase.url, poolMax: 4, statementMsMax: 30_000 }
  database = new ClusterDatabase(settings, () => undefined)
  store = await openClusterStore(settings, { sender: "test", clock: createManualClock(startMs) })
  for (const id of [app, other]) await store.createApp(anApp(id), [])
  await addLink(store, app, { linkId: "31", webhookId: "1" })
})

afterEach(async () => {
  await store[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
  await testDatabase[Symbol.asyncDispose]()
})

async function partitions(): Promise<readonly string[]> {
  const rows = await database.rows<{ name: string }>(
    `SELECT relname::text AS "name" FROM pg_class WHERE relispartition AND relkind = 'r' ORDER BY relname`,
  )
  return rows.map(({ name }) => name)
}

/** Positions of an app's rows, whether they count as gone or not. */
async function rowsOf(table: string): Promise<readonly number[]> {
  const rows = await database.rows<{ seq: number }>(`SELECT seq FROM ${table} WHERE app_id = $1 ORDER BY seq`, app)
  return rows.map(({ seq }) => seq)
}

async function rowsOfPosts(table: string): Promise<readonly string[]> {
  return (await database.rows<{ id: string }>(`SELECT id FROM ${table} ORDER BY id`)).map(({ id }) => id)
}

async function appendAt(atMs: number, appIds: readonly AppId[], ...ids: readonly string[]): Promise<void> {
  await store.append(
    ids.map((id) => ({ post: aPost(id), matches: appIds.map((appId) => aMatch(appId, "5")) })),
    atMs,
  )
}

test("partitions for the present and for the time after it exist, each created once", async () => {
  await Promise.all([ensurePartitions(database, startMs), ensurePartitions(database, startMs)])
  await ensurePartitions(database, startMs)
  expect(await partitions()).toEqual([
    "matches_20261122",
    "matches_20261123",
    "matches_20261124",
    "matches_20261125",
    "matches_other",
    "posts_20261103",
    "posts_20261203",
    "posts_other",
  ])
  await appendAt(startMs, [app], idAtMs(startMs))
  expect(await rowsOf("matches_20261122")).toEqual([1])
})

test("a partition is not created over rows of the default one, and these stay readable", async () => {
  await appendAt(startMs, [app], "1", "2")
  await ensurePartitions(database, startMs)
  expect(await partitions()).toContain("matches_20261123")
  expect(await partitions()).not.toContain("matches_20261122")
  expect(await positions(store, app)).toHaveLength(2)
})

test("a partition is dropped once every log is trimmed beyond it, and rows that are still needed survive", async () => {
  await ensurePartitions(database, startMs)
  await appendAt(startMs, [app, other], "1", "2", "3", "4")
  await appendAt(startMs + dayMs, [app], "5")
  await store.saveProgress([progress(4, { delivered: 2, retries: [aRetry(1)], dead: [aDeadMatch(3)] })])
  const beforeMs = startMs + dayMs
  const trim = (appId: AppId) => store.trimMatches(appId, { beforeMs, limit: 100 })

  expect(await trim(app)).toEqual({ trimmed: 2, isDone: true, gaps: [] })
  expect(await store.match(app, 2 as MatchSeq, "core")).toBeUndefined()
  expect(await store.matchesOfPost("2" as PostId)).toMatchObject([{ appId: other }])
  await dropPassedMatches(database, beforeMs)
  expect(await partitions(), "the other app has not passed it").toContain("matches_20261122")

  await trim(other)
  await dropPassedMatches(database, beforeMs)
  expect(await partitions()).not.toContain("matches_20261122")
  expect(await rowsOf("matches")).toEqual([1, 3, 5])
  expect(await store.retries(link, "core")).toMatchObject([{ entry: { seq: 1, postJson: '{"id":"1"}' } }])
  expect(await store.deadLetters({}, allOlder)).toMatchObject([{ seq: 3, postId: "3" }])
  expect(await positions(store, app)).toEqual([[5, "5"]])
  expect((await auditOf(settings)).damage).toEqual([])

  await store.saveProgress([progress(4, { settled: seqs(1), delivered: 1 })])
  expect(await rowsOf("matches_other")).toEqual([3])
  await store.deleteLink(app, "1" as WebhookId)
  expect(await trim(app)).toMatchObject({ trimmed: 1, isDone: true })
  expect(await rowsOf("matches_other")).toEqual([])
})

test("retention does not search for rows to keep while some log has yet to pass a partition", async () => {
  await ensurePartitions(database, startMs)
  await appendAt(startMs, [app, other], "1")
  const trim = (appId: AppId) => store.trimMatches(appId, { beforeMs: startMs + 1, limit: 100 })
  await trim(app)
  const reads = vi.spyOn(database, "row")
  const readsOfDeadLetters = () => reads.mock.calls.filter(([sql]) => sql.includes("dead_letters"))
  await dropPassedMatches(database, startMs + dayMs)
  expect(readsOfDeadLetters()).toHaveLength(0)
  await trim(other)
  await dropPassedMatches(database, startMs + dayMs)
  expect(readsOfDeadLetters()).toHaveLength(1)
})

test("retention makes and drops partitions by itself", async () => {
  await ensurePartitions(database, startMs - 2 * dayMs)
  await appendAt(startMs - 2 * dayMs, [app], "1")
  await store.trimMatches(app, { beforeMs: startMs - dayMs, limit: 100 })
  expect(await partitions()).toContain("matches_20261125")
  await using later = await openClusterStore(settings, { sender: "b", clock: createManualClock(startMs + dayMs) })
  await later.trimMatches(app, { beforeMs: startMs - dayMs, limit: 100 })
  expect(await partitions()).toContain("matches_20261126")
  expect(await partitions()).not.toContain("matches_20261120")
})

test("a partition with an append in flight stays, and nothing is lost", async () => {
  await ensurePartitions(database, startMs)
  await appendAt(startMs, [app], "1")
  await store.trimMatches(app, { beforeMs: startMs + 1, limit: 100 })
  await using late = await stoppedAppend("2")
  await dropPassedMatches(database, startMs + dayMs)
  expect(await partitions()).toContain("matches_20261122")
  await late.finish()
  await dropPassedMatches(database, startMs + dayMs)
  expect(await partitions(), "the late match is not trimmed").toContain("matches_20261122")
  expect(await positions(store, app)).toEqual([[2, "2"]])

  /** An append that has written its match and does not commit. */
  async function stoppedAppend(id: string) {
    const client = new pg.Client(testDatabase.url)
    await client.connect()
    await client.query("BEGIN; LOCK TABLE totals IN SHARE MODE")
    const appended = appendAt(startMs, [app], id)
    await expect.poll(() => waiting()).toBe(1)
    const finish = async () => {
      await client.query("COMMIT")
      await appended
    }
    return { finish, [Symbol.asyncDispose]: () => client.end() }
  }
})

/** How many transactions wait for a lock. */
async function waiting(): Promise<number> {
  const row = await database.row<{ count: number }>(
    `SELECT count(*) AS "count" FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
  )
  return row?.count ?? 0
}

test("appends continue while partitions are dropped, and every entry of theirs is kept", async () => {
  for (let day = 10; day >= 0; day -= 1) await ensurePartitions(database, startMs - day * dayMs)
  for (let day = 10; day > 0; day -= 1) await appendAt(startMs - day * dayMs, [app], String(day))
  await store.trimMatches(app, { beforeMs: startMs - dayMs / 2, limit: 100 })
  const dropped = new AbortController()
  let appended = 0
  async function appendUntilDropped(first: number): Promise<void> {
    for (let id = first; !dropped.signal.aborted || id < first + 10; id += 1) {
      await appendAt(startMs, [app], String(id))
      appended += 1
    }
  }
  async function drop(): Promise<void> {
    const old = async () => (await partitions()).filter((name) => /^matches_202611(1|2[01])/.test(name))
    while ((await old()).length > 0) await dropPassedMatches(database, startMs - dayMs / 2)
    dropped.abort()
  }
  await Promise.all([drop(), appendUntilDropped(1_000), appendUntilDropped(100_000)])
  const entries = await positions(store, app, 0, 100_000)
  expect(entries.map(([seq]) => seq)).toEqual(Array.from({ length: appended }, (_, index) => 11 + index))
  expect((await auditOf(settings)).damage).toEqual([])
})

test("a partition of posts is dropped when all are old and no match needs them, and they stay counted", async () => {
  const oldMs = startMs - 60 * dayMs
  await ensurePartitions(database, oldMs)
  const [needed, free] = [idAtMs(oldMs), idAtMs(oldMs + 1)]
  await store.append(
    [
      { post: aPost(needed, "7", { createdAtMs: oldMs }), matches: [aMatch(app, "5")] },
      { post: aPost(free, "7", { createdAtMs: oldMs + 1, chain: [needed, free] as PostId[] }), matches: [] },
    ],
    oldMs,
  )
  const trim = () => store.trimPosts({ after: undefined, beforeMs: startMs, limit: 100 })
  expect(await rowsOfPosts("posts_20260904")).toEqual([needed, free])
  expect(await trim()).toEqual({ trimmed: 1 })
  expect(await rowsOfPosts("posts_20260904")).toEqual([needed])
  const chains = async () => [...(await store.chainsOf([needed as PostId])).values()]
  expect(await chains()).toEqual([[needed, free]])
  expect(await partitions(), "that of the month after has no posts").not.toContain("posts_20261004")

  await store.saveProgress([progress(1, { delivered: 1 })])
  await store.trimMatches(app, { beforeMs: startMs, limit: 100 })
  await dropPassedMatches(database, startMs)
  expect(await trim()).toEqual({ trimmed: 1 })
  expect(await partitions()).not.toContain("posts_20260904")
  expect(await chains()).toEqual([])
  expect((await auditOf(settings)).posts).toEqual({ accepted: 2, trimmed: 2, stored: 0 })
})

test("young posts are neither deleted nor scanned", async () => {
  await ensurePartitions(database, startMs)
  await store.append([{ post: aPost(idAtMs(startMs), "7", { createdAtMs: startMs }), matches: [] }], startMs)
  expect(await store.trimPosts({ after: undefined, beforeMs: startMs, limit: 1 })).toEqual({ trimmed: 0 })
  expect(await store.trimPosts({ after: undefined, beforeMs: startMs + 1, limit: 1 })).toMatchObject({ trimmed: 1 })
})
