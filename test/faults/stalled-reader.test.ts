/** A stream reader stalls, is cut and reconnects with backfill: the server sends the missed posts again. */
import { once } from "node:events"
import { connect } from "node:net"
import { join } from "node:path"
import { expect, onTestFinished, test } from "vitest"
import { AppClient, postLine, waitFor } from "./app-client.ts"
import { SluiceProcess } from "../support/sluice-process.testing.ts"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"

/** Twenty megabytes: more than sockets hold. */
const posts = 2_000
const text = `a cat ${"x".repeat(10_000)}`

test("a stalled reader that reconnects with backfill_minutes=5 receives the posts that it missed", async () => {
  await using directory = await temporaryDirectory()
  const data = join(directory.path, "data")
  // Long enough for the next reader, on a machine that has no time for it now and then.
  await using server = new SluiceProcess(data, { env: { SLUICE_STREAM_STALLED_SECONDS_MAX: "5" } })
  const app = new AppClient(await server.mustBeReady())
  await app.addRule("cat")

  const socket = connect(Number(new URL(app.url).port), "127.0.0.1")
  onTestFinished(() => void socket.destroy())
  const closed = once(socket, "close")
  let received = ""
  socket.on("data", (chunk: Buffer) => (received += chunk.toString("latin1")))
  socket.write(`GET /2/tweets/search/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.token}\r\n\r\n`)
  await waitFor(
    () => received,
    (all) => all.includes("\r\n\r\n"),
  )
  socket.pause()
  for (let first = 1; first <= posts; first += 500)
    await app.ingest(Array.from({ length: 500 }, (_, index) => postLine(first + index, text)))
  // The server cut it as a slow reader, and for no other reason.
  await waitFor(
    async () => (await app.send("GET", "/metrics")).text,
    (metrics) => metrics.includes('sluice_stream_connections_closed_total{reason="slow-reader"} 1'),
  )
  socket.resume()
  await closed
  const read = idsIn(received)
  expect(read).toEqual(range(1, read.length))
  expect(read.length).toBeGreaterThan(0)
  expect(read.length).toBeLessThan(posts)

  const again = new Set(await readStream(app, "?backfill_minutes=5", posts))
  expect(range(1, posts).filter((id) => !again.has(id))).toEqual([])
})

/** Ids of the posts whose records came whole, in order. */
function idsIn(records: string): number[] {
  return [...records.matchAll(/\{"data":\{"id":"(\d+)"[^\r]*\}\r\n/g)].map(([, id]) => Number(id))
}

/** Reads a stream until `count` posts have come. */
async function readStream(app: AppClient, query: string, count: number): Promise<number[]> {
  const leave = new AbortController()
  const response = await fetch(`${app.url}/2/tweets/search/stream${query}`, {
    headers: { authorization: `Bearer ${app.token}` },
    signal: leave.signal,
  })
  expect(response.status).toBe(200)
  const ids: number[] = []
  const decoder = new TextDecoder("latin1")
  let rest = ""
  for await (const chunk of response.body ?? []) {
    rest += decoder.decode(chunk)
    const records = rest.split("\r\n")
    rest = records.pop() ?? ""
    ids.push(...idsIn(records.map((record) => `${record}\r\n`).join("")))
    if (ids.length >= count) break
  }
  leave.abort()
  return ids
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index)
}
