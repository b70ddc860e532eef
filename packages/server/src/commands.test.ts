import { randomBytes } from "node:crypto"
import { writeFileSync } from "node:fs"
import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { afterEach, beforeEach, expect, test } from "vitest"
import { openApps } from "./commands.ts"
import { loadConfig, type Config } from "./config.ts"
import { ConfigError } from "./runtime/config-error.ts"
import { storeFile } from "./store/embedded/connection/database.ts"
import { storeEngineOf, storeFilesIn } from "./store/open.ts"
import { DataDirectoryInUse } from "./store/store-faults.ts"
import { temporaryDirectory, type TemporaryDirectory } from "../../../test/support/temporary-directory.testing.ts"

let data: TemporaryDirectory
beforeEach(async () => {
  data = await temporaryDirectory()
})
afterEach(() => data.remove())

const configWith = (env: Readonly<Record<string, string>> = {}): Config =>
  loadConfig({ posture: "serve", flags: { data: data.path, "log-level": "silent" }, env })

test("a command makes a key with a store of its own, and none next to a store whose server may have one", async () => {
  await (await storeEngineOf(configWith()).open())[Symbol.asyncDispose]()
  {
    // As a server that has the key in its settings, before its first app.
    using _server = storeFilesIn(data.path).lock()
    await expect(openApps(configWith())).rejects.toThrow(ConfigError)
    expect(await readdir(data.path)).not.toContain("master.key")
  }
  {
    await using opened = await openApps(configWith({ SLUICE_MASTER_KEY: randomBytes(32).toString("hex") }))
    expect(await opened.apps.list()).toEqual([])
    expect(await readdir(data.path)).not.toContain("master.key")
  }
  // As after a first command that was killed before it made its key.
  await using opened = await openApps(configWith())
  expect(await opened.apps.list()).toEqual([])
  expect(await readdir(data.path)).toContain("master.key")
})

test("a command that comes while a server starts for the first time waits for its key", async () => {
  await (await storeEngineOf(configWith()).open())[Symbol.asyncDispose]()
  using _server = storeFilesIn(data.path).lock()
  const opening = openApps(configWith())
  setTimeout(
    () => writeFileSync(join(data.path, "master.key"), `${randomBytes(32).toString("hex")}\n`, { mode: 0o600 }),
    200,
  )
  await using opened = await opening
  expect(await opened.apps.list()).toEqual([])
})

test("a command migrates no store that another process serves", async () => {
  await (await openApps(configWith()))[Symbol.asyncDispose]()
  {
    using db = new DatabaseSync(storeFile(data.path))
    db.exec("PRAGMA user_version = 1")
  }
  {
    using _server = storeFilesIn(data.path).lock()
    await expect(openApps(configWith())).rejects.toThrow(DataDirectoryInUse)
  }
  using db = new DatabaseSync(storeFile(data.path))
  expect(db.prepare("PRAGMA user_version").get()).toEqual({ user_version: 1 })
})
