import { mkdtemp, rm } from "node:fs/promises"
import { createServer, get, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { connect, type AddressInfo, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { keepAliveMs } from "@sluice/api"
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import { defaultSelection, parseSelection, type FieldSelection } from "../model/field-selection.ts"
import type { App } from "../model/app.ts"
import type { AppId, PostId, RuleId } from "../model/ids.ts"
import { Problem } from "../model/problem.ts"
import type { Events } from "../runtime/events.ts"
import { createManualClock, type ManualClock } from "../runtime/manual-clock.testing.ts"
import { anApp } from "../store/contract.ts"
import { openEmbeddedStore } from "../store/embedded/embedded-store.ts"
import type { Store } from "../store/store.ts"
import { createStreamConnections, type StreamConnections, type StreamPart } from "./stream-connections.ts"

const app = "5" as AppId
const rule = { id: "70" as RuleId, appId: app, value: "cats", tag: "c" }
const stalledMsMax = 30_000

let directory: string
let store: Store
let clock: ManualClock
let told: { name: string; event: Record<string, unknown> }[]
let streams: StreamConnections
let server: Server
let responses: ServerResponse[]
let mayRun: Promise<void>
let credentials: App
let nextOptions: { part: StreamPart; selection: FieldSelection }

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "sluice-streams-"))
  store = await openEmbeddedStore({ file: join(directory, "sluice.db") })
  credentials = anApp(app)
  await store.createApp(credentials, [])
  await store.addRules(app, [rule], { rulesMax: 10, dryRun: false })
  clock = createManualClock()
  told = []
  responses = []
  mayRun = Promise.resolve()
  nextOptions = { part: { kind: "live", backfillMinutes: 0 }, selection: defaultSelection }
  streams = streamsOver(store, 2)
  server = createServer((_, response) => {
    responses.push(response)
    // What a server sets on every answer.
    response
      .setHeader("content-type", "application/json; charset=utf-8")
      .setHeader("x-rate-limit-limit", "50")
    void serve(response)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
})

afterEach(async () => {
  const closed = streams.close()
  await clock.advance(10_000)
  await closed
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  await store[Symbol.asyncDispose]()
  await rm(directory, { recursive: true, force: true })
})

async function serve(response: ServerResponse): Promise<void> {
  try {
    const connection = await streams.open(credentials, nextOptions)
    await mayRun
    await connection.run(response)
  } catch (error) {
    response.writeHead(error instanceof Problem ? error.status : 500).end()
  }
}

function streamsOver(
  read: Store,
  connectionsPerAppMax: number,
  matchRetentionMs = 24 * 3_600_000,
): StreamConnections {
  const events = new Proxy({} as Events, {
    get: (_, name) => (event: Record<string, unknown>) => told.push({ name: String(name), event }),
  })
  return createStreamConnections({
    store: read,
    clock,
    events,
    connectionsPerAppMax,
    stalledMsMax,
    matchRetentionMs,
  })
}

const port = (): number => (server.address() as AddressInfo).port

/** A client that keeps the chunks that it gets. */
interface Client {
  readonly response: IncomingMessage
  readonly chunks: string[]
  isEnded: boolean
  leave(): void
}

