import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { type Clock } from "../../runtime/clock.ts"
import { createManualClock } from "../../runtime/manual-clock.testing.ts"
import type { Store } from "../../store/store.ts"
import {
  numbered,
  withMethods,
  type LinkHarness,
  type RecordedEvents,
  type ScriptedOutbound,
} from "./link-harness.testing.ts"
import { breathe, eventually, makeRunningLinks, type RunningLinks } from "./running-links.testing.ts"

const url = "https://example.com/webhook"

let running: RunningLinks
let harness: LinkHarness
let outbound: ScriptedOutbound
let events: RecordedEvents

beforeEach(async () => {
  running = await makeRunningLinks()
  ;({ harness, outbound, events } = running)
})

afterEach(async () => {
  await running[Symbol.asyncDispose]()
})

describe("stopping", () => {
  test("a stop waits for attempts in flight, starts nothing more, and saves the cursor", async () => {
    await harness.addLink("1", "100", url)
    const { stop } = running.start({ concurrency: 2 })
    await harness.post("1", ...numbered(10))
    await eventually(() => outbound.open.length).toBe(2)
    let isStopped = false
    const stopped = stop().then(() => (isStopped = true))
    await breathe()
    expect(isStopped).toBe(false)
    for (const one of outbound.open.slice()) one.respond(200)
    await stopped
    expect(running.receivedIds()).toEqual(["1", "2"])
    expect(await harness.deliveredUpTo("100")).toBe(2)
    outbound.respondToAll(() => 200)
    running.start()
    await eventually(() => harness.deliveredUpTo("100")).toBe(10)
    expect(running.receivedIds()).toEqual(numbered(10))
  })

  test("a stop aborts an attempt that does not end, and the next start sends it again under the same id", async () => {
    const clock = createManualClock()
    await harness.addLink("1", "100", url)
    const { stop } = running.start({ clock })
    await harness.post("1", "1", "2")
    await eventually(() => outbound.open.length).toBe(2)
    outbound.open[0]?.respond(200)
    const stopped = stop()
    await breathe()
    await clock.advance(8_000)
    await stopped
    expect(await harness.deliveredUpTo("100")).toBe(1)
    running.start()
    await eventually(() => outbound.received.map((one) => one.eventId)).toEqual(["msg_100_1", "msg_100_2", "msg_100_2"])
  })

  test("only deliveries without a response within a stop's 8 s are repeated, though saves are slow", async () => {
    const clock = createManualClock()
    const count = 30
    await harness.addLink("1", "100", url)
    const saveProgress: Store["saveProgress"] = async (progress) => {
      await clock.sleep(300)
      return harness.store.saveProgress(progress)
    }
    const { stop } = running.start({
      clock,
      concurrency: count,
      store: withMethods(harness.store, { saveProgress }),
    })
    await harness.post("1", ...numbered(count))
    await eventually(() => outbound.open.length).toBe(count)
    const stopped = stop()
    await breathe()
    // The newest first, and now and then one from the middle; one is left without a response.
    for (let ended = 1; ended < count; ended += 1) {
      const { open } = outbound
      open[ended % 3 === 0 ? Math.floor(open.length / 2) : open.length - 1]?.respond(200)
      await clock.advance(7_600 / count)
    }
    const [withoutResponse] = outbound.open
    await clock.advance(1_000)
    await clock.advance(1_000)
    await stopped
    outbound.respondToAll(() => 200)
    running.start()
    await eventually(() => harness.deliveredUpTo("100")).toBe(count)
    expect(running.receivedIds().slice(count)).toEqual([withoutResponse?.postId])
  })

  test("a stop does not wait for a store that hangs", async () => {
    const clock = createManualClock()
    await harness.addLink("1", "100", url)
    const saveProgress: Store["saveProgress"] = () => new Promise(() => undefined)
    outbound.respondToAll(() => 200)
    const { stop } = running.start({ clock, store: withMethods(harness.store, { saveProgress }) })
    await harness.post("1", "1")
    await eventually(() => outbound.received.length).toBe(1)
    const stopped = stop()
    await breathe()
    await clock.advance(8_000)
    await clock.advance(1_000)
    await clock.advance(1_000)
    await expect(stopped).resolves.toBeUndefined()
  })

  test("a stop does not wait for retries", async () => {
    await harness.addLink("1", "100", url)
    outbound.respondToAll(() => 500)
    const { stop } = running.start({ retryBaseMs: 60_000 })
    await harness.post("1", "1")
    await eventually(() => events.outcomes).toEqual(["server_error"])
    await stop()
    expect(await harness.progress("100")).toMatchObject({ position: 1, retries: [{ seq: 1, failures: 1 }] })
  })
})

