import { spawnSync } from "node:child_process"
import { chmod, readdir, readFile, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { ConfigError } from "../runtime/config-error.ts"
import { masterKey } from "./master-key.ts"
import { systemRandom as random } from "../runtime/random.ts"
import { temporaryDirectory, type TemporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"

let directory: TemporaryDirectory
let file: string

beforeEach(async () => {
  directory = await temporaryDirectory()
  file = join(directory.path, "master.key")
})

afterEach(async () => {
  await directory.remove()
})

const made = (): Uint8Array => masterKey(directory.path, undefined, random, { mayCreate: true })

test("the key is created once, complete, for its owner alone, and no temporary file is left", async () => {
  const key = made()
  expect(key).toHaveLength(32)
  expect(made()).toEqual(key)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect(await readFile(file, "utf8")).toBe(`${Buffer.from(key).toString("hex")}\n`)
  expect(await readdir(directory.path)).toEqual(["master.key"])
})

test("a key from the setting is used, and no file is created", async () => {
  expect(masterKey(directory.path, "0f".repeat(32), random, { mayCreate: true })).toEqual(Buffer.alloc(32, 0x0f))
  expect(await readdir(directory.path)).toEqual([])
})

test("a key that others can read is refused", async () => {
  made()
  await chmod(file, 0o640)
  expect(made).toThrow(`chmod 600 ${file}`)
})

test.each(["", "too short\n", "zz".repeat(32), `${"0f".repeat(32)}${" ".repeat(2_000)}`])(
  "a key file that holds no key is refused: %j",
  async (content) => {
    await writeFile(file, content, { mode: 0o600 })
    expect(made).toThrow("must hold 64 hexadecimal digits")
  },
)

test("a FIFO in place of the key is refused without waiting for it", () => {
  expect(spawnSync("mkfifo", ["-m", "600", file]).status).toBe(0)
  expect(made).toThrow(`The key file ${file} is not a regular file.`)
})

test("no key is created without permission", async () => {
  expect(() => masterKey(directory.path, undefined, random, { mayCreate: false })).toThrow(ConfigError)
  expect(await readdir(directory.path)).toEqual([])
})
