import { once } from "node:events"
import type { Socket } from "node:net"
import { paths } from "@sluice/api"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { startTestServer, type TestServer } from "../../../../../test/support/test-server.testing.ts"
import { responsesIn, connectTo, everything, type RawResponse } from "../../../../../test/support/raw-http.testing.ts"
import { problemBody } from "../problem-bodies.testing.ts"

let at: TestServer
let as = ""
beforeAll(async () => {
  at = await startTestServer({ "request-seconds-max": "1" })
  as = `Host: x\r\nAuthorization: Bearer ${at.app.bearer_token}\r\n`
})
afterAll(async () => {
  expect((await at.call(paths.links)).status).toBe(200)
  await at[Symbol.asyncDispose]()
})

/** A client is cut after 1 s here; the machine may be slow as well. */
const msMax = 10_000

const json = "Content-Type: application/json\r\n"
const headLate = problemBody(408, "Request Timeout", "The request did not arrive in time.")
const bodyLate = problemBody(408, "Request Timeout", "The body did not arrive within 1 s.")
const unauthorized = problemBody(401, "Unauthorized", "Unauthorized")

/** Sends `start`, then `drop` again and again until the server has closed the connection. */
async function drip(start: string, drop: string | undefined): Promise<readonly RawResponse[]> {
  const socket = await connectTo(at.url)
  const received = everything(socket, msMax)
  socket.write(start.replace("{A}", as))
  const timer = drop === undefined ? undefined : setInterval(() => socket.writable && socket.write(drop), 100)
  const responses = responsesIn(await received)
  clearInterval(timer)
  return responses
}

describe.concurrent("clients that are too slow", () => {
  test.each<readonly [string, string, string | undefined, readonly unknown[]]>([
    ["sends nothing", "", undefined, [headLate]],
    ["sends half a line", "GET /2", undefined, [headLate]],
    ["sends its line letter by letter", "GET /", "a", [headLate]],
    ["never ends its head", `GET ${paths.links} HTTP/1.1\r\n{A}`, undefined, [headLate]],
    ["sends a header at a time", `GET ${paths.links} HTTP/1.1\r\n{A}`, "X-A: b\r\n", [headLate]],
    [
      "never sends its body",
      `POST ${paths.rules} HTTP/1.1\r\n{A}${json}Content-Length: 10\r\n\r\n`,
      undefined,
      [bodyLate],
    ],
    [
      "sends its body letter by letter",
      `POST ${paths.rules} HTTP/1.1\r\n{A}${json}Content-Length: 900\r\n\r\n`,
      " ",
      [bodyLate],
    ],
    [
      "never ends its chunks",
      `POST ${paths.rules} HTTP/1.1\r\n{A}${json}Transfer-Encoding: chunked\r\n\r\n`,
      "1\r\n \r\n",
      [bodyLate],
    ],
    [
      "never sends its form",
      `POST ${paths.oauthToken} HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 9\r\n\r\n`,
      undefined,
      [bodyLate],
    ],
    [
      "has no token and sends on",
      `POST ${paths.rules} HTTP/1.1\r\nHost: x\r\n${json}Content-Length: 900\r\n\r\n`,
      " ",
      [unauthorized],
    ],
    [
      "requests an unknown path and sends on",
      `POST /nowhere HTTP/1.1\r\nHost: x\r\n${json}Content-Length: 900\r\n\r\n`,
      " ",
      [problemBody(404, "Not Found", "There is nothing at [/nowhere]. GET /openapi.json describes what there is.")],
    ],
    [
      "sends a body with GET",
      `GET ${paths.links} HTTP/1.1\r\n{A}Content-Length: 900\r\n\r\n`,
      " ",
      [{ data: { links: [] } }],
    ],
    [
      "is slow with its second request",
      `GET ${paths.links} HTTP/1.1\r\n{A}\r\nGET ${paths.links}`,
      "a",
      [{ data: { links: [] } }, headLate],
    ],
    [
      "sends posts without a token",
      `POST ${paths.posts} HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n`,
      "1\r\n\n\r\n",
      [unauthorized],
    ],
  ])("a client that %s gets a response and is cut", async (_name, start, drop, bodies) => {
    const responses = await drip(start, drop)
    expect(responses.map(({ text }) => JSON.parse(text) as unknown)).toEqual(bodies)
  })
})