async function connectClient(): Promise<Client> {
  const { promise, resolve, reject } = Promise.withResolvers<Client>()
  // Listening begins in the turn in which the head comes: of what came before, a late listener gets one piece.
  const request = get({ port: port(), host: "127.0.0.1", agent: false }, (response) => {
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
async function append(ids: readonly number[], text = "a cat", atMs = clock.nowMs()): Promise<void> {
  const batch = ids.map((id) => ({
    post: {
      id: String(id) as PostId,
      createdAtMs: atMs,
      isReply: false,
      isRepost: false,
      core: JSON.stringify({ id: String(id), text, edit_history_tweet_ids: [String(id)] }),
      envelope: JSON.stringify({ data: { id: String(id), text, lang: "en" } }),
      userIds: [],
    },
    matches: [{ appId: app, rules: [{ id: rule.id, tag: rule.tag }] }],
  }))
  await store.append(batch, atMs)
}

const idsOf = (chunks: readonly string[]): number[] =>
  chunks.map((chunk) => Number((JSON.parse(chunk) as { data: { id: string } }).data.id))
const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, n) => from + n)
const closings = (): unknown[] => told.filter(({ name }) => name === "streamClosed").map(({ event }) => event)

describe("on the wire", () => {
  test("the head says 200, chunked, not to be cached, and no content type; other headers stay", async () => {
    const { response } = await connectClient()
    expect(response.statusCode).toBe(200)
    expect(response.headers).toMatchObject({
      "transfer-encoding": "chunked",
      "cache-control": "no-cache, no-store, max-age=0",
      "x-rate-limit-limit": "50",
    })
    expect(response.headers).not.toHaveProperty("content-type")
  })

  test("each match is a chunk of its own, ends with CRLF and is ASCII", async () => {
    const client = await connectClient()
    await append([1, 2, 3], "grüße 😀")
    await vi.waitFor(() => expect(client.chunks).toHaveLength(3))
    expect(client.chunks[0]).toBe(
      String.raw`{"data":{"id":"1","text":"gr\u00fc\u00dfe \ud83d\ude00","edit_history_tweet_ids":["1"]},` +
        '"matching_rules":[{"id":"70","tag":"c"}]}\r\n',
    )
    expect(idsOf(client.chunks)).toEqual([1, 2, 3])
  })

  test("a client of HTTP/1.0, which knows no chunks, gets the bare records", async () => {
    const socket = connect({ port: port(), host: "127.0.0.1" })
    let text = ""
    socket.setEncoding("latin1").on("data", (more: string) => (text += more))
    socket.write("GET / HTTP/1.0\r\nhost: x\r\n\r\n")
    await vi.waitFor(() => expect(text).toContain("\r\n\r\n"))
    await append([1, 2])
    await vi.waitFor(() => expect(text.split("\r\n\r\n")[1]?.split("\r\n")).toHaveLength(3))
    expect(idsOf(text.split("\r\n\r\n")[1]?.trim().split("\r\n") ?? [])).toEqual([1, 2])
    socket.destroy()
  })

  test("a match shows the fields that were asked for", async () => {
    nextOptions = {
      part: { kind: "live", backfillMinutes: 0 },
      selection: parseSelection({ "tweet.fields": "lang" }),
    }
    const client = await connectClient()
    await append([1])
    await vi.waitFor(() => expect(client.chunks).toHaveLength(1))
    expect(JSON.parse(client.chunks[0] ?? "")).toMatchObject({ data: { id: "1", lang: "en" } })
  })

  test("a sign of life is a CRLF in a chunk of its own, whenever nothing was written for twelve seconds", async () => {
    const client = await connectClient()
    await clock.advance(keepAliveMs - 1)
    await append([1])
    await vi.waitFor(() => expect(client.chunks).toHaveLength(1))
    await clock.advance(keepAliveMs - 1)
    expect(client.chunks).toHaveLength(1)
    await clock.advance(1)
    await vi.waitFor(() => expect(client.chunks.slice(1)).toEqual(["\r\n"]))
    await clock.advance(keepAliveMs)
    await vi.waitFor(() => expect(client.chunks.slice(1)).toEqual(["\r\n", "\r\n"]))
  })
})

describe("where it begins", () => {
  test("with the next match", async () => {
    await append([1, 2])
    const client = await connectClient()
    await append([3])
    await vi.waitFor(() => expect(idsOf(client.chunks)).toEqual([3]))
  })

  test("with backfill_minutes, that long ago, older first, and goes on with what comes", async () => {
    await append([1], "old", clock.nowMs() - 121_000)
    await append([2, 3], "recent", clock.nowMs() - 119_000)
    nextOptions = { part: { kind: "live", backfillMinutes: 2 }, selection: defaultSelection }
    const client = await connectClient()
    await append([4])
    await vi.waitFor(() => expect(idsOf(client.chunks)).toEqual([2, 3, 4]))
  })

  test("nothing is lost or doubled between catching up and following", async () => {
    await append(range(1, 700))
    nextOptions = { part: { kind: "live", backfillMinutes: 1 }, selection: defaultSelection }
    const client = await connectClient()
    for (let batch = 0; batch < 20; batch += 1) await append(range(701 + batch * 10, 710 + batch * 10))
    await vi.waitFor(() => expect(client.chunks).toHaveLength(900))
    expect(idsOf(client.chunks)).toEqual(range(1, 900))
  })
})

describe("a recovery", () => {
  const hourMs = 3_600_000

  function recover(startMs: number, endMs?: number): void {
    const part = { kind: "window", startMs, ...(endMs !== undefined && { endMs }) } as const
    nextOptions = { part, selection: defaultSelection }
  }

  const isOver = (client: Client): Promise<void> => vi.waitFor(() => expect(client.isEnded).toBe(true))

  test("holds what was matched from its start on and before its end, older first, and ends without a word", async () => {
    const nowMs = clock.nowMs()
    const [startMs, endMs] = [nowMs - 2 * hourMs, nowMs - hourMs]
    await append([1], "early", startMs - 1)
    await append(range(2, 300), "a cat", startMs)
    await append(range(301, 500), "a cat", endMs - 1)
    await append([501], "late", endMs)
    recover(startMs, endMs)
    const client = await connectClient()
    await isOver(client)
    expect(idsOf(client.chunks)).toEqual(range(2, 500))
    expect(closings()).toEqual([{ appId: app, reason: "finished", delivered: 499 }])
    expect(streams.count).toBe(0)
  })

  test("without an end goes up to now, and not on with what comes", async () => {
    await append(range(1, 5), "a cat", clock.nowMs() - hourMs)
    const { promise, resolve } = Promise.withResolvers<void>()
    mayRun = promise
    recover(clock.nowMs() - 24 * hourMs)
    const connecting = connectClient()
    await vi.waitFor(() => expect(streams.count).toBe(1))
    await append([6])
    resolve()
    const client = await connecting
    await isOver(client)
    expect(idsOf(client.chunks)).toEqual(range(1, 5))
  })

  test("of a time in which nothing was matched is empty", async () => {
    await append([1], "old", clock.nowMs() - 3 * hourMs)
    await append([2])
    recover(clock.nowMs() - 2 * hourMs, clock.nowMs() - hourMs)
    const client = await connectClient()
    await isOver(client)
    expect(client.chunks).toEqual([])
    expect(client.response.statusCode).toBe(200)
  })

  test("waits for a client that reads slowly, and gives it everything", async () => {
    for (let batch = 0; batch < 10; batch += 1) {
      await append(range(1 + batch * 100, 100 + batch * 100), "x".repeat(10_240))
    }
    recover(clock.nowMs() - hourMs)
    const client = await connectClient()
    client.response.pause()
    await vi.waitFor(() => expect(responses[0]?.socket?.writableNeedDrain).toBe(true))
    await clock.advance(stalledMsMax - 1)
    client.response.resume()
    await vi.waitFor(() => expect(client.isEnded).toBe(true), 10_000)
    expect(idsOf(client.chunks.join("").trim().split("\r\n"))).toEqual(range(1, 1_000))
  })

  test("waits for the last of it to be taken in as long as for the rest", async () => {
    const { client, release } = await connectHeld()
    await clock.advance(stalledMsMax - 1)
    expect(streams.count).toBe(1)
    release()
    await isOver(client)
    expect(idsOf(client.chunks.join("").trim().split("\r\n"))).toEqual(range(1, 60))
  })

  test("ends with the server, though its client has not taken in the last of it", async () => {
    await connectHeld()
    await streams.close()
    expect(streams.count).toBe(0)
    expect(responses[0]?.destroyed).toBe(true)
  })

  /** A recovery whose socket hands nothing on after the head, until it is released. Its end is written by then. */
  async function connectHeld(): Promise<{ client: Client; release: () => void }> {
    await append(range(1, 60))
    const { promise, resolve } = Promise.withResolvers<void>()
    mayRun = promise
    recover(clock.nowMs() - hourMs)
    const connecting = connectClient()
    await vi.waitFor(() => expect(streams.count).toBe(1))
    const socket = responses[0]?.socket
    if (socket === null || socket === undefined) throw new Error("there is no socket")
    const write = socket._write.bind(socket)
    let isHead = true
    let held = (): void => undefined
    socket._write = (chunk, encoding, callback) => {
      if (isHead) write(chunk, encoding, callback)
      else held = () => write(chunk, encoding, callback)
      isHead = false
    }
    Object.assign(socket, { _writev: null })
    resolve()
    const client = await connecting
    await vi.waitFor(() => expect(responses[0]?.writableEnded).toBe(true))
    const release = (): void => {
      socket._write = write
      held()
    }
    return { client, release }
  }

  test("has a place of its own beside the live connections; there are two of an app", async () => {
    await connectClient()
    await connectClient()
    const options = {
      part: { kind: "window", startMs: clock.nowMs() - 1 },
      selection: defaultSelection,
    } as const
    await streams.open(credentials, options)
    await streams.open(credentials, options)
    await expect(streams.open(credentials, options)).rejects.toMatchObject({
      status: 429,
      extras: { connection_issue: "TooManyConnections" },
    })
    expect(streams.count).toBe(4)
  })

  test.each([
    ["more than a day ago", -24 * hourMs - 1, undefined, "`start_time` is more than 24 hours ago"],
    ["in the future", 1, undefined, "`start_time` is in the future"],
    ["at its own end", -hourMs, -hourMs, "`end_time` is not after `start_time`"],
    ["after its end", -hourMs, -2 * hourMs, "`end_time` is not after `start_time`"],
  ])("that begins %s is refused", async (_name, start, end, message) => {
    recover(clock.nowMs() + start, end === undefined ? undefined : clock.nowMs() + end)
    const refused: unknown = await streams.open(credentials, nextOptions).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(Problem)
    expect(refused).toMatchObject({ status: 400, causes: [{ message }] })
    expect(streams.count).toBe(0)
  })

  test("may begin a day ago to the millisecond, and no earlier than matches are kept", async () => {
    recover(clock.nowMs() - 24 * hourMs)
    await expect(streams.open(credentials, nextOptions)).resolves.toBeDefined()
    streams = streamsOver(store, 1, 2 * hourMs)
    await expect(streams.open(credentials, nextOptions)).rejects.toMatchObject({
      causes: [{ message: "`start_time` is more than 2 hours ago" }],
    })
  })

  test("that retention overtakes ends with a message, and not as if nothing was missing", async () => {
    await append(range(1, 300), "a cat", clock.nowMs() - 23 * hourMs)
    recover(clock.nowMs() - 24 * hourMs)
    const { promise, resolve } = Promise.withResolvers<void>()
    mayRun = promise
    const connecting = connectClient()
    await vi.waitFor(() => expect(streams.count).toBe(1))
    await store.trimMatches(app, { beforeMs: clock.nowMs() - hourMs, limit: 100 })
    resolve()
    const client = await connecting
    await isOver(client)
    expect(client.chunks).toHaveLength(1)
    expect(disconnect(client)).toMatchObject({ errors: [{ disconnect_type: "InternalError" }] })
    expect(told).toContainEqual({
      name: "failed",
      event: {
        where: "stream connection",
        error: new Error("retention took the matches from 1 to 100 before they were read"),
      },
    })
  })

  test("whose end retention has taken ends with a message too", async () => {
    await append(range(1, 300), "a cat", clock.nowMs() - 23 * hourMs)
    recover(clock.nowMs() - 24 * hourMs)
    const { promise, resolve } = Promise.withResolvers<void>()
    mayRun = promise
    const connecting = connectClient()
    await vi.waitFor(() => expect(streams.count).toBe(1))
    await store.trimMatches(app, { beforeMs: clock.nowMs() - hourMs, limit: 500 })
    resolve()
    const client = await connecting
    await isOver(client)
    expect(disconnect(client)).toMatchObject({ errors: [{ disconnect_type: "InternalError" }] })
  })
})

test("a damaged post is told of and left out; those around it arrive", async () => {
  const read = new Proxy(store, {
    get(target, name) {
      if (name !== "matches") {
        const value: unknown = Reflect.get(target, name)
        return typeof value === "function" ? value.bind(target) : value
      }
      return async (span: Parameters<Store["matches"]>[0]) =>
        (await target.matches(span)).map((entry) => {
          if (entry.postId !== "2") return entry
          const { postJson: _, ...damaged } = entry
          return damaged
        })
    },
  })
  streams = streamsOver(read, 1)
  const client = await connectClient()
  await append([1, 2, 3])
  await append([4])
  await vi.waitFor(() => expect(client.chunks).toHaveLength(3))
  expect(idsOf(client.chunks)).toEqual([1, 3, 4])
  expect(told).toContainEqual({
    name: "failed",
    event: { where: "stream connection", error: new Error("post 2 is damaged") },
  })
  client.leave()
  await vi.waitFor(() => expect(closings()).toEqual([{ appId: app, reason: "client", delivered: 3 }]))
})

describe("who may connect", () => {
  const refusal = (options = nextOptions): Promise<unknown> =>
    streams.open(credentials, options).catch((error: unknown) => error)

  test("not an app without rules: 409 in X's words", async () => {
    await store.deleteRules(app, { kind: "all" }, { dryRun: false })
    expect((await refusal()) as Problem).toMatchObject({
      status: 409,
      title: "ConnectionException",
      detail:
        "You must define rules using the POST /2/tweets/search/stream/rules endpoint before connecting to filtered stream.",
      type: "https://api.x.com/2/problems/streaming-connection",
      extras: { connection_issue: "RuleConfigurationIssue" },
    })
    expect(streams.count).toBe(0)
  })

  test("not more than the configured number: 429 in X's words", async () => {
    await connectClient()
    await connectClient()
    expect(await refusal()).toMatchObject({
      status: 429,
      title: "ConnectionException",
      detail: "This stream is currently at the maximum allowed connection limit.",
      type: "https://api.x.com/2/problems/streaming-connection",
      extras: { connection_issue: "TooManyConnections" },
    })
    expect(streams.count).toBe(2)
  })

  test("of many that open at the same moment, the configured number", async () => {
    const outcomes = await Promise.allSettled(range(1, 50).map(() => streams.open(credentials, nextOptions)))
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(2)
    expect(streams.count).toBe(2)
  })

  test("the limit is each app's own", async () => {
    const other = "6" as AppId
    await store.createApp(anApp(other), [])
    await store.addRules(other, [{ ...rule, id: "71" as RuleId, appId: other }], {
      rulesMax: 10,
      dryRun: false,
    })
    await connectClient()
    await connectClient()
    await expect(streams.open(anApp(other), nextOptions)).resolves.toBeDefined()
  })

  test("a client that leaves makes room", async () => {
    const first = await connectClient()
    await connectClient()
    first.leave()
    await vi.waitFor(() => expect(streams.count).toBe(1))
    await connectClient()
    expect(closings()).toEqual([{ appId: app, reason: "client", delivered: 0 }])
  })

  test("a client that has left before its connection runs makes room too", async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    mayRun = promise
    const socket = connect({ port: port(), host: "127.0.0.1" })
    socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n")
    await vi.waitFor(() => expect(streams.count).toBe(1))
    socket.destroy()
    await vi.waitFor(() => expect(responses[0]?.destroyed).toBe(true))
    resolve()
    await vi.waitFor(() => expect(streams.count).toBe(0))
    expect(closings()).toEqual([{ appId: app, reason: "client", delivered: 0 }])
  })

  test("a place is given back when the store fails before the connection opens", async () => {
    vi.spyOn(store, "head").mockRejectedValue(new Error("disk"))
    streams = streamsOver(store, 1)
    await expect(streams.open(credentials, nextOptions)).rejects.toThrow("disk")
    expect(streams.count).toBe(0)
  })

  test("rules that are deleted leave the connection open", async () => {
    const client = await connectClient()
    await store.deleteRules(app, { kind: "all" }, { dryRun: false })
    await clock.advance(keepAliveMs)
    await vi.waitFor(() => expect(client.chunks).toEqual(["\r\n"]))
    expect(client.isEnded).toBe(false)
    expect(streams.count).toBe(1)
  })
})

