import { expect, test } from "vitest"
import type { Store } from "../../store/store.ts"
import { withMethods } from "../links/link-harness.testing.ts"
import { replayHarness, webhook } from "./replay-harness.testing.ts"
import { createReplays } from "./replays.ts"

const harness = replayHarness()

test("a process that stops leaves the replay to the next, which sends the rest and repeats nothing", async () => {
  await harness.linkWithPosts(100)
  harness.outbound.respondToAll(({ eventId }) => (Number(eventId.split("_")[2]) <= 40 ? 200 : undefined))
  const stop = harness.start()
  await harness.create("9", 0, 100)
  await harness.until(async () => (await harness.replay("9"))?.position === 40)
  const closed = stop()
  for (const one of harness.outbound.open.slice()) one.respond(200)
  await closed
  const { position = 0 } = (await harness.replay("9")) ?? {}
  expect(position).toBeGreaterThanOrEqual(40)
  expect(await harness.replay("9")).toMatchObject({ state: "running", delivered: position })

  harness.outbound.respondToAll(() => 200)
  harness.start()
  await harness.until(harness.isEnded("9"))
  expect(await harness.replay("9")).toMatchObject({
    state: "complete",
    position: 100,
    delivered: 100,
    failed: 0,
  })
  expect(harness.sentSeqs()).toHaveLength(100)
})

test("a process that is killed at any moment leaves at most eight matches to be repeated", async () => {
  await harness.linkWithPosts(100)
  let saves = 0
  // From the tenth save on nothing is kept, as if the process had been killed then.
  const killed = withMethods(harness.links.store, {
    saveReplay: (progress) => (++saves < 10 ? harness.links.store.saveReplay(progress) : new Promise(() => undefined)),
  })
  harness.outbound.respondToAll(() => 200)
  harness.start(killed)
  await harness.create("9", 0, 100)
  await harness.until(() => saves === 10)
  await harness.clock.advance(10_000)
  const first = harness.sentSeqs()
  harness.start()
  await harness.until(harness.isEnded("9"))
  expect(new Set(harness.sentSeqs()).size).toBe(100)
  expect(harness.sentSeqs().length - 100).toBeLessThanOrEqual(8)
  expect(first.length).toBeLessThan(100)
  expect(await harness.replay("9")).toMatchObject({ delivered: 100, failed: 0 })
})

test("a replay whose store fails is restarted, and the failure is reported", async () => {
  await harness.linkWithPosts(30)
  let left = 2
  const failing = withMethods(harness.links.store, {
    saveReplay: (progress) =>
      left-- > 0 ? Promise.reject(new Error("disk full")) : harness.links.store.saveReplay(progress),
  })
  harness.outbound.respondToAll(() => 200)
  harness.start(failing)
  await harness.create("9", 0, 30)
  await harness.until(harness.isEnded("9"))
  expect(await harness.replay("9")).toMatchObject({ state: "complete", delivered: 30, failed: 0 })
  expect(harness.events.failures[0]).toMatchObject({ where: "replay", error: new Error("disk full") })
})

test("a replay that ends while the running ones are read is not started again", async () => {
  await harness.linkWithPosts(20)
  let isSlow = false
  const slow = withMethods(harness.links.store, {
    replays: async (of) => {
      const found = await harness.links.store.replays(of)
      if (isSlow && found.length > 0) {
        await expect.poll(() => harness.completions()).toHaveLength(1)
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      return found
    },
  })
  harness.start(slow)
  await harness.create("9", 0, 20)
  await harness.until(() => harness.outbound.open.length === 8)
  isSlow = true
  await harness.links.store.markWebhookValid(webhook, 0)
  harness.outbound.respondToAll(() => 200)
  await harness.until(() => harness.completions().length === 1)
  for (let turn = 0; turn < 10; turn++) {
    await harness.clock.advance(3_000)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  expect(harness.sentSeqs()).toHaveLength(20)
  expect(harness.completions()).toHaveLength(1)
  expect(harness.ended).toHaveLength(1)
})

/** The store, and how often its replays were read. */
function counted(more: Partial<Store> = {}): { store: Store; reads: number } {
  const state = {
    reads: 0,
    store: withMethods(harness.links.store, {
      ...more,
      replays: (of) => {
        state.reads += 1
        return harness.links.store.replays(of)
      },
    }),
  }
  return state
}

test("replays are reconciled when control data has changed, and otherwise only the version is read", async () => {
  await harness.linkWithPosts(20)
  let versionReads = 0
  const counting = counted({
    controlVersion: () => ((versionReads += 1), harness.links.store.controlVersion()),
  })
  harness.start(counting.store)
  await harness.create("9", 0, 20)
  await harness.until(() => harness.outbound.open.length === 8)
  await harness.clock.advance(1_000)
  counting.reads = 0
  versionReads = 0
  await harness.clock.advance(600_000)
  expect(counting.reads).toBe(0)
  expect(versionReads).toBe(60)
  await harness.links.store.markWebhookValid(webhook, 0)
  await harness.until(() => counting.reads === 1)
})

test("replays are not reconciled a hundred times for a hundred changes when that takes long", async () => {
  await harness.linkWithPosts(1)
  // Each read of the version takes a second.
  let slowMs = 0
  const counting = counted({
    controlVersion: () => ((slowMs += 1_000), harness.links.store.controlVersion()),
  })
  const slow = { ...harness.clock, monotonicMs: () => harness.clock.monotonicMs() + slowMs }
  harness.run(createReplays({ ...harness.depsOver(counting.store), clock: slow }))
  await harness.clock.advance(100)
  expect(counting.reads).toBe(1)
  for (let change = 0; change < 37; change++) {
    await harness.links.store.markWebhookValid(webhook, 0)
    await harness.clock.advance(100)
  }
  expect(counting.reads).toBe(1)
  await harness.clock.advance(400)
  expect(counting.reads).toBe(2)
})
