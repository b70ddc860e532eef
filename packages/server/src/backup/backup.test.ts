import { randomBytes } from "node:crypto"
import { existsSync, readFileSync, truncateSync } from "node:fs"
import { mkdir, readdir, rm, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { paths } from "@sluice/api"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { loadConfig, type Config } from "../config.ts"
import { examine } from "../doctor/examine.ts"
import { ConfigError } from "../runtime/config-error.ts"
import { openApps } from "../commands.ts"
import { DataDirectoryInUse } from "../store/store-faults.ts"
import { envelope, startTestServer, type TestServer } from "../../../../test/support/test-server.testing.ts"
import { temporaryDirectory, type TemporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { pageBytes } from "../store/embedded/connection/log-checkpoints.ts"
import type { PostId } from "../model/ids.ts"
import { aPost } from "../store/contract/fixtures.ts"
import { storeEngineOf, storeFilesIn } from "../store/open.ts"
import { backUpStore } from "./backup.ts"
import { restoreStore } from "./restore.ts"

const key = randomBytes(32).toString("hex")
let directory: TemporaryDirectory
let data: string
let copy: string

beforeEach(async () => {
  directory = await temporaryDirectory()
  data = join(directory.path, "data")
  copy = join(directory.path, "copy")
})

afterEach(() => directory.remove())

function configOf(at: string, env: Readonly<Record<string, string>> = {}): Config {
  return loadConfig({ posture: "serve", flags: { data: at, "log-level": "silent" }, env })
}

/** Errors that the doctor finds in a directory. */
async function faultsIn(at: string, env: Readonly<Record<string, string>> = {}): Promise<readonly string[]> {
  const { findings } = await examine({ flags: { data: at }, env, isOffline: true })
  return findings.filter(({ level }) => level === "error").map(({ text }) => text)
}

async function namesIn(at: string): Promise<readonly string[]> {
  return (await readdir(at)).toSorted()
}

/** Ingests posts 1 to `count` through a server, with a rule that each of them matches. */
async function filled(at: TestServer, count: number): Promise<void> {
  await at.send("POST", paths.rules, { add: [{ value: "cat" }] })
  await at.ingest(...Array.from({ length: count }, (_, index) => envelope(index + 1, `cat ${index}`)))
}

/** A stopped store with an app; the app's token. */
async function stopped(): Promise<string> {
  await using opened = await openApps(configOf(data))
  return (await opened.apps.create("one")).bearer_token
}

/** Whether a token is good in a data directory. */
async function opens(token: string, at: string): Promise<boolean> {
  await using opened = await openApps(configOf(at))
  return (await opened.apps.principal(token))?.kind === "app"
}

describe("a backup", () => {
  test("of a running server has all acknowledged data in private files, not the key, and passes doctor", async () => {
    await using at = await startTestServer({ data })
    await filled(at, 20)
    const made = await backUpStore(configOf(data), copy)
    await at.ingest(envelope(21, "a later cat"))

    expect(made).toMatchObject({ directory: copy, has_master_key: false, keyIsAt: join(data, "master.key") })
    expect(made.found).toBe("Whole: 20 posts and 20 matches have what was stored.")
    expect(await namesIn(copy)).toEqual(["backup.json", "server.lock", "sluice.db"])
    expect((await stat(copy)).mode & 0o777).toBe(0o700)
    for (const name of await namesIn(copy)) expect((await stat(join(copy, name))).mode & 0o777, name).toBe(0o600)
    expect(JSON.parse(readFileSync(join(copy, "backup.json"), "utf8"))).toMatchObject({ made_at: made.made_at })
    const secret = readFileSync(join(data, "master.key"), "utf8").trim()
    for (const name of await namesIn(copy)) expect(readFileSync(join(copy, name), "latin1")).not.toContain(secret)
    expect(await faultsIn(copy, { SLUICE_MASTER_KEY: secret })).toEqual([])
    expect(await faultsIn(copy)).toEqual([expect.stringContaining("master.key is missing")])
  })

  test("has the sources: positions, gaps, dead letters and assigned names", async () => {
    await stopped()
    const name = "https://example.com/feed/1"
    const kept = Buffer.from(JSON.stringify({ data: { id: "77", text: "a", source_uri: name } }))
    const letter = { id: "01890a5d-ac96-774b-bcce-b302099a9001", source: "sky", atMs: 5, title: "t", detail: "d" }
    {
      await using store = await storeEngineOf(configOf(data)).open()
      const { driver } = await store.beginSource("sky")
      const more = { deadLetters: [{ ...letter, record: Uint8Array.from([0, 255]) }], users: [] }
      const assigned = [{ name, id: "77" as PostId }]
      await store.appendFrom(
        { source: "sky", driver, position: "p", names: [name], assigned, ...more },
        [{ post: { ...aPost("77"), envelope: kept }, matches: [] }],
        7,
      )
      await store.noteSourceGap({ id: letter.id, source: "sky", reason: "gone", notedAtMs: 7 })
    }
    await backUpStore(configOf(data), copy, { withKey: true })
    const restored = join(directory.path, "restored")
    await restoreStore(copy, configOf(restored))
    expect(await faultsIn(restored)).toEqual([])
    await using store = await storeEngineOf(configOf(restored)).open()
    expect(await store.sources()).toMatchObject([{ name: "sky", position: "p", savedAtMs: 7, isPaused: false }])
    expect(await store.sourceGaps("sky")).toMatchObject([{ reason: "gone" }])
    expect(await store.sourceDeadLetters({ direction: "older", limit: 5 })).toMatchObject([letter])
    expect(await store.assignedNames([name])).toEqual([{ name, id: "77" }])
  })

  test("of a stopped server leaves no trace next to the store, and holds the key on request", async () => {
    const token = await stopped()
    const before = await namesIn(data)
    const made = await backUpStore(configOf(data), copy, { withKey: true })
    expect(made).not.toHaveProperty("keyIsAt")
    expect(await namesIn(data)).toEqual(before)
    expect(readFileSync(join(copy, "master.key"), "utf8")).toBe(readFileSync(join(data, "master.key"), "utf8"))
    expect((await stat(join(copy, "master.key"))).mode & 0o777).toBe(0o600)
    expect(await faultsIn(copy)).toEqual([])
    expect(await opens(token, copy)).toBe(true)
  })

  test("needs a store, an empty target, and the key that it should contain; otherwise nothing is created", async () => {
    await expect(backUpStore(configOf(data), copy)).rejects.toThrow(`The data directory ${data} holds no store.`)
    await stopped()
    await mkdir(copy, { mode: 0o755 })
    await writeFile(join(copy, "mine"), "")
    await expect(backUpStore(configOf(data), copy)).rejects.toThrow(`${copy} is not empty (mine).`)
    expect((await stat(copy)).mode & 0o777).toBe(0o755)
    await expect(backUpStore(configOf(data), data)).rejects.toThrow("is not empty")
    const other = join(directory.path, "other")
    const wrong = backUpStore(configOf(data, { SLUICE_MASTER_KEY: key }), other, { withKey: true })
    await expect(wrong).rejects.toThrow("The master key is not the one that this store's secrets are sealed under.")
    expect(existsSync(other)).toBe(false)

    await rm(join(copy, "mine"))
    await backUpStore(configOf(data), copy)
    expect(await namesIn(copy)).toContain("sluice.db")
  })

  test("of a damaged store is not kept, and the damage is named", async () => {
    await stopped()
    const file = join(data, "sluice.db")
    truncateSync(file, (await stat(file)).size - pageBytes)
    const damaged = backUpStore(configOf(data), copy)
    await expect(damaged).rejects.toThrow(/The copy is not whole and is not kept: |malformed|disk image/)
    expect(existsSync(copy)).toBe(false)
  })

  test("that was killed half-way is removed by the next one to the same place", async () => {
    await stopped()
    await mkdir(join(copy, ".partial-0123"), { recursive: true })
    await writeFile(join(copy, ".partial-0123", "sluice.db"), "half")
    await writeFile(join(copy, "server.lock-journal"), "")
    await backUpStore(configOf(data), copy)
    expect(await namesIn(copy)).toEqual(["backup.json", "server.lock", "sluice.db"])
  })
})

describe("a restore", () => {
  /** A backup of a store with an app; the app's token. */
  async function backedUp(withKey: boolean): Promise<string> {
    const token = await stopped()
    await backUpStore(configOf(data), copy, { withKey })
    return token
  }

  test("brings everything back, the key too if the backup has it, and links resume from their cursors", async () => {
    let delivered: readonly string[] = []
    {
      await using at = await startTestServer({ data })
      const webhook = await at.webhook()
      await filled(at, 3)
      await at.send("POST", paths.link.replace(":webhook_id", webhook))
      await at.ingest(envelope(4, "cat four"))
      const state = async () => (await at.call(paths.linkDetails)).body.data[0]
      await expect.poll(state).toMatchObject({ lag: 0, total: { delivered: 1 } })
      // The restored store delivers the matches that were pending at the moment of the backup.
      await backUpStore(configOf(data), copy, { withKey: true })
      delivered = [(await state()).position]
    }
    const place = join(directory.path, "restored")
    const restored = await restoreStore(copy, configOf(place))
    expect(restored).toMatchObject({ directory: place, master_key: "restored" })
    expect(restored.made_at).toBe(JSON.parse(readFileSync(join(copy, "backup.json"), "utf8")).made_at)
    expect(await namesIn(place)).toEqual(["master.key", "server.lock", "sluice.db"])
    expect(await faultsIn(place)).toEqual([])
    await using again = await startTestServer({ data: place })
    const app = (await again.running.apps.list()).find(({ id }) => id !== again.app.application_id)
    const token = app === undefined ? "" : again.running.apps.credentials(app).bearer_token
    const links = (await again.call(paths.linkDetails, { token })).body.data
    expect([links[0].position]).toEqual(delivered)
    expect(links[0]).toMatchObject({ lag: 0, total: { delivered: 1 } })
  })

  test("finds the key that is in place, says when there is none, and refuses another one", async () => {
    const token = await backedUp(false)
    const place = join(directory.path, "restored")
    const other = restoreStore(copy, configOf(place, { SLUICE_MASTER_KEY: key }))
    await expect(other).rejects.toThrow("The master key is not the one that this store's secrets are sealed under.")
    expect(existsSync(place)).toBe(false)

    expect((await restoreStore(copy, configOf(place))).master_key).toBe("missing")
    await rm(place, { recursive: true })
    await mkdir(place, { mode: 0o700 })
    await writeFile(join(place, "master.key"), readFileSync(join(data, "master.key")), { mode: 0o600 })
    expect((await restoreStore(copy, configOf(place))).master_key).toBe("in-place")
    expect(await opens(token, place)).toBe(true)
  })

  test("without a description of the backup reports that no checksum was checked", async () => {
    await backedUp(false)
    expect(await restoreStore(copy, configOf(join(directory.path, "one")))).toMatchObject({ checksum: "checked" })
    await rm(join(copy, "backup.json"))
    const restored = await restoreStore(copy, configOf(join(directory.path, "two")))
    expect(restored).toMatchObject({ checksum: "unknown" })
    expect(restored).not.toHaveProperty("made_at")
  })

  test("overwrites no store, and disturbs no server", async () => {
    await backedUp(true)
    await expect(restoreStore(copy, configOf(data))).rejects.toThrow("has a store already")
    const place = join(directory.path, "restored")
    await mkdir(place, { mode: 0o700 })
    using lock = storeFilesIn(place).lock()
    expect(lock).toBeDefined()
    await expect(restoreStore(copy, configOf(place))).rejects.toThrow(DataDirectoryInUse)
    expect((await namesIn(place)).filter((name) => !name.startsWith("server.lock"))).toEqual([])
  })

  test("refuses a backup that was changed, and leaves nothing of it", async () => {
    const place = join(directory.path, "restored")
    await expect(restoreStore(copy, configOf(place))).rejects.toThrow(`There is no backup in ${copy}.`)
    await backedUp(true)
    const file = join(copy, "sluice.db")
    const bytes = readFileSync(file)
    bytes.writeUInt8(bytes.readUInt8(bytes.length - 100) ^ 1, bytes.length - 100)
    await writeFile(file, bytes)
    await expect(restoreStore(copy, configOf(place))).rejects.toThrow("is not as it was written")
    await writeFile(join(copy, "backup.json"), "{}")
    await expect(restoreStore(copy, configOf(place))).rejects.toThrow("is not what `sluice backup` writes")
    await rm(join(copy, "backup.json"))
    truncateSync(file, bytes.length - pageBytes)
    await expect(restoreStore(copy, configOf(place))).rejects.toThrow(Error)
    expect(existsSync(place)).toBe(false)
  })

  test("that was killed half-way is no data directory, and the next one completes it", async () => {
    await backedUp(true)
    const place = join(directory.path, "restored")
    await mkdir(join(place, ".partial-0123"), { recursive: true, mode: 0o700 })
    await writeFile(join(place, ".partial-0123", "sluice.db"), "half")
    await writeFile(join(place, "master.key"), readFileSync(join(copy, "master.key")), { mode: 0o600 })
    const unfinished = `A restore into the data directory ${place} was not finished (.partial-0123). Run \`sluice restore\` again`
    await expect(openApps(configOf(place))).rejects.toThrow(unfinished)
    await expect(startTestServer({ data: place })).rejects.toThrow(unfinished)
    expect(await namesIn(place)).toEqual([".partial-0123", "master.key", "server.lock"])
    expect(await restoreStore(copy, configOf(place))).toMatchObject({ master_key: "in-place" })
    expect(await namesIn(place)).toEqual(["master.key", "server.lock", "sluice.db"])
    expect(await faultsIn(place)).toEqual([])
  })
})

test("a database is neither backed up nor restored by these commands, which name the tools to use", async () => {
  const env = { SLUICE_DATABASE: "postgres://db/sluice", SLUICE_MASTER_KEY: key }
  const config = loadConfig({ posture: "serve", env })
  for (const work of [backUpStore(config, copy), restoreStore(copy, config)]) {
    await expect(work).rejects.toThrow(ConfigError)
    await expect(work).rejects.toThrow("backed up and restored with PostgreSQL's own tools")
  }
  expect(await namesIn(directory.path)).toEqual([])
})

test("searches find all of a store in whose directory the index of another one, or of a later time, was left", async () => {
  const found = async (server: TestServer): Promise<readonly string[]> => {
    const { body } = await server.call(`${paths.searchAll}?query=cat&max_results=10`)
    return ((body.data ?? []) as { id: string }[]).map(({ id }) => id)
  }
  const loseStore = async (): Promise<void> => {
    for (const name of await namesIn(data)) if (name.startsWith("sluice.db")) await rm(join(data, name))
    expect(await namesIn(data)).toContain("search.db")
  }
  {
    await using server = await startTestServer({ data })
    await filled(server, 3)
    await backUpStore(configOf(data), copy)
    await server.ingest(envelope(4, "cat"), envelope(5, "cat"))
    expect(await found(server)).toEqual(["5", "4", "3", "2", "1"])
  }
  await loseStore()
  await restoreStore(copy, configOf(data))
  {
    await using server = await startTestServer({ data })
    await server.ingest(envelope(14, "cat"), envelope(15, "cat"))
    expect(await found(server)).toEqual(["15", "14", "3", "2", "1"])
  }
  await loseStore()
  {
    await using server = await startTestServer({ data }, "dev", undefined, { isNew: true })
    await server.ingest(...[21, 22, 23].map((id) => envelope(id, "cat")))
    expect(await found(server)).toEqual(["23", "22", "21"])
  }
  await using _server = await startTestServer({ data, search: "off" })
  expect(await namesIn(data)).not.toContain("search.db")
})

test("a restored backup remembers its deletions, and holds again what was deleted after it", async () => {
  const gone = ["1", "2"]
  {
    await using server = await startTestServer({ data })
    await filled(server, 3)
    const operator = await server.running.apps.createToken("operator")
    await server.send("POST", paths.deletions, { post_ids: [gone[0], "77"], user_ids: ["88"] }, operator)
    await backUpStore(configOf(data), copy, { withKey: true })
    await server.send("POST", paths.deletions, { post_ids: [gone[1]] }, operator)
  }
  const restored = join(directory.path, "restored")
  await restoreStore(copy, configOf(restored))
  expect(await faultsIn(restored)).toEqual([])
  await using server = await startTestServer({ data: restored })
  const line = (id: string, author: string) => ({ data: { id, text: "cat", author_id: author } })
  const again = await server.ingest(line("1", "7"), line("2", "7"), line("77", "7"), line("78", "88"), line("79", "7"))
  expect(again.body).toMatchObject({ accepted: 1, duplicates: 4 })
  const found = await server.call(`${paths.postsById}?ids=1,2,3,77,78,79`)
  expect((found.body as { data: { id: string }[] }).data.map(({ id }) => id)).toEqual(["2", "3", "79"])
})
