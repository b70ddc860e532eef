import { once } from "node:events"
import { PassThrough } from "node:stream"
import { gzipSync } from "node:zlib"
import { paths } from "@sluice/api"
import fastify from "fastify"
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import { systemClock } from "../../runtime/clock.ts"
import type { Intake } from "../../ingest/intake.ts"
import type { HttpDeps } from "../deps.ts"
import { refusePosts, testedEngine } from "../../store/tested-store.testing.ts"
import { startTestServer, type TestServer } from "../../../../../test/support/test-server.testing.ts"
import { connectTo, everything } from "../../../../../test/support/raw-http.testing.ts"
import { drained, ingestRoutes } from "./ingest.ts"
import { temporaryDirectory, type TemporaryDirectory } from "../../../../../test/support/temporary-directory.testing.ts"

/** The machine may be slow. */
const msMax = 10_000

let data: TemporaryDirectory
let at: TestServer
beforeEach(async () => {
  data = await temporaryDirectory()
  at = await startTestServer({ data: data.path, "request-seconds-max": "1", search: "off" })
})
afterEach(async () => {
  await at[Symbol.asyncDispose]()
  await data.remove()
})

function line(id: number): string {
  return `{"data":{"id":"${id}","text":"cat ${id}"}}\n`
}

/** Begins a body that has no end, and returns all that comes back until the server closes the connection. */
async function pourWithoutEnd(query: string, text: string, token = at.app.bearer_token) {
  const socket = await connectTo(at.url)
  const received = everything(socket, msMax)
  socket.write(
    `POST ${paths.posts}${query} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n` +
      "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n",
  )
  const write = (chunk: string): void => {
    socket.write(`${Buffer.byteLength(chunk).toString(16)}\r\n${chunk}\r\n`)
  }
  write(text)
  return { socket, write, received: received.then((bytes) => bytes.toString("utf8")) }
}

async function metric(series: string): Promise<number> {
  const { text } = await at.call(paths.metrics, { token: null })
  const found = text.split("\n").find((one) => one.startsWith(`${series} `))
  return Number(found?.slice(series.length) ?? 0)
}

test("posts and matches are counted as they become durable", async () => {
  await at.send("POST", paths.rules, { add: [{ value: "cat" }, { value: "1" }] })
  const headers = { "content-type": "application/x-ndjson" }
  for (const query of ["", "?ack=batch"]) {
    const body = `${line(1)}${line(2)}nonsense\n${line(2)}`
    expect((await at.call(`${paths.posts}${query}`, { method: "POST", headers, body })).status).toBe(200)
  }
  expect(await metric('sluice_posts_total{outcome="accepted"}')).toBe(2)
  expect(await metric('sluice_posts_total{outcome="duplicate"}')).toBe(4)
  expect(await metric('sluice_posts_total{outcome="rejected"}')).toBe(2)
  expect(await metric("sluice_matches_total")).toBe(2)
})

test.each(["deliver=false", "deliver=false&ack=batch"])(
  "with deliver=false posts are stored, and the response counts the matches that the caller may see: %s",
  async (query) => {
    const other = await at.newApp()
    await at.send("POST", paths.rules, { add: [{ value: "cat" }] })
    await at.call(paths.rules, {
      method: "POST",
      token: other.app.bearer_token,
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ add: [{ value: "cat" }, { value: "1" }] }),
    })
    const sendAs = async (token: string, id: number): Promise<unknown> => {
      const headers = { "content-type": "application/x-ndjson" }
      const { text } = await at.call(`${paths.posts}?${query}`, { method: "POST", token, headers, body: line(id) })
      const last = text.trim().split("\n").at(-1) ?? ""
      return (JSON.parse(last) as { undelivered?: number }).undelivered
    }
    expect(await sendAs(at.app.bearer_token, 1)).toBe(1)
    expect(await sendAs(at.app.bearer_token, 1)).toBe(0)
    expect(await sendAs(await at.running.apps.createToken("operator"), 2)).toBe(2)
    expect(await sendAs(await at.running.apps.createToken("ingest"), 3)).toBeUndefined()
    expect(await metric('sluice_posts_total{outcome="accepted"}')).toBe(3)
    expect(await metric("sluice_matches_total")).toBe(0)
    const engine = await testedEngine(data.path)
    const stored = await engine.examine(async ({ posts, logs }) => ({
      posts: posts.stored,
      matches: logs.reduce((sum, { entries }) => sum + entries, 0),
    }))
    expect(stored).toMatchObject({ result: { posts: 3, matches: 0 } })
  },
)

