/** A server refuses to start on an unsuitable data directory, with one sentence for each reason. */
import { spawnSync } from "node:child_process"
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { snowflakeEpochMs } from "@sluice/api"
import { afterEach, beforeEach, expect, test } from "vitest"
import { loadConfig } from "../config.ts"
import { ConfigError } from "../runtime/config-error.ts"
import { examine } from "../doctor/examine.ts"
import { openApps, rotateMasterKey } from "../commands.ts"
import { startServer, type StartOptions } from "../main.ts"
import type { AppId, RuleId } from "../model/ids.ts"
import { temporaryDirectory, type TemporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { openEmbeddedStore } from "../store/embedded/serving/embedded-store.ts"

let parent: TemporaryDirectory
let data: string
let isMounted = false

beforeEach(async () => {
  parent = await temporaryDirectory()
  data = join(parent.path, "data")
})

afterEach(async () => {
  if (isMounted) spawnSync("umount", ["--lazy", data])
  isMounted = false
  await parent.remove()
})

const settings = (env: Readonly<Record<string, string>> = {}) => loadConfig({ posture: "serve", flags: { data }, env })
const inData = (name: string): string => join(data, name)

/** Starts a server on the data, and ends it. */
async function start(options?: StartOptions, env: Readonly<Record<string, string>> = {}): Promise<void> {
  const flags = { data, port: "0", "log-level": "silent" }
  const server = await startServer(loadConfig({ posture: "serve", flags, env }), options)
  await server.close()
}

/** Why neither a server nor the command starts on the data: one sentence, the same for both. */
async function refusal(): Promise<string> {
  const errors = [
    await start().catch((error: unknown) => error),
    await openApps(settings()).then(
      () => "the command was not refused",
      (error: unknown) => error,
    ),
  ]
  for (const error of errors) expect(error).toBeInstanceOf(ConfigError)
  const [message, other] = errors.map((error) => (error as Error).message)
  expect(message).not.toContain("\n")
  expect(other).toBe(message)
  return message ?? ""
}

/** A data directory with an app in it, which no process has open. */
async function makeStore(): Promise<void> {
  await using opened = await openApps(settings())
  await opened.apps.create("one")
}

test("only the owner may read the stored files", async () => {
  await makeStore()
  expect(statSync(data).mode & 0o777).toBe(0o700)
  for (const file of readdirSync(data)) expect([file, statSync(inData(file)).mode & 0o077]).toEqual([file, 0])
})

test("a store without its key is refused, and no new key is created", async () => {
  await makeStore()
  rmSync(inData("master.key"))
  expect(await refusal()).toContain("has secrets sealed under it")
  expect(existsSync(inData("master.key"))).toBe(false)
})

test("ids continue above the last one assigned, though the clock was set back over a restart", async () => {
  await makeStore()
  const ahead = (BigInt(Date.now() + 86_400_000 - snowflakeEpochMs) << 22n).toString()
  {
    await using store = await openEmbeddedStore({ file: inData("sluice.db") })
    const [app] = await store.apps()
    const rule = { id: ahead as RuleId, appId: app?.id ?? ("0" as AppId), value: "cat" }
    await store.addRules(rule.appId, [rule], { rulesMax: 5 })
    await store.deleteRules(rule.appId, { kind: "all" })
  }
  await using opened = await openApps(settings())
  const { application_id: id } = await opened.apps.create("two")
  expect(BigInt(id)).toBeGreaterThan(BigInt(ahead))
  const flags = { data, port: "0", "log-level": "silent" }
  const server = await startServer(loadConfig({ posture: "serve", flags, env: {} }))
  const { application_id: next } = await server.apps.create("three")
  await server.close()
  expect(BigInt(next)).toBeGreaterThan(BigInt(id))
})

test("a store under another key is refused, by the server and by the command", async () => {
  await makeStore()
  const masterKey = "ab".repeat(32)
  await expect(openApps(settings({ SLUICE_MASTER_KEY: masterKey }))).rejects.toThrow(
    "The master key is not the one that this store's secrets are sealed under.",
  )
  await expect(start({}, { SLUICE_MASTER_KEY: masterKey })).rejects.toThrow(ConfigError)
  // Nothing of the refused server is left: the right key starts one.
  await start()
})

const lost: readonly (readonly [what: string, lose: () => void, said: RegExp])[] = [
  ["missing", () => rmSync(inData("sluice.db")), /sluice\.db is missing, and master\.key next to it shows .* --new\.$/],
  ["emptied", () => truncateSync(inData("sluice.db"), 0), /sluice\.db is empty, and master\.key next to it/],
  ["of no tables", emptyStore, /sluice\.db is empty, and master\.key next to it/],
  [
    "missing, with its key, next to credentials",
    () => {
      rmSync(inData("sluice.db"))
      rmSync(inData("master.key"))
      writeFileSync(inData("credentials.json"), "{}")
    },
    /sluice\.db is missing, and credentials\.json next to it/,
  ],
  [
    "missing, with its key, next to what was written last",
    () => {
      rmSync(inData("sluice.db"))
      rmSync(inData("master.key"))
      writeFileSync(inData("sluice.db-wal"), "posts")
    },
    /sluice\.db is missing, and sluice\.db-wal next to it/,
  ],
]

/** Makes a database without tables. */
function emptyStore(): void {
  rmSync(inData("sluice.db"), { force: true })
  using db = new DatabaseSync(inData("sluice.db"))
  db.exec("PRAGMA journal_mode = WAL")
}

test.each(lost)("a store that is %s is served as a new one only with --new", async (_, lose, said) => {
  await makeStore()
  lose()
  expect(await refusal()).toMatch(said)
  await start({ isNew: true })
  await using opened = await openApps(settings())
  expect(await opened.apps.list()).toEqual([])
})

test("--new is refused when there is a store, so it cannot stay in a unit file", async () => {
  await start({ isNew: true })
  await expect(start({ isNew: true })).rejects.toThrow(`The data directory ${data} has a store already.`)
})

test("an empty directory is a first start, also with a key in the settings or after a killed start", async () => {
  const env = { SLUICE_MASTER_KEY: "ab".repeat(32) }
  mkdirSync(data)
  await start({}, env)
  expect(existsSync(inData("master.key"))).toBe(false)
  rmSync(data, { recursive: true })
  // The lock, and a store without tables.
  mkdirSync(data, { mode: 0o700 })
  writeFileSync(inData("server.lock"), "")
  emptyStore()
  await start()
  expect(existsSync(inData("master.key"))).toBe(true)
  // A store with tables and nothing in them: a key is created, since nothing is sealed under another one.
  rmSync(inData("master.key"))
  await start()
  expect(existsSync(inData("master.key"))).toBe(true)
})

const makeFifo = (path: string): void => expect(spawnSync("mkfifo", [path]).status).toBe(0)
const makeSocket = (path: string): void => {
  const script = `require("net").createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 9))`
  spawnSync(process.execPath, ["-e", script])
}
const storeFiles = ["sluice.db", "sluice.db-wal", "sluice.db-shm", "server.lock", "master.key", "credentials.json"]

const wrongKinds: readonly (readonly [what: string, name: string, make: (path: string) => void])[] = [
  ...storeFiles.map((name) => ["a FIFO", name, makeFifo] as const),
  ...storeFiles.map((name) => ["a directory", name, (path: string) => mkdirSync(path)] as const),
  ["a socket", "master.key", makeSocket],
  ["a device", "sluice.db", (path) => symlinkSync("/dev/full", path)],
  ["a device", "master.key", (path) => symlinkSync("/dev/zero", path)],
  ["a link that leads nowhere", "sluice.db", (path) => symlinkSync("/nowhere/at/all", path)],
  ["a link", "server.lock", (path) => symlinkSync("/etc/passwd", path)],
  ["a link", "credentials.json", (path) => symlinkSync("/etc/passwd", path)],
]

test.each(wrongKinds)("%s in place of %s is refused by name", async (what, name, make) => {
  mkdirSync(data, { mode: 0o700 })
  make(inData(name))
  const said = `${inData(name)} is ${what}`
  expect(await refusal()).toContain(said)
  const { findings } = await examine({ flags: { data }, env: {}, isOffline: true })
  expect(findings.find(({ level }) => level === "error")?.text).toContain(said)
})

test("a store and a key that are symbolic links to files are used", async () => {
  const elsewhere = join(parent.path, "elsewhere")
  mkdirSync(elsewhere)
  await makeStore()
  for (const name of ["sluice.db", "master.key"]) {
    writeFileSync(join(elsewhere, name), readFileSync(inData(name)), { mode: 0o600 })
    rmSync(inData(name))
    symlinkSync(join(elsewhere, name), inData(name))
  }
  await using opened = await openApps(settings())
  expect(await opened.apps.list()).toMatchObject([{ name: "one" }])
})

test("a file in place of the data directory, or of a directory above it, is refused", async () => {
  writeFileSync(data, "")
  expect(await refusal()).toBe(`The data directory ${data} is not a directory.`)
  data = join(data, "below")
  expect(await refusal()).toBe(`The data directory ${data} is not a directory.`)
})

test.skipIf(process.platform !== "linux").each(["/proc/x", "/proc/x/y", "/dev/null/x"])(
  "the data directory %s cannot be created, which is reported at once",
  async (place) => {
    data = place
    expect(await refusal()).toMatch(/^The data directory \S+ (?:cannot be made: ENOENT: .*|is not a directory)\.$/)
  },
)

test("a lock file with other content is not mistaken for another server's", async () => {
  mkdirSync(data, { mode: 0o700 })
  writeFileSync(inData("server.lock"), "not a lock\n".repeat(1_000))
  await expect(start()).rejects.toThrow(`${inData("server.lock")} is not the lock that Sluice makes there.`)
})

test("a store that is not a database is reported as damage", async () => {
  mkdirSync(data, { mode: 0o700 })
  writeFileSync(inData("sluice.db"), "not a database".repeat(5_000))
  expect(await refusal()).toMatch(/^The store is damaged .*sluice doctor/)
})

test.each([0o777, 0o770, 0o755])("a data directory of mode %o is closed to other users", async (mode) => {
  mkdirSync(data)
  chmodSync(data, mode)
  await makeStore()
  expect(statSync(data).mode & 0o777).toBe(0o700)
})

/** Needs a second user, who owns a file. */
const isRoot = process.getuid?.() === 0

test.skipIf(!isRoot).each([0o700, 0o750, 0o770])(
  "a directory of mode %o that belongs to another user is refused, also to root, and nothing is written",
  async (mode) => {
    await makeStore()
    chownSync(data, 12_345, 12_345)
    chmodSync(data, mode)
    const before = stateOf()
    expect(await refusal()).toBe(
      `The data directory ${data} belongs to user 12345, and this is user 0. Run Sluice as user 12345, ` +
        "or name another directory with --data.",
    )
    await expect(rotateMasterKey(settings(), undefined)).rejects.toThrow("belongs to user 12345")
    expect(stateOf()).toEqual(before)
  },
)

/** Mode, owner and last change of the directory and of all that is in it. */
function stateOf(): readonly unknown[] {
  return ["", ...readdirSync(data).toSorted()].map((name) => {
    const { mode, uid, ino, ctimeMs } = statSync(inData(name))
    return [name, mode, uid, ino, ctimeMs]
  })
}

test.skipIf(!isRoot)("a file of another user in a directory that others may write to is not used", async () => {
  await makeStore()
  chownSync(inData("master.key"), 12_345, 12_345)
  chmodSync(data, 0o777)
  expect(await refusal()).toContain(`${inData("master.key")} belongs to user 12345`)
})

/** Mounts a memory disk at the data, gone when the test is over. */
function mounted(options: string): void {
  mkdirSync(data, { recursive: true, mode: 0o700 })
  const { status, stderr } = spawnSync("mount", ["-t", "tmpfs", "-o", `mode=700,${options}`, "none", data])
  expect(status, String(stderr)).toBe(0)
  isMounted = true
}

const mayMount = isRoot && spawnSync("unshare", ["--mount", "mount", "-t", "tmpfs", "none", "/mnt"]).status === 0

test.skipIf(!mayMount)("a disk that is full at the first start is reported as full", async () => {
  mounted("size=64k")
  writeFileSync(inData("ballast"), Buffer.alloc(60 * 1_024))
  expect(await refusal()).toMatch(/ is full|ENOSPC: no space left on device/)
})

test.skipIf(!mayMount)("a read-only disk is reported as read-only, with a store and without", async () => {
  mounted("size=16m")
  const remount = (mode: string): void => expect(spawnSync("mount", ["-o", `remount,${mode}`, data]).status).toBe(0)
  const isRefused = async (): Promise<void> => {
    for (const begin of [() => start(), () => openApps(settings())]) {
      const error: unknown = await begin().catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(ConfigError)
      expect((error as Error).message).toMatch(/^The data directory \S+ cannot be used: .*read-?only.*\.$/)
    }
  }
  remount("ro")
  await isRefused()
  remount("rw")
  await makeStore()
  await start()
  remount("ro")
  await isRefused()
})
