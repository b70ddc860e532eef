import { once } from "node:events"
import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import { afterEach, expect, test } from "vitest"
import { WebSocketServer, type WebSocket } from "ws"
import { systemClock } from "../../runtime/clock.ts"
import { SettingsReader, type SourceMembers } from "../settings.ts"
import { driven, type DrivenReader, type TakenLine } from "./reading.testing.ts"
import { createWebSocketReader, readWebSocketSettings } from "./websocket-source.ts"

const closers: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

async function feedOf(serve: (socket: WebSocket, request: IncomingMessage) => unknown): Promise<number> {
  const http = createServer()
  const server = new WebSocketServer({ server: http })
  server.on("connection", serve)
  await once(http.listen(0, "127.0.0.1"), "listening")
  closers.push(() => {
    for (const client of server.clients) client.terminate()
    http.close()
  })
  return (http.address() as AddressInfo).port
}

async function reading(
  members: SourceMembers,
  driving: { readonly position?: string; readonly taken?: (line: TakenLine) => Promise<unknown> } = {},
): Promise<DrivenReader> {
  const settings = readWebSocketSettings(
    new SettingsReader({ name: "feed", type: "websocket", ...members }, { T: "t" }),
  )
  const deps = { clock: systemClock, posture: { allowPrivate: true }, postBytesMax: 262_144 }
  const run = driven(createWebSocketReader(settings, deps), driving)
  closers.push(() => run[Symbol.asyncDispose]())
  return run
}

const mapping = '{ "uri": "feed:" & id, "text": words, "cursor": id }'
const itemOf = (id: number): string => JSON.stringify({ id, words: `heron ${id}` })
const upTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1)

test("a connection that is cut again and again gets further each time, behind the last item", async () => {
  const port = await feedOf((socket, { url }) => {
    const since = Number(new URL(`ws://a${url}`).searchParams.get("since") ?? 0)
    for (let id = since + 1; id <= since + 300; id += 1) socket.send(itemOf(id))
    // 1006: without a close frame.
    setTimeout(() => socket.terminate(), 100)
  })
  const run = await reading({ url: `ws://127.0.0.1:${port}/live?since={cursor}`, mapping, tokenVariable: "T" })
  await expect.poll(() => run.lines.length, { timeout: 20_000 }).toBeGreaterThan(1_500)
  expect(run.lines.map(({ cursor }) => cursor)).toEqual(upTo(run.lines.length))
  expect(run.begun[0]).toBeUndefined()
  expect(run.failures[0]).toContain(
    "has ended the WebSocket with the code 1006, which means that the connection was cut.",
  )
})

test("the first message holds the position, and headers their secrets", async () => {
  const heard: unknown[] = []
  const port = await feedOf((socket, { headers }) => {
    socket.on("message", (data) => {
      heard.push([headers.authorization, JSON.parse((data as Buffer).toString())])
      socket.send(itemOf(8))
      if (heard.length === 1) socket.close(4_001, "again")
    })
  })
  const firstMessage = '{"type": "subscribe", "since": "{cursor}"}'
  const url = `ws://127.0.0.1:${port}/`
  const run = await reading({ url, mapping, firstMessage, tokenVariable: "T" }, { position: 'a"b' })
  await expect.poll(() => heard.length).toBe(2)
  expect(heard).toEqual([
    ["Bearer t", { type: "subscribe", since: 'a"b' }],
    ["Bearer t", { type: "subscribe", since: "8" }],
  ])
  expect(run.failures[0]).toContain('the code 4001, which is the server\'s own. It says: "again".')
  expect(run.connected[0]).toBe(`127.0.0.1:${port}`)
})

test("the time between connections is a gap where nothing asks for what came meanwhile", async () => {
  let connections = 0
  const port = await feedOf((socket) => {
    connections += 1
    socket.send(itemOf(connections))
    if (connections < 3) setTimeout(() => socket.terminate(), 50)
  })
  const beganMs = Date.now()
  const live = await reading({ url: `ws://127.0.0.1:${port}/`, mapping })
  await expect.poll(() => live.lines.length).toBe(3)
  expect(live.gaps).toHaveLength(2)
  const [{ fromMs = 0, toMs = 0, reason } = { reason: "" }] = live.gaps
  expect(fromMs).toBeGreaterThanOrEqual(beganMs)
  expect(toMs).toBeGreaterThanOrEqual(fromMs)
  expect(reason).toContain("replays nothing")
  connections = 0
  const replayed = await reading({ url: `ws://127.0.0.1:${port}/?since={cursor}`, mapping })
  await expect.poll(() => replayed.lines.length).toBe(3)
  expect(replayed.gaps).toEqual([])
})

test("messages that are no items are dead letters, and the others are read", async () => {
  const bad: readonly (readonly [message: string | Buffer, title: string])[] = [
    ["", "Invalid JSON"],
    ["not json", "Invalid JSON"],
    [Buffer.from([0xff, 0x41]), "Invalid Text"],
    [`{"words":"${"long ".repeat(300_000)}"}`, "Line Too Long"],
    ['{"words":1,"id":{}}', "Mapping Failed"],
  ]
  const port = await feedOf((socket) => {
    for (const [at, [message]] of bad.entries()) {
      socket.send(message, { binary: at % 2 === 0 })
      socket.send(itemOf(at))
    }
  })
  const run = await reading({
    url: `ws://127.0.0.1:${port}/`,
    mapping: '{ "uri": $substringBefore(words, " ") & id, "text": words, "cursor": id }',
  })
  await expect.poll(() => run.lines.length).toBe(2 * bad.length)
  const failed = run.lines.filter(({ error }) => error !== undefined)
  expect(failed.map(({ error }) => error?.title)).toEqual(bad.map(([, title]) => title))
  expect(run.failures).toEqual([])
})

test("without a mapping messages are envelopes", async () => {
  const port = await feedOf((socket) => {
    socket.send('{"data":{"id":"1","text":"a heron"}}')
    socket.send('{"error":{"title":"made up"}}')
  })
  const run = await reading({ url: `ws://127.0.0.1:${port}/` })
  await expect.poll(() => run.lines.length).toBe(2)
  expect(run.lines).toEqual([{ data: { id: "1", text: "a heron" } }, { envelope: '{"error":{"title":"made up"}}' }])
})

test("settings that have no use are refused", () => {
  const read = (members: SourceMembers) => () =>
    readWebSocketSettings(new SettingsReader({ name: "feed", type: "websocket", ...members }, {}))
  expect(read({ url: "https://feed.example.com/" })).toThrow(
    "begins with https://, and must begin with wss:// or ws://",
  )
  expect(read({ url: "wss://feed.example.com/", firstMessage: "" })).toThrow("has firstMessage")
  expect(read({ url: "wss://feed.example.com/", pollSeconds: 1 })).toThrow('has an unknown member "pollSeconds"')
  expect(read({ url: "wss://feed.example.com/?token=a" })).toThrow("it may be a secret")
})
