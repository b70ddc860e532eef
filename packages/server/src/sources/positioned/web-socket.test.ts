import { once } from "node:events"
import { createServer, type IncomingMessage, type Server } from "node:http"
import { createServer as createTlsServer } from "node:https"
import type { AddressInfo } from "node:net"
import tls from "node:tls"
import { setTimeout as sleep } from "node:timers/promises"
import { afterEach, expect, test } from "vitest"
import { WebSocketServer, type ServerOptions, type WebSocket } from "ws"
import { systemClock } from "../../runtime/clock.ts"
import { parseAllowedDestinations } from "../../runtime/outbound/allowed-destinations.ts"
import { testCertificates } from "../../runtime/outbound/certificates.testing.ts"
import { AdvisedError } from "./positioned-source.ts"
import { SourceRefused } from "./refusals.ts"
import { openWebSocket, WebSocketClosed, type ReadableWebSocket, type WebSocketOptions } from "./web-socket.ts"

const closers: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

async function listening(server: Server): Promise<number> {
  await once(server.listen(0, "127.0.0.1"), "listening")
  closers.push(() => server.close())
  return (server.address() as AddressInfo).port
}

/** A real server; `serve` is called with each of its connections. */
async function webSocketServer(
  serve: (socket: WebSocket, request: IncomingMessage) => unknown,
  options: ServerOptions = {},
): Promise<string> {
  const http = createServer()
  const server = new WebSocketServer({ server: http, ...options })
  const port = await listening(http)
  server.on("connection", serve)
  closers.push(() => {
    for (const client of server.clients) client.terminate()
  })
  return `ws://127.0.0.1:${port}/stream`
}

function open(url: string, options: Partial<WebSocketOptions> = {}, signal = new AbortController().signal) {
  return openWebSocket(
    { url, posture: { allowPrivate: true }, clock: systemClock, silenceMsMax: 30_000, ...options },
    signal,
  )
}

/** The messages until the end, and why it came. */
async function readAll(socket: ReadableWebSocket): Promise<{ readonly texts: string[]; readonly end: unknown }> {
  const texts: string[] = []
  try {
    for await (const { bytes } of socket) texts.push(bytes.toString())
    return { texts, end: undefined }
  } catch (end) {
    return { texts, end }
  }
}

test("messages come in order, text and binary, and the code of the end after the last one", async () => {
  const url = await webSocketServer((socket) => {
    socket.send("one")
    socket.send(Buffer.from([1, 2]))
    socket.send("")
    socket.close(1013, "full")
  })
  await using socket = await open(url)
  const kinds: boolean[] = []
  const read = async (): Promise<void> => {
    for await (const { isBinary } of socket) kinds.push(isBinary)
  }
  await expect(read()).rejects.toThrow(
    `${new URL(url).host} has ended the WebSocket with the code 1013, since the service is overloaded. It says: "full".`,
  )
  expect(kinds).toEqual([false, true, false])
})

test("headers and the first message arrive, and a text that is not UTF-8 is a message as others are", async () => {
  const heard: unknown[] = []
  const url = await webSocketServer((socket, { headers }) => {
    heard.push(headers["authorization"])
    socket.on("message", (data) => {
      heard.push((data as Buffer).toString())
      socket.send(Buffer.from([0xff, 0xfe]), { binary: false })
      socket.send("after it", () => socket.close(1000))
    })
  })
  await using socket = await open(url, { headers: { authorization: "Bearer secret" } })
  socket.send("subscribe")
  const { texts, end } = await readAll(socket)
  expect(texts.at(-1)).toBe("after it")
  expect(texts).toHaveLength(2)
  expect(heard).toEqual(["Bearer secret", "subscribe"])
  expect(end).toMatchObject({ code: 1000 })
})