describe.concurrent("clients that may be slow", () => {
  test("a client may send posts for longer than other bodies", async () => {
    const socket = await connectTo(at.url)
    const received = everything(socket, msMax)
    const start = `POST ${paths.posts} HTTP/1.1\r\n${as}Connection: close\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n`
    socket.write(start)
    for (let id = 1; id <= 4; id += 1) {
      await new Promise((resolve) => setTimeout(resolve, 500))
      writeChunk(socket, `{"data":{"id":"${id}","text":"slow"}}\n`)
    }
    socket.write("0\r\n\r\n")
    const [response] = responsesIn(await received)
    expect(response?.status).toBe(200)
    expect(JSON.parse(response?.text ?? "")).toMatchObject({ lines: 4, accepted: 4 })
  })

  test("a client may close its half after the request and still reads the response", async () => {
    const socket = await connectTo(at.url)
    const received = everything(socket, msMax)
    socket.end(`GET ${paths.links} HTTP/1.1\r\n${as}\r\n`)
    const [response] = responsesIn(await received)
    expect(response?.status).toBe(200)
  })

  test("a client that closes its half of a stream has left", async () => {
    const socket = await connectTo(at.url)
    socket.write(`GET ${paths.stream} HTTP/1.1\r\n${as}\r\n`)
    await once(socket, "data")
    socket.end()
    await once(socket, "close", { signal: AbortSignal.timeout(10_000) })
    expect(socket.closed).toBe(true)
  })

  test("a client may keep its connection for the next request", async () => {
    const socket = await connectTo(at.url)
    for (let round = 0; round < 3; round += 1) {
      if (round > 0) await new Promise((resolve) => setTimeout(resolve, 700))
      socket.write(`GET ${paths.links} HTTP/1.1\r\n${as}\r\n`)
      const [chunk] = (await once(socket, "data")) as [Buffer]
      expect(responsesIn(chunk)[0]?.status).toBe(200)
    }
    socket.destroy()
  })
})

test("clients that disconnect in the middle of a body disturb no one, and only whole lines of it are kept", async () => {
  const starts = [
    `POST ${paths.rules} HTTP/1.1\r\n${as}${json}Content-Length: 100\r\n\r\n{"add":[{"value":"cat"}]}`,
    `POST ${paths.posts} HTTP/1.1\r\n${as}Content-Type: application/x-ndjson\r\nContent-Length: 1000\r\n\r\n{"data":{"id":"77","text":"whole"}}\n{"data":{"id":"78","te`,
    `POST ${paths.posts}?ack=batch HTTP/1.1\r\n${as}Content-Type: application/x-ndjson\r\nContent-Length: 1000\r\n\r\n{"data":{"id":"79","text":"whole"}}\n{"data":`,
    `POST ${paths.posts} HTTP/1.1\r\n${as}Content-Type: application/x-ndjson\r\nContent-Encoding: gzip\r\nContent-Length: 1000\r\n\r\n`,
  ]
  for (const start of starts) {
    const socket = await connectTo(at.url)
    socket.on("error", () => undefined)
    socket.write(start)
    await new Promise((resolve) => setTimeout(resolve, 50))
    socket.resetAndDestroy()
  }
  const { body } = await at.call(paths.rules)
  expect(body).toMatchObject({ meta: { result_count: 0 } })
})

test("clients that send thousands of requests and never read get a few responses at most, and are cut", async () => {
  // With the usual time for a request: none of them is too slow, however busy the machine is.
  await using server = await startTestServer()
  const sockets = await Promise.all(Array.from({ length: 6 }, () => connectTo(server.url)))
  for (const [index, socket] of sockets.entries()) {
    socket.on("error", () => undefined)
    socket.pause()
    const path = index % 2 === 0 ? paths.openapi : paths.metrics
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(3_000))
  }
  let scrapes = 0
  let metrics = ""
  const cuts = 'sluice_http_connections_cut_total{reason="pipelining"}'
  while (valueOf(metrics, cuts) < sockets.length) {
    const page = await server.call(paths.metrics, { token: null })
    scrapes += 1
    metrics = page.text
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  const responded = (path: string): number =>
    valueOf(metrics, `sluice_http_request_duration_seconds_count{method="GET",route="${path}",status="200"}`)
  // One that is handled and ten that wait, for each.
  expect(responded(paths.openapi)).toBeLessThanOrEqual(3 * 11)
  expect(responded(paths.metrics)).toBeLessThanOrEqual(3 * 11 + scrapes)
  for (const socket of sockets) socket.destroy()
})

/** A series' value on a page of metrics; 0 when it is not there. */
function valueOf(page: string, series: string): number {
  const line = page.split("\n").find((one) => one.startsWith(`${series} `))
  return Number(line?.split(" ").at(-1) ?? 0)
}

function writeChunk(socket: Socket, text: string): void {
  socket.write(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`)
}