describe("the next start", () => {
  /** Sends "1" to "4", of which "2" fails, and stops. */
  async function stopAfterFailure(clock: Clock): Promise<void> {
    await harness.addLink("1", "100", url)
    outbound.respondToAll(({ postId }) => (postId === "2" ? 503 : 200))
    const { stop } = running.start({ clock, retryBaseMs: 10_000 })
    await harness.post("1", "1", "2", "3", "4")
    await eventually(() => events.outcomes.length).toBe(4)
    await stop()
  }

  /** Ids and bytes that were sent of post "2". */
  const sentOfSecond = (): string[] =>
    outbound.received
      .filter(({ postId }) => postId === "2")
      .map(({ eventId, request }) => `${eventId} ${String(request.body)}`)

  test("the next start retries a failed match when due, as the same event, and then waits twice as long", async () => {
    const clock = createManualClock()
    await stopAfterFailure(clock)
    await clock.advance(4_000)
    const { links } = running.start({ clock, retryBaseMs: 10_000 })
    await eventually(() => links.states()).toMatchObject([{ position: 1, lag: 3 }])
    await eventually(() => links.states().then(([state]) => state?.next_attempt_at)).toBe(
      new Date(clock.nowMs() + 6_000).toISOString(),
    )
    await clock.advance(5_999)
    expect(sentOfSecond()).toHaveLength(1)
    await clock.advance(1)
    await eventually(sentOfSecond).toHaveLength(2)
    outbound.respondToAll(() => 200)
    await eventually(() => events.outcomes.length).toBe(5)
    await clock.advance(19_999)
    expect(sentOfSecond()).toHaveLength(2)
    await clock.advance(1)
    await eventually(() => harness.progress("100")).toEqual({ position: 4, retries: [] })
    expect(sentOfSecond()).toHaveLength(3)
    expect(new Set(sentOfSecond()).size).toBe(1)
    expect(running.receivedIds().filter((id) => id !== "2")).toEqual(["1", "3", "4"])
  })

  test.each([
    ["back", -86_400_000, 60_000],
    ["forward", 86_400_000, 0],
  ])("the next start waits no longer than any retry does when the clock has stepped %s", async (_, stepMs, waitMs) => {
    const clock = createManualClock()
    await stopAfterFailure(clock)
    const stepped = createManualClock(clock.nowMs() + stepMs)
    outbound.respondToAll(() => 200)
    const { links } = running.start({ clock: stepped })
    await eventually(() => links.states()).toMatchObject([{ delivered: waitMs === 0 ? 1 : 0 }])
    await eventually(() => stepped.sleepers).toBeGreaterThan(2)
    await stepped.advance(waitMs - 1)
    expect(sentOfSecond()).toHaveLength(waitMs === 0 ? 2 : 1)
    await stepped.advance(1)
    await eventually(() => harness.progress("100")).toEqual({ position: 4, retries: [] })
  })

  test("the next start tries each retry at its own time, though another is due at once", async () => {
    const clock = createManualClock()
    await harness.addLink("1", "100", url)
    const { stop } = running.start({ clock, retryBaseMs: 10_000 })
    await harness.post("1", "1", "2")
    await eventually(() => outbound.open.length).toBe(2)
    outbound.open[0]?.respond(503)
    await eventually(() => events.outcomes.length).toBe(1)
    await clock.advance(5_000)
    outbound.open[0]?.respond(503)
    await stop()
    await clock.advance(5_000)
    outbound.respondToAll(() => 200)
    running.start({ clock })
    await eventually(() => running.receivedIds()).toEqual(["1", "2", "1"])
    await clock.advance(4_999)
    expect(running.receivedIds()).toEqual(["1", "2", "1"])
    await clock.advance(1)
    await eventually(() => harness.progress("100")).toEqual({ position: 2, retries: [] })
  })

  test("the next start sends the matches that were in flight again at once, and no delivered match", async () => {
    const clock = createManualClock()
    await harness.addLink("1", "100", url)
    outbound.respondToAll(({ postId }) => (postId === "2" ? undefined : 200))
    const { stop } = running.start({ clock })
    await harness.post("1", "1", "2", "3", "4")
    await eventually(() => outbound.received.length).toBe(4)
    const stopped = stop()
    await breathe()
    await clock.advance(8_000)
    await stopped
    running.start({ clock })
    await eventually(sentOfSecond).toHaveLength(2)
    expect(running.receivedIds()).toEqual(["1", "2", "3", "4", "2"])
    expect(new Set(sentOfSecond()).size).toBe(1)
  })

  test("the next start keeps the order when only one may be sent at a time", async () => {
    const clock = createManualClock()
    await harness.addLink("1", "100", url)
    outbound.respondToAll(() => 503)
    const { stop } = running.start({ clock, concurrency: 1 })
    await harness.post("1", "1", "2", "3")
    await eventually(() => events.outcomes.length).toBe(1)
    await stop()
    outbound.respondToAll(() => 200)
    running.start({ clock, concurrency: 1 })
    await eventually(() => clock.sleepers).toBeGreaterThan(0)
    await clock.advance(999)
    expect(running.receivedIds()).toEqual(["1"])
    await clock.advance(1)
    await eventually(() => harness.progress("100")).toEqual({ position: 3, retries: [] })
    expect(running.receivedIds()).toEqual(["1", "1", "2", "3"])
  })

  test("the next start shows the position before the oldest retry, also while the link does not run", async () => {
    await stopAfterFailure(createManualClock())
    const links = running.create()
    expect(await links.states()).toMatchObject([{ position: 1, head: 4, lag: 3, in_flight: 0 }])
  })
})

test("progress of several links is saved together, one save at a time", async () => {
  let saves = 0
  let underWay = 0
  const saveProgress: Store["saveProgress"] = async (progress) => {
    underWay += 1
    saves += 1
    expect(underWay).toBe(1)
    const lost = await harness.store.saveProgress(progress)
    await new Promise((resolve) => setTimeout(resolve, 5))
    underWay -= 1
    return lost
  }
  const counting = withMethods(harness.store, { saveProgress })
  for (const id of ["100", "101", "102"]) await harness.addLink("1", id, `https://example.com/${id}`)
  outbound.respondToAll(() => 200)
  const { stop } = running.start({ store: counting, concurrency: 32 })
  await harness.post("1", ...numbered(500))
  await eventually(() => outbound.received.length).toBe(1_500)
  await stop()
  expect(saves).toBeLessThan(100)
  for (const id of ["100", "101", "102"]) expect(await harness.deliveredUpTo(id)).toBe(500)
})