test("while a message is not done with, the server's messages wait at the server", async () => {
  const messages = 2_000
  const content = "x".repeat(20_000)
  let ofServer: WebSocket | undefined
  const url = await webSocketServer((socket) => {
    ofServer = socket
    for (let at = 0; at < messages; at += 1) socket.send(`${at} ${content}`)
  })
  await using socket = await open(url)
  const iterator = socket[Symbol.asyncIterator]()
  const first = await iterator.next()
  const bufferedOnce = async (): Promise<number> => {
    await sleep(100)
    return ofServer?.bufferedAmount ?? 0
  }
  let before = -1
  let now = await bufferedOnce()
  while (now !== before) [before, now] = [now, await bufferedOnce()]
  // The kernel's buffers and the messages that wait here are far less than all of it.
  expect(now).toBeGreaterThan((messages * content.length) / 2)
  const numbers = [Number(String(first.value?.bytes).split(" ")[0])]
  while (numbers.length < messages) {
    const { value } = await iterator.next()
    numbers.push(Number(String(value?.bytes).split(" ")[0]))
  }
  expect(numbers).toEqual(Array.from({ length: messages }, (_, at) => at))
})

test("a server that falls silent is left, one that answers pings is not", async () => {
  const silent = await webSocketServer((socket) => socket.send("hello"), { autoPong: false })
  await using lost = await open(silent, { silenceMsMax: 300, pingMs: 50 })
  const { texts, end } = await readAll(lost)
  expect(texts).toEqual(["hello"])
  expect(String(end)).toBe(`Error: ${lost.host} has sent nothing for 0.3 s.`)
  const answering = await webSocketServer((socket) => {
    let pings = 0
    socket.on("ping", () => {
      pings += 1
      if (pings === 20) socket.close(1000)
    })
  })
  await using kept = await open(answering, { silenceMsMax: 300, pingMs: 50 })
  expect(await readAll(kept)).toMatchObject({ end: { code: 1000 } })
})

test("a stream that must never be without a message is left when it is, and while it is paused no time counts", async () => {
  const url = await webSocketServer((socket) => {
    for (let at = 0; at < 200; at += 1) socket.send("x".repeat(4_000))
  })
  await using socket = await open(url, { messageSilenceMsMax: 300, pingMs: 50 })
  let read = 0
  const readSlowly = async (): Promise<void> => {
    for await (const _ of socket) {
      read += 1
      if (read === 1) await sleep(700)
    }
  }
  await expect(readSlowly()).rejects.toThrow("has sent no message for 0.3 s.")
  expect(read).toBe(200)
})

test("a server that must not wait long is left when messages are not taken, and what has come is still read", async () => {
  const url = await webSocketServer((socket) => {
    for (let at = 0; at < 5_000; at += 1) socket.send("x".repeat(4_000))
  })
  await using socket = await open(url, { pausedMsMax: 100 })
  let read = 0
  const readSlowly = async (): Promise<void> => {
    for await (const _ of socket) {
      read += 1
      if (read === 1) await sleep(500)
    }
  }
  await expect(readSlowly()).rejects.toThrow("Posts could not be taken for 0.1 s")
  expect(read).toBeGreaterThan(50)
})

test("a connection that is cut ends with 1006, also when it was paused", async () => {
  const sockets: WebSocket[] = []
  const url = await webSocketServer((socket) => {
    sockets.push(socket)
    for (let at = 0; at < 100; at += 1) socket.send("x".repeat(4_000))
  })
  await using socket = await open(url)
  let read = 0
  const cut = async (): Promise<void> => {
    for await (const _ of socket) {
      read += 1
      if (read === 1) {
        await sleep(100)
        sockets[0]?.terminate()
        await sleep(100)
      }
    }
  }
  await expect(cut()).rejects.toMatchObject({ code: 1006 })
  expect(read).toBe(100)
})

test("a message that is too large ends the connection, with advice", async () => {
  const url = await webSocketServer((socket) => socket.send("x".repeat(2_000)))
  await using socket = await open(url, { messageBytesMax: 1_000 })
  const { end } = await readAll(socket)
  expect(end).toBeInstanceOf(AdvisedError)
  expect(String(end)).toContain("has sent a message of more than 1000 bytes.")
})

test("the abort ends the iteration without an error, and an end of the use closes with 1000", async () => {
  const codes: number[] = []
  const url = await webSocketServer((socket) => {
    socket.send("one")
    socket.on("close", (code) => codes.push(code))
  })
  {
    await using socket = await open(url)
    for await (const _ of socket) break
  }
  await expect.poll(() => codes).toEqual([1000])
  const controller = new AbortController()
  await using socket = await open(url, {}, controller.signal)
  setTimeout(() => controller.abort(), 50)
  expect(await readAll(socket)).toEqual({ texts: ["one"], end: undefined })
  const already = AbortSignal.abort()
  await expect(open(url, {}, already)).rejects.toBeDefined()
})

