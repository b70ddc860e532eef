import { readFile, readdir, rename, stat, symlink } from "node:fs/promises"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { startTestServer } from "../../../../test/support/test-server.testing.ts"
import { temporaryDirectory, type TemporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { run, runProcess } from "../command.testing.ts"

const [first, second] = ["0f".repeat(32), "1e".repeat(32)]

let directory: TemporaryDirectory
let data: string

beforeEach(async () => {
  directory = await temporaryDirectory()
  data = join(directory.path, "data")
})

afterEach(() => directory.remove())

const rotate = (env: Readonly<Record<string, string>> = {}) => run(["rotate-master-key", "--data", data], { env })

interface Credentials {
  readonly application_id: string
  readonly consumer_key: string
  readonly consumer_secret: string
  readonly client_id: string
  readonly client_secret: string
  readonly bearer_token: string
}

async function made(env: Readonly<Record<string, string>> = {}): Promise<Credentials> {
  const { stdout } = await run(["app", "create", "one", "--json", "--data", data], { env })
  return JSON.parse(stdout) as Credentials
}

test("after a rotation secrets and signing keys are the same, apps have new tokens, and the old key opens nothing", async () => {
  let credentials: Credentials
  let operator: string
  let webhook: string
  let signingKey: unknown
  {
    await using at = await startTestServer({ data })
    credentials = at.app
    operator = await at.running.apps.createToken("operator")
    webhook = await at.webhook()
    await at.send("POST", `/sluice/v1/webhooks/${webhook}/signing_key`)
    signingKey = (await at.call(`/sluice/v1/webhooks/${webhook}/signing_key`)).body
    expect(await rotate()).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("is in use by another Sluice") as string,
    })
  }
  const oldKey = await readFile(join(data, "master.key"), "utf8")
  const rotated = await rotate()
  expect(rotated.status).toBe(0)
  expect(rotated.stdout).toContain("Encrypted the secrets of 1 apps and 1 webhooks")
  const names = await readdir(data)
  const old = names.find((name) => name.startsWith("master.key.until-")) ?? ""
  expect(rotated.stdout).toContain(`The old key is ${join(data, old)}.`)
  expect(names).not.toContain("master.key.next")
  expect(await readFile(join(data, old), "utf8")).toBe(oldKey)
  const newKey = await readFile(join(data, "master.key"), "utf8")
  expect(newKey).toMatch(/^[0-9a-f]{64}\n$/)
  expect(newKey).not.toBe(oldKey)
  expect((await stat(join(data, "master.key"))).mode & 0o777).toBe(0o600)

  await using at = await startTestServer({ data })
  const app = (await at.running.apps.list()).find(({ id }) => id === credentials.application_id)
  expect(app && at.running.apps.credentials(app)).toMatchObject({
    consumer_secret: credentials.consumer_secret,
    client_id: credentials.client_id,
    client_secret: credentials.client_secret,
  })
  expect((await at.call("/2/tweets/search/stream/rules", { token: credentials.bearer_token })).status).toBe(401)
  const basic = Buffer.from(`${credentials.consumer_key}:${credentials.consumer_secret}`).toString("base64")
  const response = await at.call("/oauth2/token", {
    method: "POST",
    headers: { authorization: `Basic ${basic}`, "content-type": "application/x-www-form-urlencoded" },
    body: "grant_type=client_credentials",
  })
  const token = (response.body as { access_token: string }).access_token
  expect(token).not.toBe(credentials.bearer_token)
  expect((await at.call(`/sluice/v1/webhooks/${webhook}/signing_key`, { token })).body).toEqual(signingKey)
  expect((await at.call("/sluice/v1/links", { token: operator })).status).toBe(200)

  const wrong = await run(["app", "list", "--data", data], { env: { SLUICE_MASTER_KEY: oldKey.trim() } })
  expect(wrong.stderr).toContain("The master key is not the one that this store's secrets are sealed under.")
})

test("a key from the settings is rotated to one from the settings, and no file is made", async () => {
  await made({ SLUICE_MASTER_KEY: first })
  const without = await rotate({ SLUICE_MASTER_KEY: first })
  expect(without.stderr).toContain("set SLUICE_NEW_MASTER_KEY to 64 hexadecimal digits")
  const same = await rotate({ SLUICE_MASTER_KEY: first, SLUICE_NEW_MASTER_KEY: first })
  expect(same.stderr).toContain("is the key that the store has already")
  const wrong = await rotate({ SLUICE_MASTER_KEY: second, SLUICE_NEW_MASTER_KEY: "2d".repeat(32) })
  expect(wrong.stderr).toContain("The master key is not the one")
  const rotated = await rotate({ SLUICE_MASTER_KEY: first, SLUICE_NEW_MASTER_KEY: second })
  expect(rotated).toMatchObject({ status: 0, stderr: "" })
  expect(rotated.stdout).toContain("Set SLUICE_MASTER_KEY to the new key before you start the server.")
  expect((await readdir(data)).filter((name) => name.startsWith("master"))).toEqual([])
  const list = (key: string) => run(["app", "list", "--data", data], { env: { SLUICE_MASTER_KEY: key } })
  expect([(await list(first)).status, (await list(second)).status]).toEqual([1, 0])
})

test("a new key is refused while the old one is in a file, and nothing changes", async () => {
  await made()
  const key = await readFile(join(data, "master.key"), "utf8")
  const refused = await rotate({ SLUICE_NEW_MASTER_KEY: second })
  expect(refused.status).toBe(1)
  expect(refused.stderr).toContain("SLUICE_NEW_MASTER_KEY is set, but the master key is in")
  expect((await readdir(data)).filter((name) => name.startsWith("master"))).toEqual(["master.key"])
  expect(await readFile(join(data, "master.key"), "utf8")).toBe(key)
})

test("a rotation that was killed after the store was sealed anew is completed by the next one", async () => {
  await made()
  const env = { SLUICE_CRASH_POINT: "in-rotation" }
  const killed = await runProcess(["rotate-master-key", "--data", data], { env })
  expect(killed.status).toBeNull()
  const list = () => run(["app", "list", "--data", data])
  expect((await list()).stderr).toContain("After a rotation of the key that was cut short, run it again.")
  const next = await readFile(join(data, "master.key.next"), "utf8")
  expect((await rotate()).status).toBe(0)
  expect(await readFile(join(data, "master.key"), "utf8")).toBe(next)
  expect((await list()).status).toBe(0)
})

test("a rotation does not replace a key file that is a symbolic link", async () => {
  await made()
  const elsewhere = join(directory.path, "kept.key")
  await rename(join(data, "master.key"), elsewhere)
  await symlink(elsewhere, join(data, "master.key"))
  const refused = await rotate()
  expect(refused).toMatchObject({ status: 1, stdout: "" })
  expect(refused.stderr).toContain("is a link, so Sluice does not replace it.")
  expect((await run(["app", "list", "--data", data])).status).toBe(0)
})
