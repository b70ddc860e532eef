import { mkdtempSync, rmSync } from "node:fs"
import { once } from "node:events"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { PassThrough } from "node:stream"
import { DatabaseSync } from "node:sqlite"
import { paths } from "@sluice/api"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { storeFile } from "../../data-directory.ts"
import { everything, startTestServer, type TestServer } from "../test-server.testing.ts"
import { drained } from "./ingest.ts"

/** The machine may be slow. */
const msMax = 10_000

let data: string
let at: TestServer
beforeEach(async () => {
  data = mkdtempSync(join(tmpdir(), "sluice-ingest-"))
  at = await startTestServer({ data, "request-seconds-max": "1" })
})
afterEach(async () => {
  await at[Symbol.asyncDispose]()
  rmSync(data, { recursive: true, force: true })
})

/** From now on the store keeps no post, until the function that it answers is called. */
function refusePosts(): () => void {
  const db = new DatabaseSync(storeFile(data), { timeout: msMax })
  db.exec("CREATE TRIGGER refused BEFORE INSERT ON posts BEGIN SELECT RAISE(ABORT, 'the disk is full'); END")
  return () => {
    db.exec("DROP TRIGGER refused")
    db.close()
  }
}

function line(id: number): string {
  return `{"data":{"id":"${id}","text":"cat ${id}"}}\n`
}

/** Begins a body that has no end, and answers all that comes back until the server closes the connection. */
async function pourWithoutEnd(query: string, text: string) {
  const socket = await at.connect()
  const received = everything(socket, msMax)
  socket.write(
    `POST ${paths.ingest}${query} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${at.app.bearer_token}\r\n` +
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
    expect((await at.call(`${paths.ingest}${query}`, { method: "POST", headers, body })).status).toBe(200)
  }
  expect(await metric('sluice_posts_total{outcome="accepted"}')).toBe(2)
  expect(await metric('sluice_posts_total{outcome="duplicate"}')).toBe(4)
  expect(await metric('sluice_posts_total{outcome="rejected"}')).toBe(2)
  expect(await metric("sluice_matches_total")).toBe(2)
})

describe("when the store fails", () => {
  test.each([
    ["", /^HTTP\/1\.1 503 /],
    ["?ack=batch", /^HTTP\/1\.1 200 /],
  ])("a body without an end is answered at once, the failure counted once: %s", async (query, status) => {
    const accept = refusePosts()
    const { received } = await pourWithoutEnd(query, line(1))
    const answer = await received
    accept()
    expect(answer).toMatch(status)
    expect(answer).toContain('"detail":"The store could not keep this.')
    expect(await metric('sluice_failures_total{where="ingest"}')).toBe(1)
    expect(await metric('sluice_failures_total{where="http"}')).toBe(0)
    expect(await metric('sluice_posts_total{outcome="accepted"}')).toBe(0)
  })
})

describe("when the server closes", () => {
  test("a body without an end keeps its whole lines, and is told how many", async () => {
    const { socket, write, received } = await pourWithoutEnd("?ack=batch", line(1) + line(2))
    // The first batch is durable.
    await once(socket, "data")
    write(line(3).slice(0, 10))
    await at.server.close()
    const answer = await received
    const problem = answer.split("\r\n").find((part) => part.startsWith("{") && part.includes("errors"))
    expect(JSON.parse(problem ?? "")).toMatchObject({
      status: 503,
      lines: 2,
      accepted: 2,
      rejected_count: 0,
      detail: "The server is closing. Lines taken, blank ones not counted: 2. Send the rest again later.",
    })
  })
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
