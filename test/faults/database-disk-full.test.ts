/** PostgreSQL's disk is full: the disk of its data, and the disk of its write-ahead log. */
import { chmod, mkdir } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { SluiceProcess } from "../support/sluice-process.testing.ts"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"
import { WebhookReceiver } from "../support/webhook-receiver.testing.ts"
import type { SluiceResponse } from "../oracle/sluice-client.ts"
import { AppClient, postLine, waitFor } from "./app-client.ts"
import { postgresMissing, PrivatePostgres } from "./private-postgres.ts"
import { mountMissing, mountSmallDisk } from "./small-disk.ts"

const isMissing = postgresMissing !== undefined || mountMissing !== undefined

const mebibyte = 1_048_576

/** A server with a rule, a linked endpoint and at least one delivery, and the posts that it has acknowledged. */
class Load implements AsyncDisposable {
  readonly app: AppClient
  readonly server: SluiceProcess
  readonly endpoint: WebhookReceiver
  readonly acknowledged: string[] = []
  readonly #webhookId: string
  readonly #resources: AsyncDisposable
  #next = 1

  private constructor(resources: AsyncDisposable, parts: Pick<Load, "app" | "server" | "endpoint">, webhookId: string) {
    this.#resources = resources
    this.app = parts.app
    this.server = parts.server
    this.endpoint = parts.endpoint
    this.#webhookId = webhookId
  }

  /** Puts the server's own files into `directory`. */
  static async start(directory: string, postgres: PrivatePostgres): Promise<Load> {
    await using starting = new AsyncDisposableStack()
    const data = join(directory, "data")
    await mkdir(data)
    const server = starting.use(new SluiceProcess(data, { database: postgres.url() }))
    const app = new AppClient(await server.mustBeReady())
    const endpoint = starting.use(await WebhookReceiver.start(app.consumerSecret))
    await app.addRule("cat")
    const webhookId = await app.link(endpoint.url)
    const load = new Load(starting.move(), { app, server, endpoint }, webhookId)
    expect((await load.send(50)).status).toBe(200)
    await app.caughtUp(webhookId)
    return load
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#resources[Symbol.asyncDispose]()
  }

  /** Sends posts of 1 KB that match. */
  async send(count: number): Promise<SluiceResponse> {
    const ids = Array.from({ length: count }, () => String(this.#next++))
    const response = await this.app.tryIngest(
      ids.map((id) => postLine(BigInt(id), `a cat ${"and so on ".repeat(100)}`)),
    )
    if (response.status === 200) this.acknowledged.push(...ids)
    else expectUnavailable(response)
    return response
  }

  /** Every acknowledged post is stored, and each of its matches was delivered once. */
  async expectKept(): Promise<void> {
    const { head, total } = await this.app.caughtUp(this.#webhookId)
    expect(total).toMatchObject({ delivered: head, dead_letters: 0, missed: 0 })
    const [stored, delivered] = [new Set(await this.app.postIds("7")), new Set(this.endpoint.postIds)]
    expect(this.acknowledged.filter((id) => !stored.has(id) || !delivered.has(id))).toEqual([])
  }
}

function expectUnavailable({ status, headers, text }: SluiceResponse): void {
  expect(status, text).toBe(503)
  expect(headers.get("retry-after")).toMatch(/^[1-9]\d*$/)
  expect(JSON.parse(text)).toMatchObject({ status: 503, title: "Service Unavailable" })
}

test.skipIf(isMissing)(
  "while PostgreSQL's data disk is full, writes get 503 and reads work; writes resume when there is room",
  async () => {
    await using directory = await temporaryDirectory()
    await chmod(directory.path, 0o755)
    using disk = mountSmallDisk(directory.path, 128 * mebibyte)
    await using wal = await PrivatePostgres.directory()
    await using postgres = await PrivatePostgres.start({ parent: disk.mount, walDirectory: wal.path })
    await using load = await Load.start(directory.path, postgres)
    const { app, server } = load

    disk.fill()
    await waitFor(
      () => load.send(50),
      ({ status }) => status === 503,
    )
    expect(disk.isFull()).toBe(true)
    const stored = new Set(await app.postIds("7"))
    expect(load.acknowledged.filter((id) => !stored.has(id))).toEqual([])
    expect((await app.json("GET", "/2/tweets/search/stream/rules")).data).toHaveLength(1)
    expect([server.isRunning, postgres.isRunning]).toEqual([true, true])

    disk.makeRoom()
    await waitFor(
      () => load.send(50),
      ({ status }) => status === 200,
    )
    expect((await app.addRule("horse")).status).toBe(201)
    await load.expectKept()
    expect(load.endpoint.received.length).toBe(load.endpoint.eventIds.size)
  },
)

test.skipIf(isMissing)(
  "PostgreSQL ends when the disk of the write-ahead log is full, and nothing is lost once it starts with room",
  async () => {
    await using directory = await temporaryDirectory()
    await chmod(directory.path, 0o755)
    using disk = mountSmallDisk(directory.path, 128 * mebibyte)
    await using wal = await PrivatePostgres.directory(disk.mount)
    await using postgres = await PrivatePostgres.start({ walDirectory: wal.path })
    await using load = await Load.start(directory.path, postgres)
    const { app, server } = load

    disk.fill()
    // Fills the remaining segments of the log one after the other.
    await waitFor(
      async () => {
        await postgres.query("SELECT pg_switch_wal()").catch(() => undefined)
        return load.send(50)
      },
      ({ status }) => status === 503,
    )
    expect(disk.isFull()).toBe(true)
    await waitFor(
      () => postgres.isRunning,
      (isRunning) => !isRunning,
    )
    expectUnavailable(await app.send("GET", "/2/users/7/tweets"))
    expect(server.isRunning).toBe(true)

    disk.makeRoom()
    await postgres.begin()
    await waitFor(
      () => load.send(50),
      ({ status }) => status === 200,
    )
    await load.expectKept()
  },
)
