import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { paths } from "@sluice/api"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { temporaryDirectory, type TemporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { envelope, startTestServer, type TestServer } from "../../../../test/support/test-server.testing.ts"
import { WebhookReceiver } from "../../../../test/support/webhook-receiver.testing.ts"
import { runProcess } from "../../../sluice/src/command.testing.ts"
import { loadConfig } from "../config.ts"
import { examine } from "../doctor/examine.ts"
import { systemClock, type Clock } from "../runtime/clock.ts"
import { ConfigError } from "../runtime/config-error.ts"
import { startServer } from "../main.ts"
import { ClusterDatabase } from "../store/cluster/connection/database.ts"
import { openClusterStore } from "../store/cluster/serving/cluster-store.ts"
import { createTestDatabase, type TestDatabase } from "../store/cluster/connection/postgres.testing.ts"
import { openEmbeddedStore } from "../store/embedded/serving/embedded-store.ts"
import { storeFile } from "../store/embedded/connection/database.ts"
import { fillDirectory, goOn, readAll } from "./migrated-data.testing.ts"
import { migrateStore } from "./migrate-store.ts"

let directory: TemporaryDirectory
let database: TestDatabase
let from: string

beforeEach(async () => {
  ;[directory, database] = await Promise.all([temporaryDirectory(), createTestDatabase()])
  from = directory.path
})
afterEach(async () => {
  await directory.remove()
  await database[Symbol.asyncDispose]()
})

/** The key of the directory, as digits. */
function keyOf(data: string): string {
  return readFileSync(join(data, "master.key"), "utf8").trim()
}

function sumOfStore(): string {
  return createHash("sha256")
    .update(readFileSync(storeFile(from)))
    .digest("hex")
}

function openTarget(clock: Clock = systemClock) {
  return openClusterStore({ url: database.url, poolMax: 2, statementMsMax: 30_000 }, { sender: "test", clock })
}

describe("a migration", () => {
  test("of a store with records of every kind: the database's reads return the same as the directory's", async () => {
    await fillDirectory(from)
    const before = sumOfStore()
    const stages: string[] = []
    const migrated = await migrateStore({
      from,
      to: database.url,
      env: {},
      report: { stage: (stage: string) => void stages.push(stage), progressed: () => undefined },
    })
    expect(sumOfStore()).toBe(before)
    expect(stages).toEqual(["examining", "copying", "verifying"])
    expect(migrated).toMatchObject({
      place: expect.stringMatching(/^database 127\.0\.0\.1:5432\/sluice_test_/),
      found: expect.stringMatching(/^Whole: 12 posts/),
      key_is_at: join(from, "master.key"),
      texts_changed: 0,
    })
    expect(migrated.numbers).toContainEqual({ name: "posts", from: 12, to: 12 })
    expect(migrated.numbers).toContainEqual({ name: "retries", from: 2, to: 2 })
    expect(migrated.numbers).toContainEqual({ name: "user objects", from: 2, to: 2 })
    expect(migrated.numbers).toContainEqual({ name: "deletions", from: 2, to: 2 })
    expect(migrated.numbers).toContainEqual({ name: "shown posts", from: 1, to: 1 })
    const clock = { ...systemClock, nowMs: () => 1_800_000_000_000 }
    await using source = await openEmbeddedStore({ file: storeFile(from), clock })
    await using target = await openTarget(clock)
    const expected = await readAll(source)
    expect(await readAll(target)).toEqual(expected)
    const { damagedRecords: _, ...found } = expected
    for (const [name, read] of Object.entries(found)) expect(read, name).not.toEqual([])

    // Both go on in the same way: new numbers, deliveries, and retention.
    const [going, gone] = [await goOn(source), await goOn(target)]
    expect(gone).toEqual(going)
    expect(await readAll(target)).toEqual(await readAll(source))
    const { findings } = await examine({
      flags: { database: database.url },
      env: { SLUICE_MASTER_KEY: keyOf(from) },
      isOffline: true,
    })
    expect(findings.filter(({ level }) => level === "error")).toEqual([])
  })

  test("needs a stopped server, the store's key, a whole store and an empty database; else nothing is written", async () => {
    const to = database.url
    await expect(migrateStore({ from, to, env: {} })).rejects.toThrow(`The data directory ${from} holds no store.`)
    await fillDirectory(from)
    await expect(migrateStore({ from, env: {} })).rejects.toThrow("Name the database with --to or SLUICE_DATABASE.")
    const wrongKey = migrateStore({ from, to, env: { SLUICE_MASTER_KEY: "ab".repeat(32) } })
    await expect(wrongKey).rejects.toThrow("The master key is not the one that this store's secrets are sealed under.")
    {
      await using _server = await startTestServer({ data: from })
      const served = migrateStore({ from, to, env: {} })
      await expect(served).rejects.toThrow(`A server runs on the data directory ${from}. Stop it first.`)
    }
    await migrateStore({ from, env: { SLUICE_DATABASE: to } })
    const again = migrateStore({ from, to, env: {} })
    await expect(again).rejects.toThrow(/has a store that is not empty \(apps\)\. Name another database\./)
    await expect(again).rejects.toBeInstanceOf(ConfigError)
  })

  test("that is killed half-way leaves nothing in the database, and can be repeated", async () => {
    await fillDirectory(from)
    const args = ["migrate", "--from", from, "--json"]
    const killed = await runProcess(args, {
      env: { SLUICE_DATABASE: database.url, SLUICE_CRASH_POINT: "in-copying:9" },
    })
    expect(killed.stderr).toContain("crash point in-copying")
    expect(killed.status).toBe(null)
    await expect.poll(() => tablesIn(database.url)).toEqual([])
    const again = await runProcess(args, { env: { SLUICE_DATABASE: database.url } })
    expect(again).toMatchObject({ status: 0, stderr: "" })
    expect(JSON.parse(again.stdout)).toMatchObject({ key_is_at: join(from, "master.key") })
    await using source = await openEmbeddedStore({ file: storeFile(from) })
    await using target = await openTarget()
    expect(await readAll(target)).toEqual(await readAll(source))
  })

  test("of a store of an older version is refused with the way to bring it to this one", async () => {
    await fillDirectory(from)
    {
      using db = new DatabaseSync(storeFile(from))
      db.exec("PRAGMA user_version = 3")
    }
    const older = migrateStore({ from, to: database.url, env: {} })
    await expect(older).rejects.toThrow(ConfigError)
    await expect(older).rejects.toThrow(
      /has version 3, and only one of version \d+ can be moved\. Start `sluice serve --data/,
    )
  })

  test("of a backup begins a new epoch, and of the store itself none", async () => {
    await fillDirectory(from)
    {
      await using opened = await openEmbeddedStore({ file: storeFile(from) })
      await opened.beginEpoch({ epoch: "a".repeat(12), atMs: 0, numbersSkipped: 1, idMsSkipped: 1 })
    }
    const copy = join(directory.path, "copy")
    expect(await runProcess(["backup", copy, "--data", from])).toMatchObject({ status: 0 })
    const epochs = async () => {
      await using target = await openTarget()
      return new Set((await target.allLinks()).flatMap((link) => (link.epochs ?? []).map(({ epoch }) => epoch)))
    }
    await migrateStore({ from: copy, to: database.url, env: { SLUICE_MASTER_KEY: keyOf(from) } })
    expect([...(await epochs())]).toEqual([expect.not.stringMatching(/^a+$/)])
    await database[Symbol.asyncDispose]()
    database = await createTestDatabase()
    await migrateStore({ from, to: database.url, env: {} })
    expect([...(await epochs())]).toEqual(["a".repeat(12)])
  })

  test("to a database that a server has open is refused, and so is one from a damaged store", async () => {
    await fillDirectory(from)
    const key = keyOf(from)
    {
      const flags = { database: database.url, port: "0", "log-level": "silent" }
      const server = await startServer(loadConfig({ posture: "dev", flags, env: { SLUICE_MASTER_KEY: key } }))
      const served = migrateStore({ from, to: database.url, env: {} })
      await expect(served).rejects.toThrow(/^The database .+ is in use by a Sluice server\. Stop it first\.$/)
      await server.close()
    }
    {
      using db = new DatabaseSync(storeFile(from))
      db.exec("UPDATE posts SET core = 'x' WHERE id = 1")
    }
    const damaged = migrateStore({ from, to: database.url, env: {} })
    await expect(damaged).rejects.toThrow(/cannot be moved: posts: post 1 is not as it was stored/)
    await using target = await openTarget()
    expect(await target.apps()).toEqual([])
  })
})

describe("a server on a migrated store", () => {
  test("resumes from the same positions: undelivered matches are delivered, and no other", async () => {
    const retries = { "delivery-attempts-max": "1" }
    await using at = await startTestServer({ data: from, ...retries })
    await using receiver = await WebhookReceiver.start(at.app.consumer_secret)
    receiver.statusOf = ({ body }) => (body.includes("refused") ? 500 : 200)
    await at.send("POST", paths.rules, { add: [{ value: "cat" }] })
    const webhook = (await at.send("POST", paths.webhooks, { url: receiver.url })).body.data.id as string
    await at.send("POST", paths.link.replace(":webhook_id", webhook))
    await at.ingest(envelope(1, "a cat, refused"), envelope(2, "a cat"))
    await expect.poll(() => [...receiver.postIds].toSorted()).toEqual(["1", "2"])
    const total = async (of: Pick<TestServer, "call">) => (await of.call(paths.linkDetails)).body.data[0].total
    await expect.poll(() => total(at)).toMatchObject({ delivered: 1, dead_letters: 1 })
    await at.running.close()
    {
      await using patient = await startTestServer({ data: from })
      const call = (path: string) => patient.call(path, { token: at.app.bearer_token })
      await patient.ingest(envelope(3, "a cat, refused"), envelope(4, "a cat"))
      await expect.poll(() => total({ call })).toMatchObject({ delivered: 2, dead_letters: 1 })
    }
    const key = keyOf(from)
    await migrateStore({ from, to: database.url, env: {} })

    receiver.statusOf = () => 200
    receiver.received.length = 0
    const flags = { database: database.url, port: "0", "log-level": "silent" }
    const server = await startServer(loadConfig({ posture: "dev", flags, env: { SLUICE_MASTER_KEY: key } }))
    const call = async (path: string, init: RequestInit = {}): Promise<Response> =>
      fetch(server.url + path, {
        ...init,
        headers: { authorization: `Bearer ${at.app.bearer_token}`, "content-type": "application/x-ndjson" },
      })
    await call(paths.posts, { method: "POST", body: `${JSON.stringify(envelope(5, "a new cat"))}\n` })
    await expect.poll(() => [...receiver.postIds].toSorted(), { timeout: 20_000 }).toEqual(["3", "5"])
    const states = await (await call(paths.linkDetails)).json()
    expect(states).toMatchObject({ data: [{ total: { dead_letters: 1, missed: 0 } }] })
    await server.close()
    const { findings } = await examine({
      flags: { database: database.url },
      env: { SLUICE_MASTER_KEY: key },
      isOffline: true,
    })
    expect(findings.filter(({ level }) => level === "error")).toEqual([])
  })
})

async function tablesIn(url: string): Promise<readonly string[]> {
  await using db = new ClusterDatabase({ url, poolMax: 1, statementMsMax: 10_000 }, () => undefined)
  const sql = "SELECT relname::text AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace"
  return (await db.rows<{ name: string }>(sql)).map(({ name }) => name)
}
