import type { IncomingMessage, ServerResponse } from "node:http"
import { expect, test } from "vitest"
import { createClient } from "./client.ts"
import { refusal } from "./errors.ts"
import { streamLines, type Connect, type StreamOptions } from "./stream.ts"
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
    onDisconnect: ({ error, delayMs }) => disconnects.push(`${error?.kind ?? "end"} ${String(delayMs)}`),
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
  expect(other).toMatchObject({ text: "null", body: undefined })
})

test("a connection that ends or is cut is opened again, later after each failure in a row", async () => {
  const { lines, disconnects } = await read([sends("1\r\n"), breaks, cut, sends("2\r\n")], 2)
  expect(lines).toEqual(["1", "2"])
  // The cut connection has sent a keep-alive before, which ends the row of failures.
  expect(disconnects).toEqual(["end 250", "connection 500", "connection 250"])
})

test("connections that the server ends with a message, each after some posts, are opened later and later", async () => {
  const replaced = '{"errors":[{"title":"operational-disconnect"}]}\r\n'
  const posts = (id: string): Connection => sends(`{"data":{"id":"${id}","text":"a"}}\r\n${replaced}`)
  const { disconnects } = await read([posts("1"), posts("2"), posts("3"), posts("4"), sends("5\r\n")], 9)
  expect(disconnects).toEqual(["end 250", "end 500", "end 750", "end 1000"])
})

test("a silent connection is closed and opened again", async () => {
  const silent: Connection = (response) => void response.write("\r\n")
  const { lines, disconnects } = await read([silent, sends("1\r\n")], 1, { silenceMsMax: 1_000 })
  expect(lines).toEqual(["1"])
  expect(disconnects).toEqual(["connection 250"])
})

