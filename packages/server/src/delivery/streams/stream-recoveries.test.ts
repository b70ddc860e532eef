import { expect, test } from "vitest"
import { defaultSelection } from "../../model/field-selection.ts"
import { deliveryFormat } from "./line-format.ts"
import { Problem } from "../../model/problem.ts"
import {
  app,
  stalledMsMax,
  streamHarness,
  idsOf,
  range,
  recordsOf,
  disconnectOf,
  type Client,
} from "./stream-harness.testing.ts"

const harness = streamHarness()

const hourMs = 3_600_000

function recover(startMs: number, endMs?: number): void {
  const part = { kind: "window", startMs, ...(endMs !== undefined && { endMs }) } as const
  harness.nextOptions = { part, format: deliveryFormat(defaultSelection), clientIp: "127.0.0.1" }
}

const isOver = (client: Client): Promise<void> => expect.poll(() => client.isEnded).toBe(true)

test("a recovery has the matches from its start to before its end, in order, and ends without a message", async () => {
  const nowMs = harness.clock.nowMs()
  const [startMs, endMs] = [nowMs - 2 * hourMs, nowMs - hourMs]
  await harness.append([1], "early", startMs - 1)
  await harness.append(range(2, 300), "a cat", startMs)
  await harness.append(range(301, 500), "a cat", endMs - 1)
  await harness.append([501], "late", endMs)
  recover(startMs, endMs)
  const client = await harness.connectClient()
  await isOver(client)
  expect(idsOf(recordsOf(client))).toEqual(range(2, 500))
  expect(harness.closings()).toEqual([{ appId: app, reason: "finished", delivered: 499 }])
  expect(harness.streams.count).toBe(0)
})

test("a recovery without an end goes up to now, and does not continue with new matches", async () => {
  await harness.append(range(1, 5), "a cat", harness.clock.nowMs() - hourMs)
  const { promise, resolve } = Promise.withResolvers<void>()
  harness.mayRun = promise
  recover(harness.clock.nowMs() - 24 * hourMs)
  const connecting = harness.connectClient()
  await expect.poll(() => harness.streams.count).toBe(1)
  await harness.append([6])
  resolve()
  const client = await connecting
  await isOver(client)
  expect(idsOf(client.chunks)).toEqual(range(1, 5))
})

test("a recovery of a time without matches is empty", async () => {
  await harness.append([1], "old", harness.clock.nowMs() - 3 * hourMs)
  await harness.append([2])
  recover(harness.clock.nowMs() - 2 * hourMs, harness.clock.nowMs() - hourMs)
  const client = await harness.connectClient()
  await isOver(client)
  expect(client.chunks).toEqual([])
  expect(client.response.statusCode).toBe(200)
})

test("a recovery waits for a client that reads slowly, and sends it everything", async () => {
  for (let batch = 0; batch < 10; batch += 1) {
    await harness.append(range(1 + batch * 100, 100 + batch * 100), "x".repeat(10_240))
  }
  recover(harness.clock.nowMs() - hourMs)
  const client = await harness.connectClient()
  client.response.pause()
  await expect.poll(() => harness.responses[0]?.socket?.writableNeedDrain).toBe(true)
  await harness.clock.advance(stalledMsMax - 1)
  client.response.resume()
  await expect.poll(() => client.isEnded).toBe(true)
  expect(idsOf(recordsOf(client))).toEqual(range(1, 1_000))
})

test("a recovery waits as long for its last bytes to be read as for the rest", async () => {
  const { client, release } = await connectHeld()
  await harness.clock.advance(stalledMsMax - 1)
  expect(harness.streams.count).toBe(1)
  release()
  await isOver(client)
  expect(idsOf(recordsOf(client))).toEqual(range(1, 60))
})

test("a recovery ends with the server, though its client has not read the last of it", async () => {
  await connectHeld()
  await harness.streams.close()
  expect(harness.streams.count).toBe(0)
  expect(harness.responses[0]?.destroyed).toBe(true)
})