const disconnect = (client: Client): unknown => JSON.parse(client.chunks.at(-1) ?? "")

describe("how it ends", () => {
  test("a server that closes says so and ends the answer", async () => {
    const client = await connectClient()
    await append([1])
    await vi.waitFor(() => expect(client.chunks).toHaveLength(1))
    await streams.close()
    await vi.waitFor(() => expect(client.isEnded).toBe(true))
    expect(client.chunks.at(-1)).toMatch(/\r\n$/)
    expect(disconnect(client)).toEqual({
      errors: [
        {
          title: "operational-disconnect",
          disconnect_type: "OperationalDisconnect",
          detail: "This stream has been disconnected for operational reasons. Connect again in a moment.",
          type: "https://api.x.com/2/problems/operational-disconnect",
          status: 503,
        },
      ],
    })
    expect(closings()).toEqual([{ appId: app, reason: "shutdown", delivered: 1 }])
    expect(streams.count).toBe(0)
  })

  test("a connection that opens while the server closes is told the same", async () => {
    await streams.close()
    const client = await connectClient()
    await vi.waitFor(() => expect(client.isEnded).toBe(true))
    expect(disconnect(client)).toMatchObject({ errors: [{ disconnect_type: "OperationalDisconnect" }] })
  })

  test("a store that fails ends it with a message, and the failure is told", async () => {
    vi.spyOn(store, "matches").mockRejectedValue(new Error("disk"))
    streams = streamsOver(store, 1)
    const client = await connectClient()
    await vi.waitFor(() => expect(client.isEnded).toBe(true))
    expect(disconnect(client)).toMatchObject({ errors: [{ disconnect_type: "InternalError" }] })
    expect(told).toContainEqual({
      name: "failed",
      event: { where: "stream connection", error: new Error("disk") },
    })
    expect(streams.count).toBe(0)
  })
})

