import pg from "pg"
import { afterEach, beforeEach, expect, test } from "vitest"
import { chooseEpoch } from "../../epochs.ts"
import { addLink, aMatch, anApp, aPost, app } from "../../contract/fixtures.ts"
import { systemClock } from "../../../runtime/clock.ts"
import { systemRandom } from "../../../runtime/random.ts"
import { StoreReplaced, StoreUnavailable } from "../../store-faults.ts"
import { adoptDatabase } from "./adopted-database.ts"
import { joinClusterStore, openClusterStore } from "../serving/cluster-store.ts"
import type { ClusterSettings } from "./connections.ts"
import { identityBy } from "./database-identity.ts"
import { ClusterDatabase } from "./database.ts"
import { createTestDatabase, type TestDatabase } from "./postgres.testing.ts"

let server: TestDatabase
let settings: ClusterSettings
let database: ClusterDatabase

beforeEach(async () => {
  server = await createTestDatabase()
  settings = { url: server.url, poolMax: 2, statementMsMax: 30_000 }
  database = new ClusterDatabase(settings, () => undefined)
  await using store = await openClusterStore(settings, { sender: "test" })
  await store.createApp(anApp(app), [])
  await addLink(store, app, { linkId: "31", webhookId: "1" })
  await store.append([{ post: aPost("1"), matches: [aMatch(app, "5")] }], 1)
})

afterEach(async () => {
  await database[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

/** Positions from which an epoch of the app's log holds. */
async function epochStarts(): Promise<readonly number[]> {
  await using store = await openClusterStore(settings, { sender: "test" })
  const [link] = await store.allLinks()
  return (link?.epochs ?? []).map(({ fromSeq }) => fromSeq)
}

test("a store that is opened again in the same database begins no epoch", async () => {
  expect(await epochStarts()).toEqual([])
  expect(await epochStarts()).toEqual([])
})

test("a store of a version that did not record databases records its own, and begins no epoch", async () => {
  await database.run("DELETE FROM database_identity")
  expect(await epochStarts()).toEqual([])
  expect(await database.run("SELECT 1 FROM database_identity")).toBe(1)
})

test("a store that was in another database begins one epoch, however many processes open it at once", async () => {
  await database.run("UPDATE database_identity SET identity = 'another'")
  const opened = Array.from({ length: 5 }, (_, index) => openClusterStore(settings, { sender: String(index) }))
  for (const store of await Promise.all(opened)) await store[Symbol.asyncDispose]()
  expect(await epochStarts()).toEqual([2])
  const epochs = await database.rows<{ epoch: string }>("SELECT epoch FROM log_epochs")
  expect(epochs).toEqual([{ epoch: expect.stringMatching(/^[0-9a-f]{12}$/) as string }])
})

test("the identity includes its table, because a restore into the same database creates the table again", async () => {
  const before = await adoptDatabase(database)
  await database.write((transaction) =>
    transaction.script(`
      CREATE TABLE restored AS SELECT * FROM database_identity;
      DROP TABLE database_identity;
      ALTER TABLE restored RENAME TO database_identity`),
  )
  expect(await adoptDatabase(database)).not.toBe(before)
  expect(await epochStarts()).toEqual([2])
})

test("a connection to another database than the one that a process began with is refused before it is used", async () => {
  const identity = await adoptDatabase(database)
  await using same = joinClusterStore({ ...settings, identity }, { sender: "same" })
  expect(await same.head(app)).toBe(1)
  await using other = joinClusterStore({ ...settings, identity: `${identity}0` }, { sender: "other" })
  await expect(other.head(app)).rejects.toThrow(StoreReplaced)
  await expect(other.append([{ post: aPost("2"), matches: [] }], 1)).rejects.toThrow(StoreReplaced)
  expect(await same.post(aPost("2").id)).toBeUndefined()
})

/** Runs `use` with the URL of a role that has no rights on the server but to read the identity that was noted. */
async function withPoorRole(use: (url: string) => Promise<void>): Promise<void> {
  const role = `sluice_role_${new URL(server.url).pathname.slice(-16)}`
  await database.write((transaction) =>
    transaction.script(`CREATE ROLE ${role} LOGIN; GRANT SELECT ON database_identity TO ${role}`),
  )
  const url = new URL(server.url)
  url.username = role
  try {
    await use(url.href)
  } finally {
    await database.write((transaction) => transaction.script(`DROP OWNED BY ${role}; DROP ROLE ${role}`))
  }
}

test("a role without any rights on the server may read the identity", async () => {
  await withPoorRole(async (url) => {
    await using asRole = new ClusterDatabase({ ...settings, url }, () => undefined)
    expect(await adoptDatabase(asRole)).toBe(await adoptDatabase(database))
  })
})

test.each(["pg_control_system()", "pg_current_wal_insert_lsn()", "pg_walfile_name(pg_lsn)"])(
  "where an administrator has revoked %s, the error says what to grant",
  async (name) => {
    const identity = await adoptDatabase(database)
    await database.write((transaction) => transaction.script(`REVOKE EXECUTE ON FUNCTION ${name} FROM PUBLIC`))
    await withPoorRole(async (url) => {
      await using opening = new ClusterDatabase({ ...settings, url }, () => undefined)
      await using running = new ClusterDatabase({ ...settings, url, identity }, () => undefined)
      for (const refused of [() => adoptDatabase(opening), () => running.rows("SELECT 1")]) {
        const error: unknown = await refused().catch((caught: unknown) => caught)
        expect(error).toBeInstanceOf(StoreUnavailable)
        expect((error as Error).message).toContain(`permission denied for function ${name.replace(/\(.*/, "")}`)
        expect((error as Error).message).toMatch(/: GRANT EXECUTE ON FUNCTION pg_control_system\(\), /)
      }
    })
  },
)

test("a server without such a function is reported as unusable", async () => {
  const error = Object.assign(new pg.DatabaseError("pg_current_wal_insert_lsn() is not supported", 0, "error"), {
    code: "0A000",
  })
  const refused = identityBy(() => Promise.reject(error))
  await expect(refused).rejects.toThrow(StoreUnavailable)
  await expect(refused).rejects.toThrow(/\(pg_current_wal_insert_lsn\(\) is not supported\).* Use a server that has /)
  const other = new Error("another one")
  await expect(identityBy(() => Promise.reject(other))).rejects.toBe(other)
})

test("the operator begins no epoch while a process serves the store", async () => {
  await using store = await openClusterStore(settings, { sender: "test" })
  await database.run("INSERT INTO processes (alive_until) VALUES (clock_timestamp() + interval '1 minute')")
  await expect(store.beginEpoch(chooseEpoch(systemClock, systemRandom))).rejects.toThrow("Stop all of them first")
  expect(await epochStarts()).toEqual([])
  await database.run("DELETE FROM processes")
  await store.beginEpoch(chooseEpoch(systemClock, systemRandom))
  expect(await epochStarts()).toEqual([2])
})