test.each(["", "?ack=batch"])("a body is refused once 10,000 of its lines are rejected: %s", async (query) => {
  const body = `${line(1)}${"x\n".repeat(30_000)}${line(2)}`
  const headers = { "content-type": "application/x-ndjson" }
  const response = await at.call(`${paths.posts}${query}`, { method: "POST", headers, body })
  expect(response.status).toBe(query === "" ? 400 : 200)
  const last = JSON.parse(response.text.trim().split("\n").at(-1) ?? "") as Record<string, unknown>
  expect(last).toMatchObject({ status: 400, lines: 10_001, accepted: 1, rejected_count: 10_000 })
  expect(last["rejected"]).toHaveLength(100)
  expect(last["detail"]).toContain("read up to its line 10001, blank ones not counted")
  expect(await metric('sluice_posts_total{outcome="accepted"}')).toBe(1)
  expect(await metric('sluice_failures_total{where="ingest"}')).toBe(0)
})

test("a few kilobytes of gzip that hold millions of lines do not delay another body", async () => {
  const headers = { "content-type": "application/x-ndjson" }
  const leave = new AbortController()
  let hasEnded = false
  const flood = at
    .call(paths.posts, {
      method: "POST",
      headers: { ...headers, "content-encoding": "gzip" },
      body: gzipSync(Buffer.alloc(10_000_000, " \n")),
      signal: leave.signal,
    })
    .then(() => (hasEnded = true))
    .catch(() => undefined)
  for (let id = 1; id <= 3; id++) {
    const { body } = await at.call(paths.posts, { method: "POST", headers, body: line(id) })
    expect(body).toMatchObject({ accepted: 1 })
  }
  expect(hasEnded).toBe(false)
  leave.abort()
  await flood
})

test("a body of which each byte is an HTTP chunk is ingested like any other", async () => {
  const socket = await connectTo(at.url)
  const received = everything(socket, msMax)
  const body = Array.from({ length: 500 }, (_, index) => line(index + 1)).join("")
  const chunks = Array.from(body, (letter) => `1\r\n${letter}\r\n`).join("")
  socket.write(
    `POST ${paths.posts} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${at.app.bearer_token}\r\nConnection: close\r\n` +
      `Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`,
  )
  expect((await received).toString()).toContain('{"lines":500,"accepted":500,')
})

describe("when the store fails", () => {
  test.each([
    ["", /^HTTP\/1\.1 503 /],
    ["?ack=batch", /^HTTP\/1\.1 200 /],
  ])("a body without an end gets its error at once, and the failure is counted once: %s", async (query, status) => {
    const accept = await refusePosts(data.path)
    const { received } = await pourWithoutEnd(query, line(1))
    const response = await received
    await accept()
    expect(response).toMatch(status)
    expect(response).toContain('"detail":"The store could not keep this.')
    expect(await metric('sluice_failures_total{where="ingest"}')).toBe(1)
    expect(await metric('sluice_failures_total{where="http"}')).toBe(0)
    expect(await metric('sluice_posts_total{outcome="accepted"}')).toBe(0)
  })
})

describe("when the server closes", () => {
  test("the whole lines of a body without an end are kept, and the response counts them", async () => {
    const { socket, write, received } = await pourWithoutEnd("?ack=batch", line(1) + line(2))
    // The first batch is durable.
    await once(socket, "data")
    write(line(3).slice(0, 10))
    await at.running.close()
    const response = await received
    const problem = response.split("\r\n").find((part) => part.startsWith("{") && part.includes("errors"))
    expect(JSON.parse(problem ?? "")).toMatchObject({
      status: 503,
      lines: 2,
      accepted: 2,
      rejected_count: 0,
      detail: "The server is closing. Lines taken, blank ones not counted: 2. Send the rest again later.",
    })
  })
})

