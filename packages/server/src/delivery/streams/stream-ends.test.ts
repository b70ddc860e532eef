import { connect, type Socket } from "node:net"
import { describe, expect, test, vi } from "vitest"
import type { App } from "../../model/app.ts"
import type { AppId, RuleId } from "../../model/ids.ts"
import { anApp } from "../../store/contract/fixtures.ts"
import { openTestedStore } from "../../store/tested-store.testing.ts"
import type { Store } from "../../store/store.ts"
import { app, rule, streamHarness, idsOf, range, disconnectOf, type Client } from "./stream-harness.testing.ts"

const harness = streamHarness()

test("a server that closes sends a disconnect message and ends the response", async () => {
  const client = await harness.connectClient()
  await harness.append([1])
  await expect.poll(() => client.chunks).toHaveLength(1)
  await harness.streams.close()
  await expect.poll(() => client.isEnded).toBe(true)
  expect(client.chunks.at(-1)).toMatch(/\r\n$/)
  expect(disconnectOf(client)).toEqual({
    errors: [
      {
        title: "operational-disconnect",
        disconnect_type: "OperationalDisconnect",
        detail: "This stream has been disconnected for operational reasons. Connect again in a moment.",
        type: "https://api.x.com/2/problems/operational-disconnect",
        status: 503,
        message: "This stream has been disconnected for operational reasons. Connect again in a moment.",
      },
    ],
  })
  expect(harness.closings()).toEqual([{ appId: app, reason: "shutdown", delivered: 1 }])
  expect(harness.streams.count).toBe(0)
})

test("a connection that opens while the server closes gets the same disconnect message", async () => {
  await harness.streams.close()
  const client = await harness.connectClient()
  await expect.poll(() => client.isEnded).toBe(true)
  expect(disconnectOf(client)).toMatchObject({ errors: [{ disconnect_type: "OperationalDisconnect" }] })
})

test("a store that fails ends a connection with a message, and the failure is reported", async () => {
  vi.spyOn(harness.store, "matches").mockRejectedValue(new Error("disk"))
  harness.streams = harness.streamsOver(harness.store, 1)
  const client = await harness.connectClient()
  await expect.poll(() => client.isEnded).toBe(true)
  expect(disconnectOf(client)).toMatchObject({ errors: [{ disconnect_type: "InternalError" }] })
  expect(harness.reported).toContainEqual({
    name: "failed",
    event: { where: "stream connection", error: new Error("disk") },
  })
  expect(harness.streams.count).toBe(0)
})

test("a client that has left may connect again at once, though the store has not returned its read", async () => {
  const reading = Promise.withResolvers<never>()
  vi.spyOn(harness.store, "matches").mockReturnValueOnce(reading.promise)
  harness.streams = harness.streamsOver(harness.store, 1)
  const client = await harness.connectClient()
  expect(harness.streams.count).toBe(1)
  client.leave()
  await expect.poll(() => harness.streams.count).toBe(0)
  await harness.connectClient()
  expect(harness.closings(), "the first one still waits").toEqual([])
  reading.reject(new Error("disk"))
  await expect.poll(() => harness.closings()).toMatchObject([{ reason: "client" }])
  expect(harness.streams.count, "the first one gives back nothing more").toBe(1)
})

const rotated = (generation: number): App => ({ ...anApp(app), generation })
const isTold = async (client: Client): Promise<void> => {
  await expect.poll(() => client.isEnded).toBe(true)
  expect(disconnectOf(client)).toMatchObject({ errors: [{ disconnect_type: "OperationalDisconnect" }] })
}

/** Changes the store as another process does, of which this one hears nothing. */
async function elsewhere(change: (other: Store) => Promise<unknown>): Promise<void> {
  await using other = await openTestedStore(harness.directory)
  await change(other)
}

test("a rotation ends the connections of the old ones at once, and leaves those of the new ones", async () => {
  const old = await harness.connectClient()
  await harness.store.rotateApp(rotated(2), [])
  await isTold(old)
  harness.credentials = rotated(2)
  const current = await harness.connectClient()
  await harness.append([1])
  await harness.clock.advance(30_000)
  await expect.poll(() => idsOf(current.chunks.slice(0, 1))).toEqual([1])
  expect(old.chunks).toHaveLength(1)
  expect(current.isEnded).toBe(false)
  expect(harness.streams.count).toBe(1)
})

test("a revocation ends all connections of the app, and no other app's", async () => {
  const other = "6" as AppId
  await harness.store.createApp(anApp(other), [])
  await harness.store.addRules(other, [{ ...rule, id: "71" as RuleId, appId: other }], {
    rulesMax: 10,
  })
  const clients = [await harness.connectClient(), await harness.connectClient()]
  harness.credentials = anApp(other)
  const unconcerned = await harness.connectClient()
  await harness.store.revokeApp(app)
  for (const client of clients) await isTold(client)
  await harness.clock.advance(30_000)
  expect(unconcerned.isEnded).toBe(false)
  expect(harness.streams.count).toBe(1)
})

