/** A NATS server that requires TLS and a token. */
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { jetstream, jetstreamManager } from "@nats-io/jetstream"
import { connect } from "@nats-io/transport-node"
import { describe, expect, test } from "vitest"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { envelope } from "../../../../test/support/test-server.testing.ts"
import { loadConfig } from "../config.ts"
import { startServer } from "../main.ts"
import { ConfigError } from "../runtime/config-error.ts"
import { isListening } from "./reachable.testing.ts"
import { testCertificates } from "../runtime/outbound/certificates.testing.ts"

const token = "a-token-of-nats"
const [port, otherPort] = [14_229, 14_230]

const program = "nats-server"
const isInstalled = spawnSync(program, ["--version"]).status === 0
if (!isInstalled) {
  const reason = "there is no nats-server: install it to test TLS and tokens"
  if (process.env.CI !== undefined) throw new Error(reason)
  console.warn(`Skipped: ${reason}`)
}

/** A server of its own, whose certificate is for localhost, with a stream POSTS. */
async function securedServer(directory: string): Promise<{ readonly caFile: string } & AsyncDisposable> {
  const { cert, key } = testCertificates.localhost
  const file = (name: string) => join(directory, name)
  await writeFile(file("cert.pem"), cert)
  await writeFile(file("key.pem"), key)
  await writeFile(
    file("nats.conf"),
    `listen: "127.0.0.1:${port}"
    jetstream { store_dir: "${directory}" }
    authorization { token: "${token}" }
    tls { cert_file: "${file("cert.pem")}", key_file: "${file("key.pem")}" }`,
  )
  await using starting = new AsyncDisposableStack()
  const child = spawn(program, ["-c", file("nats.conf")], { stdio: "ignore" })
  const closed = once(child, "close")
  starting.defer(async () => {
    child.kill("SIGKILL")
    await closed
  })
  await expect.poll(() => isListening({ host: "127.0.0.1", port })).toBe(true)
  const caFile = file("cert.pem")
  const connection = await connect({ servers: `localhost:${port}`, token, tls: { caFile } })
  await (await jetstreamManager(connection)).streams.add({ name: "POSTS", subjects: ["posts"] })
  await jetstream(connection).publish("posts", JSON.stringify(envelope(1, "a heron")))
  await connection.close()
  const resources = starting.move()
  return { caFile, [Symbol.asyncDispose]: () => resources.disposeAsync() }
}

/** Metrics of a server with these settings, once a line begins as one of `lines`; which one. */
async function firstOf(lines: readonly string[], flags: Readonly<Record<string, string>>, natsToken: string) {
  await using data = await temporaryDirectory()
  const all = { port: "0", data: data.path, "log-level": "silent", "nats-stream": "POSTS", ...flags }
  const config = loadConfig({ posture: "dev", flags: all, env: { SLUICE_NATS_TOKEN: natsToken } })
  const server = await startServer(config)
  await using _closed = { [Symbol.asyncDispose]: () => server.close() }
  let found: string | undefined
  await expect
    .poll(async () => {
      const text = await (await fetch(`${server.url}/metrics`)).text()
      found = lines.find((line) => text.includes(`\n${line}`))
      return found
    })
    .toBeDefined()
  return found
}

const accepted = 'sluice_source_messages_total{source="nats",outcome="accepted"} 1'
const failed = 'sluice_failures_total{where="source"}'

describe.runIf(isInstalled)("a NATS server that requires TLS and a token", () => {
  test("is used with its certificate and its token, and with neither wrong; the first server that can be reached", async () => {
    await using directory = await temporaryDirectory()
    await using nats = await securedServer(directory.path)
    const url = `tls://localhost:${port}`
    const [right, none] = [{ "nats-url": url, "nats-ca": nats.caFile }, { "nats-url": url }]
    expect(await firstOf([accepted, failed], none, token)).toBe(failed)
    expect(await firstOf([accepted, failed], right, "another")).toBe(failed)
    const several = { ...right, "nats-url": `tls://localhost:${otherPort},${url}` }
    expect(await firstOf([accepted, failed], several, token)).toBe(accepted)
  })
})

test("an unreadable file is reported as an error of the setting that names it", async () => {
  await using directory = await temporaryDirectory()
  const missing = join(directory.path, "missing.creds")
  const flags = { "nats-url": "nats://127.0.0.1:4222", "nats-stream": "POSTS", "nats-credentials": missing }
  const config = loadConfig({ posture: "dev", flags: { port: "0", data: directory.path, ...flags }, env: {} })
  const started = startServer(config)
  await expect(started).rejects.toThrow(ConfigError)
  await expect(started).rejects.toThrow(`The file ${missing} cannot be read`)
})
