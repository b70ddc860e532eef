/** A RabbitMQ server of its own: it requires TLS, and runs low on memory. */
import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { connect } from "amqplib"
import { describe, expect, onTestFinished, test } from "vitest"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { envelope, startTestServer } from "../../../../test/support/test-server.testing.ts"
import { testCertificates } from "../runtime/outbound/certificates.testing.ts"
import { createRabbitMqSource } from "./rabbitmq.ts"
import { rabbitMqSettings } from "./rabbitmq-settings.ts"
import { isListening } from "./reachable.testing.ts"
import { failureOf } from "./source-failures.testing.ts"
import { metric, storedIds } from "./stored-ids.testing.ts"

const port = 14_671
const programs = "/usr/lib/rabbitmq/bin"
const isInstalled = existsSync(join(programs, "rabbitmq-server"))
if (!isInstalled) {
  const reason = `there is no ${programs}/rabbitmq-server: install rabbitmq-server to test TLS and memory alarms`
  if (process.env.CI !== undefined) throw new Error(reason)
  console.warn(`Skipped: ${reason}`)
}

/** A server whose certificate is for localhost. */
interface SecuredServer extends AsyncDisposable {
  readonly caFile: string
  /** Sets the part of the memory at which it takes nothing more from connections that publish. */
  setMemoryMax(part: string): Promise<void>
}

async function securedServer(directory: string): Promise<SecuredServer> {
  const { cert, key } = testCertificates.localhost
  const file = (name: string) => join(directory, name)
  await writeFile(file("cert.pem"), cert)
  await writeFile(file("key.pem"), key)
  await writeFile(
    file("rabbitmq.conf"),
    [
      "listeners.tcp = none",
      `listeners.ssl.default = 127.0.0.1:${port}`,
      `ssl_options.certfile = ${file("cert.pem")}`,
      `ssl_options.keyfile = ${file("key.pem")}`,
      "ssl_options.verify = verify_none",
    ].join("\n"),
  )
  const env = {
    ...process.env,
    HOME: directory,
    RABBITMQ_NODENAME: `sluice-${process.pid}@localhost`,
    RABBITMQ_DIST_PORT: String(port + 1),
    RABBITMQ_MNESIA_BASE: directory,
    RABBITMQ_LOG_BASE: directory,
    RABBITMQ_CONFIG_FILE: file("rabbitmq.conf"),
    RABBITMQ_ENABLED_PLUGINS_FILE: file("plugins"),
    RABBITMQ_CONF_ENV_FILE: "/dev/null",
  }
  await using starting = new AsyncDisposableStack()
  // A group of its own, since the program is a script that starts others.
  const child = spawn(join(programs, "rabbitmq-server"), { stdio: "ignore", env, detached: true })
  const closed = once(child, "close")
  const end = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-(child.pid ?? Number.NaN), "SIGKILL")
    await closed
  }
  starting.defer(end)
  // Also where the test runs out of time: the next try needs the port.
  onTestFinished(end)
  await expect.poll(() => isListening({ host: "127.0.0.1", port }), { timeout: 100_000 }).toBe(true)
  const resources = starting.move()
  return {
    caFile: file("cert.pem"),
    async setMemoryMax(part) {
      await promisify(execFile)(join(programs, "rabbitmqctl"), ["set_vm_memory_high_watermark", part], { env })
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

describe.runIf(isInstalled)("a RabbitMQ server that requires TLS", () => {
  test(
    "is used with its certificate; low on memory it still gives posts, and dead letters wait",
    { timeout: 240_000 },
    async () => {
      await using directory = await temporaryDirectory()
      await using rabbit = await securedServer(directory.path)
      const url = `amqps://localhost:${port}`
      const settings = rabbitMqSettings({ name: "posts", url, queue: "posts", caFile: rabbit.caFile }, {})
      expect(await failureOf((deps) => createRabbitMqSource({ ...settings, caFile: undefined }, deps))).toMatchObject({
        advice: expect.stringContaining("Set caFile to the certificate"),
      })

      const connection = await connect(url, { ca: [testCertificates.localhost.cert] })
      const channel = await connection.createConfirmChannel()
      await channel.assertQueue("posts", { durable: true })
      channel.sendToQueue("posts", Buffer.from("not json"))
      channel.sendToQueue("posts", Buffer.from(JSON.stringify(envelope(1, "a heron"))))
      await channel.waitForConfirms()
      await rabbit.setMemoryMax("0.00001")
      await using server = await startTestServer({ search: "off" }, "dev", undefined, {
        moreSources: ({ monitorOf, ...deps }) => [
          createRabbitMqSource(settings, { ...deps, monitor: monitorOf("posts") }),
        ],
      })
      const count = (name: string) => metric(server, name)
      await expect.poll(() => storedIds(server)).toEqual([1])
      await expect.poll(() => count('sluice_failures_total{where="source"}')).toBeGreaterThan(0)
      expect(await count('sluice_source_messages_total{source="posts",outcome="rejected"}')).toBe(0)
      await rabbit.setMemoryMax("0.9")
      await expect.poll(() => count('sluice_source_messages_total{source="posts",outcome="rejected"}')).toBe(1)
      expect((await channel.checkQueue("posts.dead")).messageCount).toBe(1)
      await server.running.close()
      expect((await channel.checkQueue("posts")).messageCount).toBe(0)
      await connection.close()
    },
  )
})