test("another answer than a WebSocket is a refusal with its status, the wait it asks for and its body", async () => {
  const answers: Record<string, [number, Record<string, string>, string]> = {
    "/401": [401, {}, "no"],
    "/429": [429, { "retry-after": "7" }, ""],
    "/302": [302, { location: "http://127.0.0.1:1/" }, ""],
    "/400": [400, {}, `{"error":"CursorTooOld"}${" ".repeat(10_000)}`],
  }
  const port = await listening(
    createServer((request, response) => {
      const [status, headers, body] = answers[request.url?.split("?")[0] ?? ""] ?? [404, {}, ""]
      response.writeHead(status, headers).end(body)
    }),
  )
  const refusal = async (path: string): Promise<SourceRefused> => {
    const error: unknown = await open(`ws://127.0.0.1:${port}${path}?token=secret`).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(SourceRefused)
    // A log shows the properties of an error.
    expect(Object.keys(error as SourceRefused)).not.toContain("body")
    expect(String(error)).not.toContain("secret")
    return error as SourceRefused
  }
  expect(await refusal("/401")).toMatchObject({ status: 401, waitMs: 0, advice: expect.stringContaining("token") })
  expect(await refusal("/429")).toMatchObject({ status: 429, waitMs: 7_000 })
  expect(await refusal("/302")).toMatchObject({ status: 302, advice: expect.stringContaining("Redirects") })
  const { body } = await refusal("/400")
  expect(body).toMatch(/^\{"error":"CursorTooOld"\}/)
  expect(body).toHaveLength(4_096)
})

test("only public addresses are connected to, whatever a name resolves to, unless they are allowed", async () => {
  const url = await webSocketServer((socket) => socket.close(1000))
  const { port } = new URL(url)
  const posture = { allowPrivate: false }
  const resolve = () => Promise.resolve([{ address: "127.0.0.1", family: 4 }])
  await expect(open(url, { posture })).rejects.toThrow(
    "The address of the source begins with ws:; only wss is accepted.",
  )
  await expect(open("wss://127.0.0.1/", { posture })).rejects.toThrow("which is a loopback address")
  await expect(open("wss://[::1]/", { posture })).rejects.toThrow("which is a loopback address")
  await expect(open("wss://feed.example.com/", { posture, resolve })).rejects.toThrow("has no public address")
  const allowed = parseAllowedDestinations(`127.0.0.1:${port}, feed.lan:${port}`)
  await using byAddress = await open(url, { posture: { allowPrivate: false, allowed } })
  expect(await readAll(byAddress)).toMatchObject({ end: { code: 1000 } })
  await using byName = await open(`ws://feed.lan:${port}/`, { posture: { allowPrivate: false, allowed }, resolve })
  expect(await readAll(byName)).toMatchObject({ end: { code: 1000 } })
})

test("the certificate must be of the host's name", async () => {
  const https = createTlsServer({ ...testCertificates.good })
  const server = new WebSocketServer({ server: https })
  server.on("connection", (socket) => socket.close(1000))
  const port = await listening(https)
  const posture = { allowPrivate: true }
  const resolve = () => Promise.resolve([{ address: "127.0.0.1", family: 4 }])
  const openAt = (host: string) => open(`wss://${host}:${port}/`, { posture, resolve })
  await expect(openAt("hook.example.com")).rejects.toThrow(/unable to verify the first certificate/)
  const before = tls.getCACertificates("default")
  tls.setDefaultCACertificates([...before, testCertificates.authority])
  closers.push(() => tls.setDefaultCACertificates(before))
  await using good = await openAt("hook.example.com")
  expect(await readAll(good)).toMatchObject({ end: { code: 1000 } })
  await expect(openAt("other.example.com")).rejects.toThrow(/altnames/)
})

test("nothing that listens is an ordinary failure", async () => {
  await expect(open("ws://127.0.0.1:1/")).rejects.toThrow(/ECONNREFUSED/)
  expect(new WebSocketClosed("a", 4_242, "").message).toContain("the code 4242, which is the server's own.")
})
