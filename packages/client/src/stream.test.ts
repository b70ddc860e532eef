import type { IncomingMessage, ServerResponse } from "node:http"
import { expect, test } from "vitest"
import { createClient } from "./client.ts"
import type { ApiError } from "./errors.ts"
import type { StreamOptions } from "./stream.ts"
import { listening } from "../../../test/support/listening.testing.ts"

type Connection = (response: ServerResponse, request: IncomingMessage) => void

/** Reads `count` lines of a stream whose connections behave as given, one after the other. */
async function read(connections: readonly Connection[], count: number, options: StreamOptions = {}) {
  let connected = 0
  await using server = await listening((request, response) => {
    connections[Math.min(connected++, connections.length - 1)]?.(response, request)
  })
  const lines: string[] = []
  const disconnects: (string | undefined)[] = []
  const stop = new AbortController()
  const stream = createClient({ url: server.url, token: "t" }).stream({
    signal: stop.signal,
    onDisconnect: ({ error, delayMs }) =>
      disconnects.push(`${(error as ApiError | undefined)?.kind ?? "end"} ${String(delayMs)}`),
    ...options,
  })
  for await (const { text } of stream) if (lines.push(text) === count) stop.abort()
  return { lines, disconnects }
}

const sends =
  (...chunks: readonly string[]): Connection =>
  (response) =>
    void response.end(chunks.join(""))
const breaks: Connection = (response) => void response.destroy()
const cut: Connection = (response) => {
  response.write("\r\n")
  setTimeout(() => response.destroy(), 20)
}

test("lines come whole whatever the chunks, without the keep-alives", async () => {
  const inPieces: Connection = (response) => {
    response.write('{"data":{"id":"1",')
    setTimeout(() => response.end('"text":"é"}}\r\n\r\n{"data":{"id":"2"}}\r\n{"data":'), 20)
  }
  const { lines } = await read([inPieces], 2, { reconnect: false })
  expect(lines).toEqual(['{"data":{"id":"1","text":"é"}}', '{"data":{"id":"2"}}'])
})

test("a line is parsed, and one that is no JSON object is left as text", async () => {
  await using server = await listening((_, response) => response.end('{"data":{"id":"1"}}\r\nnull\r\n'))
  const stream = createClient({ url: server.url, token: "t" }).stream({ reconnect: false })
  const [post, other] = await Array.fromAsync(stream)
  expect(post?.body).toEqual({ data: { id: "1" } })
  expect(other).toEqual({ text: "null", body: undefined })
})

test("a connection that ends or is cut is opened again, later after each failure in a row", async () => {
  const { lines, disconnects } = await read([sends("1\r\n"), breaks, cut, sends("2\r\n")], 2)
  expect(lines).toEqual(["1", "2"])
  // What is cut has sent a keep-alive before, and ends the row.
  expect(disconnects).toEqual(["end 250", "connection 500", "connection 250"])
})

test("a connection that falls silent is given up and opened again", async () => {
  const silent: Connection = (response) => void response.write("\r\n")
  const { lines, disconnects } = await read([silent, sends("1\r\n")], 1, { silenceMsMax: 1_000 })
  expect(lines).toEqual(["1"])
  expect(disconnects).toEqual(["connection 250"])
})

test("a reader that takes its time is not taken for a silent server", async () => {
  let chunks = 0
  await using server = await listening((_, response) => {
    const timer = setInterval(() => {
      response.write(`${String(++chunks)}\r\n`)
      if (chunks < 20) return
      clearInterval(timer)
      response.end()
    }, 10)
  })
  const lines: string[] = []
  const client = createClient({ url: server.url, token: "t" })
  for await (const { text } of client.stream({ reconnect: false, silenceMsMax: 2_000 })) {
    if (text === "1") await new Promise((resolve) => setTimeout(resolve, 3_000))
    lines.push(text)
  }
  expect(lines).toHaveLength(20)
})

test("a refusal is thrown, and so is a first connection that fails", async () => {
  const refused: Connection = (response) => void response.writeHead(401).end('{"title":"Unauthorized"}')
  await expect(read([refused], 1)).rejects.toMatchObject({ kind: "problem", status: 401 })
  await expect(read([breaks], 1)).rejects.toMatchObject({ kind: "connection" })
})

test("a reader that leaves closes the connection", async () => {
  const closed = Promise.withResolvers<void>()
  await using server = await listening((request, response) => {
    response.write("1\r\n")
    request.on("close", closed.resolve)
  })
  for await (const { text } of createClient({ url: server.url, token: "t" }).stream()) {
    expect(text).toBe("1")
    break
  }
  await closed.promise
})

test("a line without an end is refused before it fills the memory", async () => {
  const endless: Connection = (response) => {
    const chunk = Buffer.alloc(1 << 20, "x")
    const send = (): void => {
      while (!response.destroyed && response.write(chunk));
    }
    response.on("drain", send)
    send()
  }
  await expect(read([endless], 1, { reconnect: false })).rejects.toThrow("a line does not end")
})