describe("the credentials that it was opened with", () => {
  const rotated = (generation: number): App => ({ ...anApp(app), generation })
  const isTold = (client: Client): Promise<void> =>
    vi.waitFor(() => {
      expect(client.isEnded).toBe(true)
      expect(disconnect(client)).toMatchObject({ errors: [{ disconnect_type: "OperationalDisconnect" }] })
    })

  /** Changes the store as another process does, of which this one hears nothing. */
  async function elsewhere(change: (other: Store) => Promise<unknown>): Promise<void> {
    await using other = await openEmbeddedStore({ file: join(directory, "sluice.db") })
    await change(other)
  }

  test("a rotation ends the connections of the old ones at once, and leaves those of the new ones", async () => {
    const old = await connectClient()
    await store.rotateApp(rotated(2), [])
    await isTold(old)
    credentials = rotated(2)
    const current = await connectClient()
    await append([1])
    await clock.advance(30_000)
    await vi.waitFor(() => expect(idsOf(current.chunks.slice(0, 1))).toEqual([1]))
    expect(old.chunks).toHaveLength(1)
    expect(current.isEnded).toBe(false)
    expect(streams.count).toBe(1)
  })

  test("a revocation ends all of the app's, and none of another's", async () => {
    const other = "6" as AppId
    await store.createApp(anApp(other), [])
    await store.addRules(other, [{ ...rule, id: "71" as RuleId, appId: other }], {
      rulesMax: 10,
      dryRun: false,
    })
    const clients = [await connectClient(), await connectClient()]
    credentials = anApp(other)
    const unconcerned = await connectClient()
    await store.revokeApp(app)
    for (const client of clients) await isTold(client)
    await clock.advance(30_000)
    expect(unconcerned.isEnded).toBe(false)
    expect(streams.count).toBe(1)
  })

  test("what another process changes is found within ten seconds", async () => {
    const client = await connectClient()
    await elsewhere((other) => other.rotateApp(rotated(2), []))
    await clock.advance(9_999)
    expect(client.isEnded).toBe(false)
    await clock.advance(1)
    await isTold(client)
    expect(closings()).toEqual([{ appId: app, reason: "credentials", delivered: 0 }])
  })

  test("the place is free at once, though another process made the change and the client takes nothing in", async () => {
    streams = streamsOver(store, 1)
    const client = await connectClient()
    client.response.pause()
    await elsewhere((other) => other.rotateApp(rotated(2), []))
    await expect(streams.open(rotated(2), nextOptions)).resolves.toBeDefined()
    expect(streams.count).toBe(1)
    client.response.resume()
    await isTold(client)
    expect(streams.count, "the old one gives back nothing more").toBe(1)
  })

  test("a connection with credentials that went while it opened ends at once", async () => {
    await store.rotateApp(rotated(2), [])
    await isTold(await connectClient())
    expect(streams.count).toBe(0)
  })

  test("a store that fails is asked again, and the failure is told", async () => {
    const client = await connectClient()
    const ask = vi.spyOn(store, "app").mockRejectedValueOnce(new Error("disk"))
    await store.rotateApp(rotated(2), [])
    await vi.waitFor(() => expect(told.map(({ name }) => name)).toContain("failed"))
    expect(client.isEnded).toBe(false)
    await clock.advance(10_000)
    await isTold(client)
    expect(ask).toHaveBeenCalledTimes(2)
  })

  test("a look asks once for each app, however many connections it has", async () => {
    streams = streamsOver(store, 50)
    for (let count = 0; count < 50; count += 1) await connectClient()
    const ask = vi.spyOn(store, "app")
    await clock.advance(10_000)
    expect(ask).toHaveBeenCalledTimes(1)
  })
})