test("a slow reader is not mistaken for a silent server", async () => {
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

test("characters are whole wherever the chunks are cut", async () => {
  const text = "é – 猫 🐈‍⬛"
  const inBytes: Connection = (response) => {
    const bytes = Buffer.from(`${JSON.stringify({ data: { text } })}\r\n`)
    let at = 0
    const next = (): void => {
      if (at === bytes.length) return void response.end()
      response.write(bytes.subarray(at, ++at), () => setImmediate(next))
    }
    next()
  }
  const { lines } = await read([inBytes], 1, { reconnect: false })
  expect(JSON.parse(lines[0] ?? "")).toEqual({ data: { text } })
})

/** A line of the stream. */
const post = (id: number): string => `${JSON.stringify({ data: { id: String(id), text: "cat" } })}\r\n`

/** Ids and gaps of a stream whose connections behave as given, one after the other, and the query of each of them. */
async function healed(
  connections: readonly Connection[],
  count: number,
  { minutesApart = 0, ...options }: StreamOptions & { readonly minutesApart?: number } = {},
) {
  const queries: string[] = []
  const gaps: string[] = []
  let now = Date.parse("2026-03-14T09:00:00Z")
  await using server = await listening((request, response) => {
    queries.push(new URL(request.url ?? "/", "http://x").search.slice(1))
    connections[Math.min(queries.length, connections.length) - 1]?.(response, request)
  })
  const connect: Connect = async (query, signal) => {
    const search = new URLSearchParams(query as Record<string, string> | string | undefined)
    const response = await fetch(`${server.url}/?${String(search)}`, { signal })
    if (response.status !== 200) throw refusal(response.status, undefined)
    return response.body ?? expect.unreachable()
  }
  const stop = new AbortController()
  const ids: (string | undefined)[] = []
  const completeUntil: string[] = []
  const reading: StreamOptions = {
    ...options,
    signal: stop.signal,
    onDisconnect(disconnect) {
      now += minutesApart * 60_000
      options.onDisconnect?.(disconnect)
    },
    onGap: ({ from, to }) => gaps.push(`${from.toISOString()}/${to.toISOString()}`),
  }
  for await (const { body, ...line } of streamLines(server.url, connect, reading, () => now)) {
    completeUntil.push(line.completeUntil.toISOString())
    if (ids.push(body?.data?.id) === count) stop.abort()
  }
  return { ids, gaps, completeUntil, queries: queries.map((query) => decodeURIComponent(query)) }
}

test("matches between two connections are requested, and repeats are dropped", async () => {
  const connections = [sends(post(1), post(2)), sends(post(1), post(2), post(3)), sends(post(2), post(3), post(4))]
  const { ids, gaps, queries } = await healed(connections, 4, { minutesApart: 2, query: { "tweet.fields": "lang" } })
  expect(ids).toEqual(["1", "2", "3", "4"])
  // The reader cannot tell how far a backfill had come that broke off.
  expect(queries).toEqual([
    "tweet.fields=lang",
    "tweet.fields=lang&backfill_minutes=3",
    "tweet.fields=lang&backfill_minutes=5",
  ])
  expect(gaps).toEqual([])
})

test("with a keep-alive a backfill is complete, and the next one begins there", async () => {
  const connections = [sends(post(1)), sends(post(2), "\r\n"), sends(post(3))]
  const { queries } = await healed(connections, 3, { minutesApart: 2 })
  expect(queries).toEqual(["", "backfill_minutes=3", "backfill_minutes=3"])
})

test("a gap that is longer than a backfill reaches is recovered first, again when that breaks off", async () => {
  const cutAfter =
    (...lines: string[]): Connection =>
    (response) => {
      response.write(lines.join(""))
      setTimeout(() => response.destroy(), 20)
    }
  const connections = [
    sends(post(1)),
    cutAfter(post(1), post(2)),
    sends(post(1), post(2), post(3)),
    sends(post(3), post(4)),
  ]
  const { ids, queries } = await healed(connections, 4, { minutesApart: 10 })
  expect(ids).toEqual(["1", "2", "3", "4"])
  const recovery = "start_time=2026-03-14T08:59:00.000Z"
  expect(queries).toEqual(["", recovery, recovery, "backfill_minutes=1"])
})

const refuses =
  (status: number): Connection =>
  (response) =>
    void response.writeHead(status).end()

test("a server that refuses a recovery or a backfill is read on without, and the gap is reported", async () => {
  const recovery = await healed([sends(post(1)), refuses(400), sends(post(2))], 2, { minutesApart: 10 })
  expect(recovery.ids).toEqual(["1", "2"])
  // The last minutes are within the reach of a backfill.
  expect(recovery.queries).toEqual(["", "start_time=2026-03-14T08:59:00.000Z", "backfill_minutes=4"])
  expect(recovery.gaps).toEqual(["2026-03-14T09:00:00.000Z/2026-03-14T09:07:00.000Z"])
  const backfill = await healed([sends(post(1)), refuses(403), sends(post(2)), sends(post(3))], 3, { minutesApart: 1 })
  expect(backfill.queries).toEqual(["", "backfill_minutes=2", "", ""])
  expect(backfill.gaps).toEqual(["2026-03-14T09:00:00.000Z/2026-03-14T09:01:00.000Z"])
})

test("with `heal: false` every connection is as the caller requests it, repeats included", async () => {
  const options = { heal: false, query: "backfill_minutes=5" }
  const { ids, queries } = await healed([sends(post(1)), sends(post(1), post(2))], 3, options)
  expect(ids).toEqual(["1", "1", "2"])
  expect(queries).toEqual(["backfill_minutes=5", "backfill_minutes=5"])
})

test("a backfill of the caller's own is for the first connection, as soon as a keep-alive shows its end", async () => {
  const connections = [sends(post(1), "\r\n"), sends(post(1), post(2))]
  const { ids, queries } = await healed(connections, 2, { query: { backfill_minutes: 5 } })
  expect(ids).toEqual(["1", "2"])
  expect(queries).toEqual(["backfill_minutes=5", "backfill_minutes=1"])
})

test("a backfill of the caller's own that breaks off is requested again, from its beginning", async () => {
  const short = await healed([sends(post(1)), sends(post(2))], 2, { query: { backfill_minutes: 2 } })
  expect(short.queries).toEqual(["backfill_minutes=2", "backfill_minutes=3"])
  const long = await healed([sends(post(1)), sends(), sends(post(2))], 2, { query: { backfill_minutes: 5 } })
  expect(long.queries).toEqual(["backfill_minutes=5", "start_time=2026-03-14T08:54:00.000Z", "backfill_minutes=1"])
})

test("a first connection that ends before its first line leaves no hole", async () => {
  const cutBeforeALine: Connection = (response) => {
    response.flushHeaders()
    setTimeout(() => response.destroy(), 20)
  }
  for (const connection of [sends(), cutBeforeALine]) {
    const { ids, queries, gaps } = await healed([connection, sends(post(1))], 1, { minutesApart: 2 })
    expect([ids, queries, gaps]).toEqual([["1"], ["", "backfill_minutes=3"], []])
  }
})

test("each line says until when no match is missing", async () => {
  const message = `${JSON.stringify({ errors: [{ title: "operational-disconnect" }] })}\r\n`
  const connections = [
    sends(post(1)),
    sends(post(2), message),
    sends(post(2), post(3)),
    sends(post(4), "\r\n", post(5)),
  ]
  const { completeUntil } = await healed(connections, 6, { minutesApart: 10 })
  const begin = "2026-03-14T09:00:00.000Z"
  // The recovery that is complete began after the second delay.
  const recovered = "2026-03-14T09:20:00.000Z"
  expect(completeUntil).toEqual([begin, begin, begin, begin, recovered, recovered])
})

test("a recovery that does not come to its end is tried again later each time", async () => {
  const delays: number[] = []
  const connections = [sends(post(1)), cut, cut, cut, sends(post(2))]
  const onDisconnect = ({ delayMs }: { readonly delayMs: number }): void => void delays.push(delayMs)
  await healed(connections, 2, { minutesApart: 10, onDisconnect })
  expect(delays).toEqual([250, 500, 750, 1_000])
})

test("a window of the past ends the iteration with its end", async () => {
  const { ids, queries } = await healed([sends(post(1), post(2))], 9, { query: { start_time: "2026-03-14T08:00:00Z" } })
  expect(ids).toEqual(["1", "2"])
  expect(queries).toHaveLength(1)
})

test("a server that requests a longer wait gets it", async () => {
  const busy: Connection = (response) => void response.writeHead(503, { "retry-after": "60" }).end()
  const delays: number[] = []
  const stop = new AbortController()
  await using server = await listening((_, response) => busy(response, undefined as never))
  const onDisconnect = ({ delayMs }: { readonly delayMs: number }): void => {
    delays.push(delayMs)
    stop.abort()
  }
  const stream = createClient({ url: server.url }).stream({ signal: stop.signal, onDisconnect })
  await stream.next()
  expect(delays).toEqual([60_000])
})
