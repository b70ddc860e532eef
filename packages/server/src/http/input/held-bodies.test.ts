/** Bounds of the JSON bodies that the server holds, over all connections. */
import { once } from "node:events"
import type { Socket } from "node:net"
import { paths } from "@sluice/api"
import { afterAll, beforeAll, expect, test } from "vitest"
import { connectTo } from "../../../../../test/support/raw-http.testing.ts"
import { startTestServer, type TestServer } from "../../../../../test/support/test-server.testing.ts"

let at: TestServer
beforeAll(async () => {
  at = await startTestServer()
})
afterAll(() => at[Symbol.asyncDispose]())

const json = "Content-Type: application/json\r\n"

/** Begins bodies that never end, and collects the status of each response. */
async function unending(
  count: number,
  start: string,
  bytes: number,
): Promise<{ sockets: Socket[]; statuses: string[] }> {
  const statuses: string[] = []
  const sockets = await Promise.all(
    Array.from({ length: count }, async () => {
      const socket = await connectTo(at.url)
      socket.on("error", () => undefined)
      socket.on("data", (response: Buffer) => statuses.push(response.toString("latin1")))
      socket.write(start)
      socket.write(`${bytes.toString(16)}\r\n`)
      socket.write(Buffer.alloc(bytes, " "))
      return socket
    }),
  )
  return { sockets, statuses }
}

test("bodies of one app that never end are held within its share, and another app's are accepted", async () => {
  const other = await at.newApp()
  const start =
    `POST ${paths.rules} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${at.app.bearer_token}\r\n` +
    `${json}Transfer-Encoding: chunked\r\n\r\n`
  const { sockets, statuses } = await unending(40, start, 1_000_000)
  // Buffers double, so at least eight of them are held within 16 MiB, and sixteen at most.
  await expect.poll(() => statuses.length, { timeout: 10_000 }).toBeGreaterThanOrEqual(24)
  expect(statuses.length).toBeLessThanOrEqual(32)
  for (const response of statuses) {
    expect(response).toMatch(/^HTTP\/1\.1 503 /)
    expect(response).toMatch(/^retry-after: 1\r$/m)
  }
  const rule = JSON.stringify({ add: [{ value: `cat -"${"x".repeat(500)}"` }] })
  expect((await other.send("POST", paths.rules, rule)).status).toBe(201)
  // Their memory is free when they are gone: the app's own next body of the largest size is read.
  for (const socket of sockets) socket.destroy()
  const largest = { add: Array.from({ length: 900 }, () => ({ value: "x".repeat(1_000) })) }
  await expect.poll(async () => (await at.send("POST", `${paths.rules}?dry_run=true`, largest)).status).toBe(201)
})

test("without a token a body uses a few kilobytes at most", async () => {
  const start = (path: string, type: string): string =>
    `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\n\r\n`
  const form = "application/x-www-form-urlencoded"
  const bodies = [start(paths.session, "application/json"), start(paths.oauthToken, form)]
  for (const text of bodies) {
    const { sockets, statuses } = await unending(5, text, 10_000)
    await expect.poll(() => statuses.map((response) => response.slice(9, 12))).toEqual(Array(5).fill("413"))
    for (const socket of sockets) socket.destroy()
  }
})

test("without a valid token no body is read where one is required", async () => {
  for (const path of [paths.rules, paths.webhooks, paths.apps, paths.posts]) {
    const socket = await connectTo(at.url)
    // Only the head: the response does not wait for the body.
    socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\n${json}Content-Length: 1000000\r\n\r\n`)
    const [response] = (await once(socket, "data")) as [Buffer]
    expect(response.toString("latin1")).toMatch(/^HTTP\/1\.1 401 /)
    socket.destroy()
  }
})