describe("a client that reads slowly", () => {
  const sockets: Socket[] = []

  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy()
  })

  /** A client that sends its request and does not read. */
  async function connectSilently(): Promise<Socket> {
    const socket = connect({ port: port(), host: "127.0.0.1" }).pause()
    sockets.push(socket)
    socket.on("error", () => undefined)
    socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n")
    const count = sockets.length
    await vi.waitFor(() => expect(told.filter(({ name }) => name === "streamOpened")).toHaveLength(count))
    return socket
  }

  const kilobytes10 = "x".repeat(10_240)

  /** Twenty megabytes of matches. */
  async function appendMuch(): Promise<void> {
    for (let batch = 0; batch < 20; batch += 1)
      await append(range(1 + batch * 100, 100 + batch * 100), kilobytes10)
  }

  const areFull = (): void => {
    for (const response of responses) expect(response.socket?.writableNeedDrain).toBe(true)
  }

  test("that never reads holds no more memory than its socket, however much is appended", async () => {
    streams = streamsOver(store, 10)
    for (let count = 0; count < 10; count += 1) await connectSilently()
    const before = process.memoryUsage()
    await appendMuch()
    await vi.waitFor(areFull)
    const after = process.memoryUsage()
    const buffered = responses.map((response) => response.socket?.writableLength ?? 0)
    expect(Math.max(...buffered)).toBeLessThan(128 * 1024)
    // Queued, it would be 200 MB.
    expect(after.heapUsed + after.external - before.heapUsed - before.external).toBeLessThan(
      100 * 1024 * 1024,
    )

    // And it stays so: nothing is read on, no sign of life is put behind what is unread.
    await clock.advance(stalledMsMax - 1_000)
    await append(range(5_001, 5_100), kilobytes10)
    expect(responses.map((response) => response.socket?.writableLength ?? 0)).toEqual(buffered)
    expect(streams.count).toBe(10)
  })

  test("is cut when it has left what was sent unread for too long", async () => {
    const socket = await connectSilently()
    await appendMuch()
    await vi.waitFor(areFull)
    await clock.advance(stalledMsMax - 1)
    expect(streams.count).toBe(1)
    await clock.advance(1)
    expect(streams.count, "it may still take in why").toBe(1)
    await clock.advance(1_000)
    await vi.waitFor(() => expect(streams.count).toBe(0))
    expect(responses[0]?.destroyed).toBe(true)
    expect(closings()).toEqual([
      { appId: app, reason: "slow-reader", delivered: expect.any(Number) as number },
    ])
    const closed = new Promise((resolve) => socket.once("close", resolve))
    socket.resume()
    await closed
  })

  test("is told why it is cut when it reads in time", async () => {
    const socket = await connectSilently()
    let text = ""
    socket.on("data", (chunk) => (text = (text + chunk.toString("latin1")).slice(-2_000)))
    socket.pause()
    await appendMuch()
    await vi.waitFor(areFull)
    await clock.advance(stalledMsMax)
    socket.resume()
    await vi.waitFor(() => expect(streams.count).toBe(0))
    await vi.waitFor(() => expect(text).toContain('"disconnect_type":"SlowReader"'))
  })

  test("gets everything, once and in order, when it reads on before that", async () => {
    const client = await connectClient()
    client.response.pause()
    await appendMuch()
    await vi.waitFor(areFull)
    await clock.advance(stalledMsMax - 1)
    client.response.resume()
    await vi.waitFor(() => expect(client.chunks.join("").match(/\r\n/g)).toHaveLength(2_000), 10_000)
    expect(idsOf(client.chunks.join("").trim().split("\r\n"))).toEqual(range(1, 2_000))
    expect(client.isEnded).toBe(false)
  })
})