test("a change by another process ends connections within ten seconds", async () => {
  const client = await harness.connectClient()
  await elsewhere((other) => other.rotateApp(rotated(2), []))
  await harness.clock.advance(9_999)
  expect(client.isEnded).toBe(false)
  await harness.clock.advance(1)
  await isTold(client)
  expect(harness.closings()).toEqual([{ appId: app, reason: "credentials", delivered: 0 }])
})

test("the slot is released at once, though another process made the change and the client reads nothing", async () => {
  harness.streams = harness.streamsOver(harness.store, 1)
  const client = await harness.connectClient()
  client.response.pause()
  await elsewhere((other) => other.rotateApp(rotated(2), []))
  await expect(harness.streams.open(rotated(2), harness.nextOptions)).resolves.toBeDefined()
  expect(harness.streams.count).toBe(1)
  client.response.resume()
  await isTold(client)
  expect(harness.streams.count, "the old one gives back nothing more").toBe(1)
})

test("a connection whose credentials are revoked while it opens ends at once", async () => {
  await harness.store.rotateApp(rotated(2), [])
  await isTold(await harness.connectClient())
  expect(harness.streams.count).toBe(0)
})

test("a failed read of credentials is retried, and the failure is reported", async () => {
  const client = await harness.connectClient()
  const ask = vi.spyOn(harness.store, "app").mockRejectedValueOnce(new Error("disk"))
  await harness.store.rotateApp(rotated(2), [])
  await expect.poll(() => harness.reported.map(({ name }) => name)).toContain("failed")
  expect(client.isEnded).toBe(false)
  await harness.clock.advance(10_000)
  await isTold(client)
  expect(ask).toHaveBeenCalledTimes(2)
})

test("a control change reads each app once, however many connections it has, and no change reads none", async () => {
  harness.streams = harness.streamsOver(harness.store, 50)
  for (let count = 0; count < 50; count += 1) await harness.connectClient()
  const read = vi.spyOn(harness.store, "app")
  await harness.clock.advance(10_000)
  expect(read).not.toHaveBeenCalled()
  await elsewhere((other) => other.createApp(anApp("6"), []))
  await harness.clock.advance(10_000)
  expect(read).toHaveBeenCalledTimes(1)
})

describe("a client that leaves while large records are written", () => {
  const clients = 60
  const kilobytes64 = "x".repeat(65_536)

  const failures = (): unknown[] => harness.reported.filter(({ name }) => name === "failed").map(({ event }) => event)

  /** A client that resets its connection once it has read so much. */
  async function leaveAfter(bytes: number): Promise<void> {
    const socket = connect({ port: harness.port(), host: "127.0.0.1" })
    socket.on("error", () => undefined)
    socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n")
    let read = 0
    await new Promise<void>((resolve) => {
      socket.on("data", (chunk) => {
        read += chunk.length
        if (read < bytes) return
        socket.resetAndDestroy()
        resolve()
      })
    })
  }

  test("is no failure, and nothing is reported about retention, wherever it leaves", async () => {
    harness.streams = harness.streamsOver(harness.store, clients)
    for (let batch = 0; batch < 4; batch += 1) await harness.append(range(1 + batch * 50, 50 + batch * 50), kilobytes64)
    harness.nextOptions = { ...harness.nextOptions, part: { kind: "live", backfillMinutes: 5 } }
    await Promise.all(Array.from({ length: clients }, (_, client) => leaveAfter(1_000 + client * 40_000)))
    await expect.poll(() => harness.closings()).toHaveLength(clients)
    expect(failures()).toEqual([])
    expect(new Set(harness.closings().map((event) => (event as { reason: string }).reason))).toEqual(
      new Set(["client"]),
    )
  })

  test("is no failure when its socket closes within a write", async () => {
    await harness.append(range(1, 100), kilobytes64)
    harness.nextOptions = { ...harness.nextOptions, part: { kind: "live", backfillMinutes: 5 } }
    const runs = Promise.withResolvers<void>()
    harness.mayRun = runs.promise
    const arriving = harness.connectClient().catch(() => undefined)
    await expect.poll(() => harness.responses.length).toBe(1)
    const socket = harness.responses[0]?.socket as Socket
    const write = socket.write.bind(socket)
    let writes = 0
    socket.write = ((...args: Parameters<typeof write>) => {
      writes += 1
      if (writes === 2) socket.destroy()
      return write(...args)
    }) as typeof socket.write
    runs.resolve()
    await arriving
    await expect.poll(() => harness.closings()).toHaveLength(1)
    expect(failures()).toEqual([])
    expect(harness.closings()).toMatchObject([{ reason: "client" }])
  })
})
