import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { ConfigError, loadConfig } from "./config.ts"
import { masterKey, storeFile } from "./data-directory.ts"
import { openApps, startServer } from "./main.ts"
import { systemRandom as random } from "./runtime/random.ts"

let directory: string
let keyFile: string

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "sluice-data-"))
  keyFile = join(directory, "master.key")
})

afterEach(async () => {
  await rm(directory, { recursive: true, force: true })
})

test("the key is made once, whole, its owner's alone, with nothing left beside it", async () => {
  const key = masterKey(directory, undefined, random)
  expect(key).toHaveLength(32)
  expect(masterKey(directory, undefined, random)).toEqual(key)
  expect((await stat(keyFile)).mode & 0o777).toBe(0o600)
  expect(await readFile(keyFile, "utf8")).toBe(`${Buffer.from(key).toString("hex")}\n`)
  expect(await readdir(directory)).toEqual(["master.key"])
})

test("a key that is set is taken, and no file is made", async () => {
  expect(masterKey(directory, "0f".repeat(32), random)).toEqual(Buffer.alloc(32, 0x0f))
  expect(await readdir(directory)).toEqual([])
})

test("a key that others can read is refused", async () => {
  masterKey(directory, undefined, random)
  await chmod(keyFile, 0o640)
  expect(() => masterKey(directory, undefined, random)).toThrow(`chmod 600 ${keyFile}`)
})

test.each(["", "too short\n", "zz".repeat(32)])(
  "a key file that holds no key is refused: %j",
  async (content) => {
    await writeFile(keyFile, content, { mode: 0o600 })
    expect(() => masterKey(directory, undefined, random)).toThrow("must hold 64 hexadecimal digits")
  },
)

test("a store without its key is refused, and gets no new one", async () => {
  await writeFile(storeFile(directory), "")
  expect(() => masterKey(directory, undefined, random)).toThrow(ConfigError)
  expect(await readdir(directory)).toEqual(["sluice.db"])
})

test("a store under another key is refused, by the server and by the command", async () => {
  {
    await using opened = await openApps({ data: directory })
    await opened.apps.create("one")
  }
  const masterKeyText = "ab".repeat(32)
  await expect(openApps({ data: directory, masterKey: masterKeyText })).rejects.toThrow(
    "The master key is not the one that this store's secrets are sealed under.",
  )
  const config = loadConfig({
    posture: "serve",
    flags: { data: directory, port: "0", "log-level": "silent" },
    env: { SLUICE_MASTER_KEY: masterKeyText },
  })
  await expect(startServer(config)).rejects.toThrow(ConfigError)
  // Nothing of the refused server is left: the right key starts one.
  const right = loadConfig({
    posture: "serve",
    flags: { data: directory, port: "0", "log-level": "silent" },
    env: {},
  })
  const server = await startServer(right)
  await server.close()
})

test("what is stored is its owner's alone", async () => {
  await using opened = await openApps({ data: directory })
  await opened.apps.create("one")
  for (const file of await readdir(directory)) {
    expect([file, (await stat(join(directory, file))).mode & 0o077]).toEqual([file, 0])
  }
})
