import { spawnSync } from "node:child_process"
import { mkdir, readdir, readFile, rm, stat, symlink, utimes, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { run } from "../command.testing.ts"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import {
  credentialsDirectory,
  findCredentials,
  readCredentials,
  writeCredentials,
  type SavedCredentials,
} from "./credentials-file.ts"
import { Failure } from "../process/failure.ts"

const credentials: SavedCredentials = {
  url: "http://127.0.0.1:1",
  app: {
    application_id: "1",
    business_user_id: "2",
    instance_id: "3",
    consumer_key: "key",
    consumer_secret: "secret",
    bearer_token: "token",
  },
  operator_token: "operator",
}

test("written credentials are read again, and a planted symbolic link is not followed", async () => {
  await using directory = await temporaryDirectory()
  const outside = join(directory.path, "outside")
  const data = join(directory.path, "data")
  await mkdir(data)
  await writeFile(outside, "as it was")
  const planted = ["credentials.json", `credentials.json.${process.pid}`]
  for (const name of planted) await symlink(outside, join(data, name))
  await writeCredentials(data, credentials)
  await writeCredentials(data, credentials)
  expect(await readFile(outside, "utf8")).toBe("as it was")
  expect(await readCredentials(data)).toMatchObject(credentials)
  expect((await readdir(data)).toSorted()).toEqual(planted)
})

test("credentials that cannot be read or written are reported with the reason, and leave nothing behind", async () => {
  await using directory = await temporaryDirectory()
  const path = join(directory.path, "credentials.json")
  expect(spawnSync("mkfifo", [path]).status).toBe(0)
  await expect(readCredentials(directory.path)).rejects.toThrow(`${path} cannot be read: it is not a regular file.`)
  const data = join(directory.path, "data")
  await mkdir(join(data, "credentials.json"), { recursive: true })
  const refused = writeCredentials(data, credentials)
  await expect(refused).rejects.toThrow(Failure)
  await expect(refused).rejects.toThrow(/credentials\.json cannot be written: E\w+: /)
  expect(await readdir(data)).toEqual(["credentials.json"])
})

/** A directory with credentials in it, and one far below it. */
async function nested(path: string): Promise<{ readonly top: string; readonly below: string }> {
  const top = join(path, "top")
  const below = join(top, "a", "b")
  await mkdir(below, { recursive: true })
  await mkdir(join(top, ".sluice"))
  await writeCredentials(join(top, ".sluice"), credentials)
  return { top, below }
}

/** The machine as it is, but for its users and file systems. */
const oneFileSystem = { userId: process.getuid?.(), fileSystemOf: async () => 1 }

test("credentials are found in the nearest directory above, past data directories that have none", async () => {
  await using directory = await temporaryDirectory()
  const { top, below } = await nested(directory.path)
  await mkdir(join(below, ".sluice"))
  await writeFile(join(top, "a", ".sluice"), "a file of this name")
  expect(await findCredentials(below)).toMatchObject(credentials)
  await writeCredentials(join(below, ".sluice"), { ...credentials, url: "http://127.0.0.1:2" })
  expect(await findCredentials(below)).toMatchObject({ url: "http://127.0.0.1:2" })
  expect((await run(["rules", "list"], { cwd: join(top, "a") })).stderr).toContain("http://127.0.0.1:1: ")
})

test("credentials of a database are kept next to those of an embedded store, and the last written count", async () => {
  await using directory = await temporaryDirectory()
  const { top, below } = await nested(directory.path)
  const data = join(top, ".sluice")
  const ofDatabase = credentialsDirectory({ data, database: "postgres://db/sluice" })
  expect(credentialsDirectory({ data })).toBe(data)
  await utimes(join(data, "credentials.json"), 1, 1)
  await writeCredentials(ofDatabase, { ...credentials, url: "http://127.0.0.1:3" })
  expect((await stat(ofDatabase)).mode & 0o777).toBe(0o700)
  expect(await findCredentials(below)).toMatchObject({ url: "http://127.0.0.1:3" })
  await utimes(join(ofDatabase, "credentials.json"), 0.5, 0.5)
  expect(await findCredentials(below)).toMatchObject(credentials)
  await rm(join(data, "credentials.json"))
  expect(await findCredentials(below)).toMatchObject({ url: "http://127.0.0.1:3" })
})

test("credentials of another user are refused, and none beyond them is used", async () => {
  await using directory = await temporaryDirectory()
  const { top, below } = await nested(directory.path)
  const found = findCredentials(below, { ...oneFileSystem, userId: (process.getuid?.() ?? 0) + 1 })
  await expect(found).rejects.toThrow(`${join(top, ".sluice", "credentials.json")} belongs to another user`)
  await expect(found).rejects.toMatchObject({ hints: [`If you trust it, use --data ${join(top, ".sluice")}`] })
})

test("the search for credentials ends where another file system begins", async () => {
  await using directory = await temporaryDirectory()
  const { top, below } = await nested(directory.path)
  const mounted = { ...oneFileSystem, fileSystemOf: async (path: string) => (path === top ? 1 : 2) }
  expect(await findCredentials(below, mounted)).toBeUndefined()
  expect(await findCredentials(below, oneFileSystem)).toMatchObject(credentials)
})

test.each(["dev", "serve"])("`sluice %s` on a directory it cannot serve exits 1 with one line", async (command) => {
  await using directory = await temporaryDirectory()
  const key = join(directory.path, "master.key")
  expect(spawnSync("mkfifo", [key]).status).toBe(0)
  const args = [command, "--port", "0", "--data", directory.path]
  expect(await run(args)).toMatchObject({
    status: 1,
    stdout: "",
    stderr: `error: ${key} is a FIFO, and must be a file.\n`,
  })
})

test("--new begins with an empty store next to a key whose store is lost, and nowhere else", async () => {
  await using directory = await temporaryDirectory()
  const data = ["--data", directory.path]
  expect((await run(["app", "create", "one", ...data])).status).toBe(0)
  const refused = await run(["serve", "--new", "--port", "0", ...data])
  expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining("has a store already") })
  await writeFile(join(directory.path, "sluice.db"), "")
  const lost = await run(["serve", "--port", "0", ...data])
  expect(lost).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/^error: .* is empty, .* --new\.\n$/),
  })
})
