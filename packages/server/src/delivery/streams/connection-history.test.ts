import { expect, test } from "vitest"
import type { StreamConnection } from "../../model/connection.ts"
import type { ConnectionId } from "../../model/ids.ts"
import type { Events } from "../../runtime/events/events.ts"
import { createManualClock } from "../../runtime/manual-clock.testing.ts"
import { systemRandom } from "../../runtime/random.ts"
import { createSnowflakes } from "../../runtime/snowflakes.ts"
import { allOlder, anApp, app } from "../../store/contract/fixtures.ts"
import { MemoryState, MemoryStore } from "../../store/memory/memory-store.testing.ts"
import type { ConnectionChanges } from "../../store/port/connection-store.ts"
import { ConnectionHistory } from "./connection-history.ts"
import { streamHarness } from "./stream-harness.testing.ts"

const harness = streamHarness()

const aConnection = (number: number) => ({
  uuid: `uuid ${number}`,
  appId: app,
  kind: "sample_stream" as const,
  clientIp: "::1",
})

/** A history on a store of its own, which fails as long as `fails` is set. */
async function aHistory() {
  const state = new MemoryState()
  const store = new MemoryStore(state)
  await store.createApp(anApp(app), [])
  const clock = createManualClock()
  const found = { fails: false, writes: 0, failures: 0 }
  const failing = Object.assign(Object.create(store) as MemoryStore, {
    async saveConnections(changes: ConnectionChanges) {
      found.writes += 1
      if (found.fails) throw new Error("the disk is full")
      await store.saveConnections(changes)
    },
    async endLostConnections(...args: Parameters<MemoryStore["endLostConnections"]>) {
      if (found.fails) throw new Error("the disk is full")
      return store.endLostConnections(...args)
    },
  })
  const events = { failed: () => (found.failures += 1) } as unknown as Events
  const history = new ConnectionHistory({
    store: failing,
    clock,
    events,
    snowflakes: createSnowflakes(clock, systemRandom),
    isShared: false,
  })
  const reasons = async (): Promise<readonly unknown[]> =>
    (await store.connectionPage({ appId: app }, allOlder)).map(({ uuid, ended }) => [uuid, ended?.reason])
  return { history, store, clock, found, reasons }
}

test("changes that come during a write are written together", async () => {
  const { history, found, reasons } = await aHistory()
  await Promise.all(Array.from({ length: 50 }, (_, at) => history.opened(aConnection(at))))
  for (let at = 0; at < 50; at += 1) history.ended(`uuid ${at}`, "ClientDisconnected")
  await history.settled()
  expect(found.writes).toBeLessThanOrEqual(4)
  expect(await reasons()).toHaveLength(50)
  expect((await reasons())[0]).toEqual(["uuid 49", "ClientDisconnected"])
})

test("a failed write keeps no connection from opening, and is tried again", async () => {
  const { history, found, reasons, clock } = await aHistory()
  found.fails = true
  await history.opened(aConnection(1))
  history.ended("uuid 1", "SlowReader")
  await history.opened(aConnection(2))
  expect(found.failures).toBeGreaterThan(0)
  found.fails = false
  const closing = new AbortController()
  const running = history.run(closing.signal)
  await expect.poll(reasons).toEqual([
    ["uuid 2", undefined],
    ["uuid 1", "SlowReader"],
  ])
  closing.abort()
  await clock.advance(10_000)
  await running
})

test("the ends of connections that the process before held are noted once the store can", async () => {
  const { history, store, found, clock } = await aHistory()
  const opened = { id: "1", uuid: "uuid 0", appId: app, endpoint: "sample_stream", clientIp: "::1", connectedAtMs: 1 }
  await store.saveConnections({ opened: [opened as StreamConnection], ended: [] })
  found.fails = true
  const closing = new AbortController()
  const running = history.run(closing.signal)
  await expect.poll(() => found.failures).toBe(1)
  found.fails = false
  await clock.advance(10_000)
  const [listed] = await store.connectionPage({ appId: app }, allOlder)
  expect(listed?.ended?.reason).toBe("UpstreamUncleanDisconnect")
  closing.abort()
  await clock.advance(10_000)
  await running
})

test("a process notes the ends of connections that the one before held, and not of its own", async () => {
  const { id: appId } = harness.credentials
  const opened: StreamConnection = {
    id: "1" as ConnectionId,
    uuid: "01890a5d-ac96-774b-bcce-b302099a8057",
    appId,
    endpoint: "sample_stream",
    clientIp: "::1",
    connectedAtMs: 1,
  }
  await harness.store.saveConnections({ opened: [opened], ended: [] })
  await harness.streams.close()
  harness.streams = harness.streamsOver(harness.store, 2)
  harness.nextOptions = { ...harness.nextOptions, part: { kind: "live", backfillMinutes: 0 } }
  await harness.connectClient()
  const listed = async (): Promise<readonly unknown[]> =>
    (await harness.streams.list({ appId }, allOlder)).map(({ ended }) => ended?.reason)
  await expect.poll(listed).toEqual([undefined, "UpstreamUncleanDisconnect"])
})
