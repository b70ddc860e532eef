import { expect, test, vi } from "vitest"
import type { App } from "../../model/app.ts"
import type { AppId, RuleId } from "../../model/ids.ts"
import { anApp } from "../../store/contract/fixtures.ts"
import { openTestedStore } from "../../store/tested-store.testing.ts"
import type { Store } from "../../store/store.ts"
import { app, rule, streamHarness, idsOf, disconnectOf, type Client } from "./stream-harness.testing.ts"

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

test("a client that has left may connect again at once, though the store does not return what it was to read", async () => {
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

test("a revocation ends all connections of the app, and none of another", async () => {
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

test("a change that another process makes ends connections within ten seconds", async () => {
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
