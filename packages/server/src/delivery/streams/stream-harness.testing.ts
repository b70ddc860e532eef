import { createServer, get, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { afterEach, beforeEach } from "vitest"
import type { App } from "../../model/app.ts"
import { defaultSelection } from "../../model/field-selection.ts"
import type { AppId, PostId, RuleId } from "../../model/ids.ts"
import { Problem } from "../../model/problem.ts"
import type { Events } from "../../runtime/events/events.ts"
import { createSnowflakes } from "../../runtime/snowflakes.ts"
import { systemRandom } from "../../runtime/random.ts"
import { createManualClock, type ManualClock } from "../../runtime/manual-clock.testing.ts"
import { anApp } from "../../store/contract/fixtures.ts"
import { openTestedStore } from "../../store/tested-store.testing.ts"
import type { Store } from "../../store/store.ts"
import { deliveryFormat, type LineFormat } from "./line-format.ts"
import { createStreamConnections, type StreamConnections } from "./stream-connections.ts"
import type { StreamPart } from "./stream-parts.ts"
import { temporaryDirectory } from "../../../../../test/support/temporary-directory.testing.ts"

/** The app whose stream is read. */
export const app = "5" as AppId

/** Its one rule, which every post that is appended matches. */
export const rule = { id: "70" as RuleId, appId: app, value: "cats", tag: "c" }

/** Longest that a client may leave what was sent unread. */
export const stalledMsMax = 30_000

/** A client that keeps the chunks that it gets. */
export interface Client {
  readonly response: IncomingMessage
  readonly chunks: string[]
  isEnded: boolean
  leave(): void
}

/** Stream connections over a real store and a real HTTP server, anew for each test of a file. */
class StreamHarness {
  directory = ""
  store!: Store
  clock!: ManualClock
  streams!: StreamConnections
  /** The events reported, oldest first. */
  reported: { name: string; event: Record<string, unknown> }[] = []
  /** The server's side of each connection. */
  responses: ServerResponse[] = []
  /** A connection that is open runs when this has resolved. */
  mayRun: Promise<void> = Promise.resolve()
  /** Credentials of the next connection. */
  credentials!: App
  nextOptions!: { part: StreamPart; format: LineFormat; clientIp: string }
  #server!: Server

  /** Serves the streams of a new store, until the function that it returns is called. */
  async start(): Promise<() => Promise<void>> {
    const directory = await temporaryDirectory()
    this.directory = directory.path
    this.store = await openTestedStore(directory.path)
    this.credentials = anApp(app)
    await this.store.createApp(this.credentials, [])
    await this.store.addRules(app, [rule], { rulesMax: 10 })
    this.clock = createManualClock()
    this.reported = []
    this.responses = []
    this.mayRun = Promise.resolve()
    this.nextOptions = {
      part: { kind: "live", backfillMinutes: 0 },
      format: deliveryFormat(defaultSelection),
      clientIp: "127.0.0.1",
    }
    this.streams = this.streamsOver(this.store, 2)
    this.#server = createServer((_, response) => {
      this.responses.push(response)
      // Headers that a server sets on every response.
      response.setHeader("content-type", "application/json; charset=utf-8").setHeader("x-rate-limit-limit", "50")
      void this.#serve(response)
    })
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve))
    return async () => {
      const closed = this.streams.close()
      await this.clock.advance(10_000)
      await closed
      this.#server.closeAllConnections()
      await new Promise((resolve) => this.#server.close(resolve))
      await this.store[Symbol.asyncDispose]()
      await directory.remove()
    }
  }

  /** Other stream connections, which take the place of `streams` when they are assigned to it. */
  streamsOver(
    store: Store,
    connectionsPerAppMax: number,
    matchRetentionMs = 24 * 3_600_000,
    connectionsOver: "refuse" | "replace" = "refuse",
  ): StreamConnections {
    const { clock, reported } = this
    const events = new Proxy({} as Events, {
      get: (_, name) => (event: Record<string, unknown>) => reported.push({ name: String(name), event }),
    })
    return createStreamConnections({
      store,
      clock,
      events,
      limitsOf: () => ({ connectionsMax: connectionsPerAppMax, hasComplianceStreams: false }),
      usage: { count: () => undefined, isCapped: async () => false },
      snowflakes: createSnowflakes(clock, systemRandom),
      connectionsOver,
      stalledMsMax,
      matchRetentionMs,
      deletionsRememberedMs: 172_800_000,
    })
  }

  port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  async connectClient(): Promise<Client> {
    const { promise, resolve, reject } = Promise.withResolvers<Client>()
    // Listening begins in the turn in which the head comes: of what came before, a late listener gets one piece.
    const request = get({ port: this.port(), host: "127.0.0.1", agent: false }, (response) => {
      const client: Client = { response, chunks: [], isEnded: false, leave: () => request.destroy() }
      response.on("data", (chunk: Buffer) => client.chunks.push(chunk.toString("latin1")))
      response.on("end", () => (client.isEnded = true))
      response.on("error", () => undefined)
      resolve(client)
    })
    request.on("error", reject)
    return promise
  }

  /** Appends posts that match, with texts of their own, in one batch. */
  async append(ids: readonly number[], text = "a cat", atMs = this.clock.nowMs()): Promise<void> {
    const batch = ids.map((id) => ({
      post: {
        id: String(id) as PostId,
        createdAtMs: atMs,
        isReply: false,
        isRepost: false,
        core: Buffer.from(JSON.stringify({ id: String(id), text, edit_history_tweet_ids: [String(id)] })),
        envelope: Buffer.from(JSON.stringify({ data: { id: String(id), text, lang: "en" } })),
        userIds: [],
        users: [],
        includedIds: [],
      },
      matches: [{ appId: app, rules: [{ id: rule.id, tag: rule.tag }] }],
    }))
    await this.store.append(batch, atMs)
  }

  /** Events reported about the connections that ended. */
  closings(): unknown[] {
    return this.reported.filter(({ name }) => name === "streamClosed").map(({ event }) => event)
  }

  async #serve(response: ServerResponse): Promise<void> {
    try {
      const connection = await this.streams.open(this.credentials, this.nextOptions)
      await this.mayRun
      await connection.run(response)
    } catch (error) {
      response.writeHead(error instanceof Problem ? error.status : 500).end()
    }
  }
}

/** A harness that starts before each test of the file, and stops after it. */
export function streamHarness(): StreamHarness {
  const harness = new StreamHarness()
  let stop: () => Promise<void>
  beforeEach(async () => {
    stop = await harness.start()
  })
  afterEach(() => stop())
  return harness
}

/** The records that a client got: what it reads at once may end within one. */
export const recordsOf = ({ chunks }: Client): string[] => chunks.join("").trim().split("\r\n")

/** The posts' ids of records, in their order. */
export const idsOf = (records: readonly string[]): number[] =>
  records.map((record) => Number((JSON.parse(record) as { data: { id: string } }).data.id))

/** The numbers from `from` up to `to`, both included. */
export const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, n) => from + n)

/** The last message that a client got. */
export const disconnectOf = (client: Client): unknown => JSON.parse(client.chunks.at(-1) ?? "")