/** A recovery whose socket hands nothing on after the head, until it is released. Its end is written by then. */
async function connectHeld(): Promise<{ client: Client; release: () => void }> {
  await harness.append(range(1, 60))
  const { promise, resolve } = Promise.withResolvers<void>()
  harness.mayRun = promise
  recover(harness.clock.nowMs() - hourMs)
  const connecting = harness.connectClient()
  await expect.poll(() => harness.streams.count).toBe(1)
  const socket = harness.responses[0]?.socket
  if (socket === null || socket === undefined) throw new Error("there is no socket")
  const write = socket._write.bind(socket)
  let isHead = true
  let held = (): void => undefined
  socket._write = (chunk, encoding, callback) => {
    if (isHead) write(chunk, encoding, callback)
    else held = () => write(chunk, encoding, callback)
    isHead = false
  }
  Object.assign(socket, { _writev: null })
  resolve()
  const client = await connecting
  await expect.poll(() => harness.responses[0]?.writableEnded).toBe(true)
  const release = (): void => {
    socket._write = write
    held()
  }
  return { client, release }
}

test("a recovery has its own slot in addition to the live connections, and an app has two", async () => {
  await harness.connectClient()
  await harness.connectClient()
  const options = {
    part: { kind: "window", startMs: harness.clock.nowMs() - 1 },
    format: deliveryFormat(defaultSelection),
    clientIp: "127.0.0.1",
  } as const
  await harness.streams.open(harness.credentials, options)
  await harness.streams.open(harness.credentials, options)
  await expect(harness.streams.open(harness.credentials, options)).rejects.toMatchObject({
    status: 429,
    extras: { connection_issue: "TooManyConnections" },
  })
  expect(harness.streams.count).toBe(4)
})

test.each([
  ["more than a day ago", -24 * hourMs - 1, undefined, "`start_time` is more than 24 hours ago"],
  ["in the future", 1, undefined, "`start_time` is in the future"],
  ["at its own end", -hourMs, -hourMs, "`end_time` is not after `start_time`"],
  ["after its end", -hourMs, -2 * hourMs, "`end_time` is not after `start_time`"],
])("a recovery that begins %s is refused", async (_name, start, end, message) => {
  recover(harness.clock.nowMs() + start, end === undefined ? undefined : harness.clock.nowMs() + end)
  const refused: unknown = await harness.streams
    .open(harness.credentials, harness.nextOptions)
    .catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(Problem)
  expect(refused).toMatchObject({ status: 400, causes: [{ message }] })
  expect(harness.streams.count).toBe(0)
})

test("a recovery may begin a day ago to the millisecond, and no earlier than matches are kept", async () => {
  recover(harness.clock.nowMs() - 24 * hourMs)
  await expect(harness.streams.open(harness.credentials, harness.nextOptions)).resolves.toBeDefined()
  harness.streams = harness.streamsOver(harness.store, 1, 2 * hourMs)
  await expect(harness.streams.open(harness.credentials, harness.nextOptions)).rejects.toMatchObject({
    causes: [{ message: "`start_time` is more than 2 hours ago" }],
  })
})

test("a recovery that retention overtakes ends with a message, and not as if it were complete", async () => {
  await harness.append(range(1, 300), "a cat", harness.clock.nowMs() - 23 * hourMs)
  recover(harness.clock.nowMs() - 24 * hourMs)
  const { promise, resolve } = Promise.withResolvers<void>()
  harness.mayRun = promise
  const connecting = harness.connectClient()
  await expect.poll(() => harness.streams.count).toBe(1)
  await harness.store.trimMatches(app, { beforeMs: harness.clock.nowMs() - hourMs, limit: 100 })
  resolve()
  const client = await connecting
  await isOver(client)
  expect(client.chunks).toHaveLength(1)
  expect(disconnectOf(client)).toMatchObject({ errors: [{ disconnect_type: "InternalError" }] })
  expect(harness.reported).toContainEqual({
    name: "failed",
    event: {
      where: "stream connection",
      error: new Error("retention took the matches from 1 to 100 before they were read"),
    },
  })
})

test("a recovery whose end retention has deleted ends with a message too", async () => {
  await harness.append(range(1, 300), "a cat", harness.clock.nowMs() - 23 * hourMs)
  recover(harness.clock.nowMs() - 24 * hourMs)
  const { promise, resolve } = Promise.withResolvers<void>()
  harness.mayRun = promise
  const connecting = harness.connectClient()
  await expect.poll(() => harness.streams.count).toBe(1)
  await harness.store.trimMatches(app, { beforeMs: harness.clock.nowMs() - hourMs, limit: 500 })
  resolve()
  const client = await connecting
  await isOver(client)
  expect(disconnectOf(client)).toMatchObject({ errors: [{ disconnect_type: "InternalError" }] })
})
