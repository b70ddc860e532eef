import { connect, type Socket } from "node:net"
import { afterEach, expect, test } from "vitest"
import { app, stalledMsMax, streamHarness, idsOf, range, recordsOf } from "./stream-harness.testing.ts"

const harness = streamHarness()

const sockets: Socket[] = []

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
})

/** A client that sends its request and does not read. */
async function connectSilently(): Promise<Socket> {
  const socket = connect({ port: harness.port(), host: "127.0.0.1" }).pause()
  sockets.push(socket)
  socket.on("error", () => undefined)
  socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n")
  const count = sockets.length
  await expect.poll(() => harness.reported.filter(({ name }) => name === "streamOpened")).toHaveLength(count)
  return socket
}

const kilobytes10 = "x".repeat(10_240)

/** Twenty megabytes of matches. */
async function appendMuch(): Promise<void> {
  for (let batch = 0; batch < 20; batch += 1)
    await harness.append(range(1 + batch * 100, 100 + batch * 100), kilobytes10)
}

const areFull = (): boolean => harness.responses.every((response) => response.socket?.writableNeedDrain === true)

test("a client that never reads takes no more memory than its socket, however much is appended", async () => {
  harness.streams = harness.streamsOver(harness.store, 10)
  for (let count = 0; count < 10; count += 1) await connectSilently()
  const before = process.memoryUsage()
  await appendMuch()
  await expect.poll(areFull).toBe(true)
  const after = process.memoryUsage()
  const buffered = harness.responses.map((response) => response.socket?.writableLength ?? 0)
  expect(Math.max(...buffered)).toBeLessThan(128 * 1024)
  // Queued, it would be 200 MB.
  expect(after.heapUsed + after.external - before.heapUsed - before.external).toBeLessThan(100 * 1024 * 1024)

  // And it stays so: nothing is read on, no keep-alive is written after what is unread.
  await harness.clock.advance(stalledMsMax - 1_000)
  await harness.append(range(5_001, 5_100), kilobytes10)
  expect(harness.responses.map((response) => response.socket?.writableLength ?? 0)).toEqual(buffered)
  expect(harness.streams.count).toBe(10)
})

test("a client that leaves sent bytes unread for too long is disconnected", async () => {
  const socket = await connectSilently()
  await appendMuch()
  await expect.poll(areFull).toBe(true)
  await harness.clock.advance(stalledMsMax - 1)
  expect(harness.streams.count).toBe(1)
  await harness.clock.advance(1)
  expect(harness.streams.count, "it may still take in why").toBe(1)
  await harness.clock.advance(1_000)
  await expect.poll(() => harness.streams.count).toBe(0)
  expect(harness.responses[0]?.destroyed).toBe(true)
  expect(harness.closings()).toEqual([{ appId: app, reason: "slow-reader", delivered: expect.any(Number) as number }])
  const closed = new Promise((resolve) => socket.once("close", resolve))
  socket.resume()
  await closed
})

test("a client that is disconnected gets the reason when it reads in time", async () => {
  const socket = await connectSilently()
  let text = ""
  socket.on("data", (chunk) => (text = (text + chunk.toString("latin1")).slice(-2_000)))
  socket.pause()
  await appendMuch()
  await expect.poll(areFull).toBe(true)
  await harness.clock.advance(stalledMsMax)
  socket.resume()
  await expect.poll(() => harness.streams.count).toBe(0)
  await expect.poll(() => text).toContain('"disconnect_type":"SlowReader"')
})

test("a client that reads on before the limit gets everything, once and in order", async () => {
  const client = await harness.connectClient()
  client.response.pause()
  await appendMuch()
  await expect.poll(areFull).toBe(true)
  await harness.clock.advance(stalledMsMax - 1)
  client.response.resume()
  await expect.poll(() => client.chunks.join("").match(/\r\n/g)).toHaveLength(2_000)
  expect(idsOf(recordsOf(client))).toEqual(range(1, 2_000))
  expect(client.isEnded).toBe(false)
})
