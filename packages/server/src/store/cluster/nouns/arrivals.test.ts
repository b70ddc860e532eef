import pg from "pg"
import { afterEach, beforeEach, expect, test } from "vitest"
import { aMatch, anApp, aPost, app } from "../../contract/fixtures.ts"
import type { ArrivalPosition } from "../../port/arrival-store.ts"
import type { ClusterSettings } from "../connection/connections.ts"
import { ClusterDatabase } from "../connection/database.ts"
import { createTestDatabase, type TestDatabase } from "../connection/postgres.testing.ts"
import { openClusterStore, type ClusterStore } from "../serving/cluster-store.ts"

let server: TestDatabase
let settings: ClusterSettings
let database: ClusterDatabase
let store: ClusterStore
let client: pg.Client

beforeEach(async () => {
  server = await createTestDatabase()
  settings = { url: server.url, poolMax: 6, statementMsMax: 30_000 }
  database = new ClusterDatabase(settings, () => undefined)
  store = await openClusterStore(settings, { sender: "test" })
  await store.createApp(anApp(app), [])
  client = new pg.Client(server.url)
  await client.connect()
  // The append of a post by user 1 has stored the post and then waits, as long as the test holds the lock.
  await client.query(`
    CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
      'BEGIN PERFORM pg_advisory_xact_lock_shared(1); RETURN NULL; END';
    CREATE TRIGGER wait AFTER INSERT ON users FOR EACH ROW WHEN (NEW.id = 1) EXECUTE FUNCTION wait();
    SELECT pg_advisory_lock(1);`)
})

