import pg from "pg"
import { afterEach, beforeEach, expect, test } from "vitest"
import { aMatch, anApp, aPost, app, other, positions } from "../../contract/fixtures.ts"
import { auditOf } from "../serving/audited.testing.ts"
import { openClusterStore, type ClusterStore } from "../serving/cluster-store.ts"
import type { ClusterSettings } from "../connection/connections.ts"
import { createTestDatabase, type TestDatabase } from "../connection/postgres.testing.ts"

let database: TestDatabase
let settings: ClusterSettings
let store: ClusterStore
let client: pg.Client

beforeEach(async () => {
  database = await createTestDatabase()
  settings = { url: database.url, poolMax: 6, statementMsMax: 30_000 }
  store = await openClusterStore(settings, { sender: "test" })
  for (const id of [app, other]) await store.createApp(anApp(id), [])
  client = new pg.Client(database.url)
  await client.connect()
  // The append of post 1 writes its match and then waits, as long as the test holds the lock.
  await client.query(`
    CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
      'BEGIN PERFORM pg_advisory_xact_lock_shared(1); RETURN NULL; END';
    CREATE TRIGGER wait AFTER INSERT ON matches FOR EACH ROW WHEN (NEW.post_id = 1) EXECUTE FUNCTION wait();
    SELECT pg_advisory_lock(1);`)
})

afterEach(async () => {
  await client.end()
  await store[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

function append(id: string, appId = app): Promise<readonly boolean[]> {
  return store.append([{ post: aPost(id), matches: [aMatch(appId, "5")] }], 1)
}

/** Backends of this database that wait for a lock, those first that began to first. */
async function waiting(): Promise<readonly number[]> {
  const { rows } = await client.query<{ pid: number }>(
    `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
     ORDER BY xact_start`,
  )
  return rows.map(({ pid }) => pid)
}

test("a later match is not committed before an earlier one, and other apps do not wait", async () => {
  const first = append("1")
  await expect.poll(waiting).toHaveLength(1)
  const second = append("2")
  await expect.poll(waiting).toHaveLength(2)
  expect(await append("3", other)).toEqual([true])
  expect(await store.head(other)).toBe(1)
  expect(await positions(store, app)).toEqual([])
  expect(await store.head(app)).toBe(0)
  await client.query("SELECT pg_advisory_unlock(1)")
  expect(await Promise.all([first, second])).toEqual([[true], [true]])
  expect(await positions(store, app)).toEqual([
    [1, "1"],
    [2, "2"],
  ])
})

test("the next append gets the numbers of one that fails", async () => {
  const first = append("1")
  const failed = expect(first).rejects.toThrow("PostgreSQL is not available")
  await expect.poll(waiting).toHaveLength(1)
  const second = append("2")
  await expect.poll(waiting).toHaveLength(2)
  const [pid] = await waiting()
  await client.query("SELECT pg_cancel_backend($1)", [pid])
  await failed
  await second
  expect(await positions(store, app)).toEqual([[1, "2"]])
  expect((await auditOf(settings)).damage).toEqual([])
})

test("a log with many writers is read without a gap", async () => {
  const ids = Array.from({ length: 200 }, (_, index) => String(index + 10))
  const over = new AbortController()
  const read = async () => {
    let reads = 0
    for (; !over.signal.aborted || reads === 0; reads += 1) {
      const entries = await positions(store, app, 0, 1_000)
      expect(entries.map(([seq]) => seq)).toEqual(entries.map((_, index) => index + 1))
    }
  }
  const reading = read()
  await Promise.all(ids.map((id) => append(id)))
  over.abort()
  await reading
  expect((await positions(store, app, 0, 1_000)).map(([, id]) => id).toSorted()).toEqual(ids.toSorted())
})