test.each(["", "?ack=batch"])("a client that leaves before its body is read leaves no body open: %s", async (query) => {
  const gate = Promise.withResolvers<void>()
  const seen = { requests: 0, left: 0, open: 0 }
  const intake: Pick<Intake, "open"> = {
    open() {
      seen.open += 1
      const never = new Promise<never>(() => undefined)
      const abort = (): void => void (seen.open -= 1)
      return { failed: new AbortController().signal, write: () => never, end: () => never, stop: () => never, abort }
    },
  }
  await using server = fastify()
  server.setValidatorCompiler(() => () => true)
  server.addHook("onRequest", async ({ raw }) => {
    seen.requests += 1
    raw.socket.once("close", () => (seen.left += 1))
    await gate.promise
  })
  const failed = expect.unreachable
  ingestRoutes(server, {
    intake: intake as Intake,
    events: { failed } as unknown as HttpDeps["events"],
    closing: new AbortController().signal,
    apps: {} as HttpDeps["apps"],
    sessions: {} as HttpDeps["sessions"],
    clock: systemClock,
  })
  const socket = await connectTo(await server.listen({ host: "127.0.0.1", port: 0 }))
  const body = gzipSync(line(1))
  socket.write(
    `POST ${paths.posts}${query} HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\n` +
      `Content-Type: application/x-ndjson\r\nContent-Length: ${body.length}\r\n\r\n`,
  )
  socket.write(body)
  await expect.poll(() => seen.requests).toBe(1)
  socket.resetAndDestroy()
  await expect.poll(() => seen.left).toBe(1)
  const opened = vi.spyOn(intake, "open")
  gate.resolve()
  await expect.poll(() => opened.mock.calls.length).toBe(1)
  await expect.poll(() => seen.open).toBe(0)
})

test("a body whose token is revoked is read no further; the posts before stay", async () => {
  const { apps } = at.running
  const token = await apps.createToken("ingest")
  const { socket, write, received } = await pourWithoutEnd("?ack=batch", line(1), token)
  await once(socket, "data")
  const { id = "" } = (await apps.listTokens()).find(({ kind }) => kind === "ingest") ?? {}
  expect(await apps.revokeToken(id)).toBe(true)
  await systemClock.sleep(1_100)
  write(line(2))
  expect(await received).toContain('"status":401')
  expect((await at.call(`${paths.postsById}?ids=1,2`)).body.data).toMatchObject([{ id: "1" }])
})

test("a body goes on while the store cannot say whether its token is one", async () => {
  const token = await at.running.apps.createToken("ingest")
  const { socket, write, received } = await pourWithoutEnd("?ack=batch", line(1), token)
  await once(socket, "data")
  const asked = vi.spyOn(at.running.apps, "principal").mockRejectedValue(new Error("away"))
  await systemClock.sleep(1_100)
  write(line(2))
  await once(socket, "data")
  expect(asked).toHaveBeenCalled()
  asked.mockRestore()
  socket.destroy()
  expect(await received).not.toContain("errors")
})

test("waiting for a reader leaves no listeners behind", async () => {
  const lines = new PassThrough({ highWaterMark: 1 })
  const before = lines.eventNames().map((name) => [name, lines.listenerCount(name)])
  const stopped = new AbortController()
  for (let round = 0; round < 50; round += 1) {
    lines.write("a line")
    const waiting = drained(lines, stopped.signal)
    lines.read()
    await waiting
  }
  expect(lines.eventNames().map((name) => [name, lines.listenerCount(name)])).toEqual(before)
  lines.write("a line")
  const waiting = drained(lines, stopped.signal)
  stopped.abort()
  await waiting
  await drained(lines, stopped.signal)
  lines.destroy()
  await drained(lines, new AbortController().signal)
  expect(lines.listenerCount("drain")).toBe(0)
})