afterEach(async () => {
  await client.end()
  await store[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

function append(id: string, author?: string): Promise<readonly boolean[]> {
  return store.append([{ post: aPost(id, author), matches: [aMatch(app, "5")] }], 1)
}

/** An append of a post that has stored it, and that commits when the test unlocks it. */
async function lateAppend(id: string) {
  const appended = append(id, "1")
  await expect.poll(waiting).toHaveLength(1)
  const unlock = () => client.query("SELECT pg_advisory_unlock(1)")
  return { appended, unlock }
}

/** Ids of the posts after a position, and the position after them. */
async function arrived(after?: ArrivalPosition, limit = 1_000) {
  const { posts, position } = await store.arrivedPosts({ after, limit, bytesMax: 1_000_000 })
  return { ids: posts.map(({ id }) => id), position }
}

/** As `arrived`, once so many are settled: hints are transactions too, and may be on their way. */
async function arrivedIds(count: number, after?: ArrivalPosition): Promise<readonly string[]> {
  await expect.poll(async () => (await arrived(after)).ids).toHaveLength(count)
  return (await arrived(after)).ids
}

/** Backends of this database that wait for a lock. */
async function waiting(): Promise<readonly number[]> {
  const { rows } = await client.query<{ pid: number }>(
    `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
  )
  return rows.map(({ pid }) => pid)
}

test("a post whose transaction commits late is read in its place, and hides behind no position", async () => {
  await append("9")
  await arrivedIds(1)
  const { position } = await arrived()
  const { appended, unlock } = await lateAppend("1")
  expect([await append("8"), await append("7")]).toEqual([[true], [true]])
  expect(await arrived(position)).toEqual({ ids: [], position: undefined })
  expect(await store.arrivalHead()).toBe(position)
  const all = { limit: 100, bytesMax: 1_000_000, includeUnsettled: true }
  expect((await store.arrivedPosts(all)).posts.map(({ id }) => id)).toEqual(["9", "8", "7"])
  await unlock()
  expect(await appended).toEqual([true])
  expect(await arrivedIds(3, position)).toEqual(["1", "8", "7"])
  expect(await store.arrivalHead()).toBe((await arrived(position)).position)
})

test("a transaction that fails leaves no place, and those after it are read", async () => {
  const { appended } = await lateAppend("1")
  const failed = expect(appended).rejects.toThrow("PostgreSQL is not available")
  await append("8")
  expect((await arrived()).ids).toEqual([])
  const [pid] = await waiting()
  await client.query("SELECT pg_cancel_backend($1)", [pid])
  await failed
  expect(await arrivedIds(1)).toEqual(["8"])
})

test("a transaction of another database holds up nothing", async () => {
  const url = new URL(server.url)
  url.pathname = "postgres"
  const other = new pg.Client(url.href)
  await other.connect()
  try {
    await other.query("BEGIN; SELECT pg_current_xact_id()")
    await append("8")
    expect(await arrivedIds(1)).toEqual(["8"])
  } finally {
    await other.end()
  }
})

test("a reader that follows while many append reads each post once, in the order of all later readers", async () => {
  await using second = await openClusterStore(settings, { sender: "second" })
  const ids = Array.from({ length: 300 }, (_, index) => String(index + 10))
  const over = new AbortController()
  const followed: string[] = []
  async function follow(): Promise<void> {
    let after: ArrivalPosition | undefined
    while (!over.signal.aborted || followed.length < 2 * ids.length) {
      const { ids: next, position } = await arrived(after, 7)
      followed.push(...next)
      after = position ?? after
    }
  }
  const following = follow()
  const appended = ids.map((id, index) => {
    const posts = [aPost(`${id}000`), aPost(id)].map((post) => ({ post, matches: [] }))
    return (index % 2 === 0 ? store : second).append(posts, 1)
  })
  await Promise.all(appended)
  over.abort()
  await following
  expect(followed).toEqual((await arrived()).ids)
  expect(followed.toSorted()).toEqual(ids.flatMap((id) => [id, `${id}000`]).toSorted())
  expect(followed.filter((_, index) => index % 2 === 1)).toEqual(
    followed.filter((_, index) => index % 2 === 0).map((id) => id.slice(0, -3)),
  )
})

/** Has the store be opened as one that was restored from a server that had counted more transactions. */
async function restoreFromBusierServer(): Promise<void> {
  await database.run(
    `UPDATE posts SET arrival_xid = (arrival_xid::text::bigint + 4000000000)::text::xid8
     WHERE arrival_era = (SELECT era FROM database_identity)`,
  )
  await database.run("UPDATE database_identity SET identity = identity || ' of another server'")
  await (await openClusterStore(settings, { sender: "restored" }))[Symbol.asyncDispose]()
}

test("posts of a database that was restored from another server come before those that arrive in it", async () => {
  await append("3")
  await append("2")
  await restoreFromBusierServer()
  const { ids, position } = await arrived()
  expect(ids).toEqual(["3", "2"])
  expect(await store.arrivalHead()).toBe(position)
  await append("5")
  await restoreFromBusierServer()
  await append("4")
  expect(await arrivedIds(2, position)).toEqual(["5", "4"])
  expect((await arrived()).ids).toEqual(["3", "2", "5", "4"])
})

test("the next era of a database begins when all appends of the one before have ended", async () => {
  const { appended, unlock } = await lateAppend("1")
  const restored = restoreFromBusierServer()
  await expect.poll(waiting).toHaveLength(2)
  await unlock()
  await Promise.all([appended, restored])
  await append("2")
  expect(await arrivedIds(2)).toEqual(["1", "2"])
})

/** An insertion as processes of the version before make it. */
const insertOfBefore = `INSERT INTO posts (id, author_id, created_at_ms, is_reply, is_repost, core, envelope)
  SELECT id, NULL, 1, false, false, '{}', '{}' FROM unnest($1::bigint[]) AS given (id)`

test("posts that a process of the version before stores have a place too", async () => {
  await append("9")
  await database.run(insertOfBefore, ["3", "2"])
  await append("4")
  expect(await arrivedIds(4)).toEqual(["9", "2", "3", "4"])
})

test("posts from before there was an order are in the order of their ids, before all that arrive later", async () => {
  await database.write((transaction) =>
    transaction.script(`
      ALTER TABLE posts DROP COLUMN arrival_era, DROP COLUMN arrival_xid, DROP COLUMN arrival;
      ALTER TABLE database_identity DROP COLUMN era;
      DROP TABLE search_partitions, search_indexes, user_objects, user_words, user_fill, backfill_matches, edit_versions,
        shown_posts, deletions, last_deletion, rewritten_posts, usage_days, usage_posts;
      DROP INDEX app_uses_by_end;
      DROP FUNCTION deleted_among, share_deletions, lock_deletions;
      ALTER TABLE links DROP COLUMN withdrawn, DROP COLUMN paused_at_ms;
      ALTER TABLE apps DROP COLUMN limits;
      DROP TABLE connection_history, sources, source_gaps, source_dead_letters, assigned_names;
      ALTER TABLE stream_connections DROP COLUMN forced;
      ALTER TABLE tokens DROP COLUMN user_id, DROP COLUMN name, DROP COLUMN last_used_at_ms;
      ALTER TABLE webhooks DROP COLUMN name, DROP COLUMN description;
      ALTER TABLE replays DROP COLUMN backfill_rules, DROP COLUMN searched_id, DROP COLUMN last_id;
      UPDATE store_version SET version = 6`),
  )
  await database.run(insertOfBefore, ["7", "5", "6"])
  const file = () => database.row<{ node: number }>("SELECT pg_relation_filenode('posts_other') AS node")
  const before = await file()
  await using upgraded = await openClusterStore(settings, { sender: "upgraded" })
  expect(await file(), "the rows are not written again").toEqual(before)
  await upgraded.append([{ post: aPost("4"), matches: [] }], 1)
  expect(await arrivedIds(4)).toEqual(["5", "6", "7", "4"])
  const { ids, position } = await arrived(undefined, 2)
  expect(ids).toEqual(["5", "6"])
  expect((await arrived(position)).ids).toEqual(["7", "4"])
})
