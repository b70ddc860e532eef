/** A Redis server that requires TLS and a password. */
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { createClient } from "redis"
import { describe, expect, test } from "vitest"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { envelope, startTestServer } from "../../../../test/support/test-server.testing.ts"
import { ConfigError } from "../runtime/config-error.ts"
import { testCertificates } from "../runtime/outbound/certificates.testing.ts"
import { isListening } from "./reachable.testing.ts"
import { createRedisSource } from "./redis.ts"
import { redisSettings, type RedisSourceSettings } from "./redis-settings.ts"
import { failureOf } from "./source-failures.testing.ts"
import { storedIds } from "./stored-ids.testing.ts"

const port = 14_379
const password = "a-password-of-redis"

const program = "redis-server"
const isInstalled = spawnSync(program, ["--version"]).status === 0
if (!isInstalled) {
  const reason = "there is no redis-server: install it to test TLS and passwords"
  if (process.env.CI !== undefined) throw new Error(reason)
  console.warn(`Skipped: ${reason}`)
}

/** A server of its own, whose certificate is for localhost, with a post in the stream `posts`. */
async function securedServer(directory: string): Promise<{ readonly caFile: string } & AsyncDisposable> {
  const { cert, key } = testCertificates.localhost
  const file = (name: string) => join(directory, name)
  await writeFile(file("cert.pem"), cert)
  await writeFile(file("key.pem"), key)
  await using starting = new AsyncDisposableStack()
  const tls = ["--port", "0", "--tls-port", String(port), "--tls-auth-clients", "no"]
  const files = ["--tls-cert-file", file("cert.pem"), "--tls-key-file", file("key.pem"), "--dir", directory]
  const bound = ["--bind", "127.0.0.1", "--save", "", "--requirepass", password]
  const child = spawn(program, [...tls, ...files, ...bound], { stdio: "ignore" })
  const closed = once(child, "close")
  starting.defer(async () => {
    child.kill("SIGKILL")
    await closed
  })
  await expect.poll(() => isListening({ host: "127.0.0.1", port })).toBe(true)
  const socket = { host: "localhost", port, tls: true as const, ca: cert }
  const client = await createClient({ socket, password }).connect()
  await client.xAdd("posts", "*", { envelope: JSON.stringify(envelope(1, "a heron")) })
  await client.close()
  const resources = starting.move()
  return { caFile: file("cert.pem"), [Symbol.asyncDispose]: () => resources.disposeAsync() }
}

describe.runIf(isInstalled)("a Redis server that requires TLS and a password", () => {
  test("is used with its certificate and its password, and with neither wrong", async () => {
    await using directory = await temporaryDirectory()
    await using redis = await securedServer(directory.path)
    const passwordFile = join(directory.path, "password")
    await writeFile(passwordFile, `${password}\n`)
    const members = { name: "posts", url: `rediss://localhost:${port}`, stream: "posts" }
    const right = redisSettings({ ...members, caFile: redis.caFile, passwordFile }, {})
    const failure = (settings: RedisSourceSettings) => failureOf((deps) => createRedisSource(settings, deps))
    expect(await failure({ ...right, caFile: undefined })).toMatchObject({
      advice: expect.stringContaining("Set caFile to the certificate"),
    })
    expect(await failure({ ...right, password: () => "another" })).toMatchObject({
      message: expect.stringMatching(/^WRONGPASS/),
      advice: expect.stringContaining("Correct the username, or the password"),
    })
    expect(await failure({ ...right, password: undefined })).toMatchObject({
      message: expect.stringMatching(/^NOAUTH/),
      advice: expect.stringContaining("set passwordFile or passwordVariable"),
    })
    await using server = await startTestServer({ search: "off" }, "dev", undefined, {
      moreSources: ({ monitorOf, ...deps }) => [createRedisSource(right, { ...deps, monitor: monitorOf("posts") })],
    })
    await expect.poll(() => storedIds(server)).toEqual([1])
  })
})

test("an unreadable file is an error of the settings at the start", () => {
  const missing = "/nowhere/password"
  const settings = redisSettings(
    { name: "posts", url: "redis://127.0.0.1", stream: "posts", passwordFile: missing },
    {},
  )
  const create = () => createRedisSource(settings, {} as Parameters<typeof createRedisSource>[1])
  expect(create).toThrow(ConfigError)
  expect(create).toThrow(`The source posts cannot start: The file ${missing} cannot be read`)
})
