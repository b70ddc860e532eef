/** Endpoints that are down, come back, or are half up; and others next to them. */
import { once } from "node:events"
import { createServer } from "node:net"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import type { AppId, PostId, WebhookId } from "../../model/ids.ts"
import { systemClock } from "../../runtime/clock.ts"
import { portOf } from "../../runtime/outbound/endpoint-cases.testing.ts"
import { createManualClock, type ManualClock } from "../../runtime/manual-clock.testing.ts"
import { createOutbound } from "../../runtime/outbound/outbound.ts"
import { harnessConsumerSecret, numbered } from "./link-harness.testing.ts"
import { breathe, eventually, makeRunningLinks, type RunningLinks } from "./running-links.testing.ts"
import { WebhookReceiver } from "../../../../../test/support/webhook-receiver.testing.ts"

const url = "https://example.com/webhook"
const app = "1" as AppId
const webhook = "100" as WebhookId

let running: RunningLinks
let clock: ManualClock
const closers: (() => unknown)[] = []

beforeEach(async () => {
  running = await makeRunningLinks()
  clock = createManualClock()
})

afterEach(async () => {
  await running[Symbol.asyncDispose]()
  for (const close of closers.splice(0).toReversed()) await close()
})

/** A fraction for each call, the same in every run. */
function fractions(): () => number {
  let state = 1
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}

describe("half of all responses 5xx for an hour", () => {
  test("when half of all responses are 5xx for an hour, everything is delivered once, after the documented delays with jitter", async () => {
    const { harness, outbound } = running
    await harness.addLink("1", "100", url)
    const chance = fractions()
    const sentAtMs = new Map<string, number[]>()
    const taken = new Map<string, number>()
    const until = clock.nowMs() + 3_600_000
    outbound.respondToAll(({ postId }) => {
      sentAtMs.set(postId, [...(sentAtMs.get(postId) ?? []), clock.nowMs()])
      if (clock.nowMs() < until && chance() < 0.5) return 500
      taken.set(postId, (taken.get(postId) ?? 0) + 1)
      return 200
    })
    const random = { fraction: fractions(), bytes: (count: number) => new Uint8Array(count) }
    // So many slots that half of all never looks like an endpoint that is down.
    running.start({ clock, concurrency: 64, random, retryMaxMs: 300_000 })
    for (let minute = 0; minute < 60; minute++) {
      await harness.post("1", ...numbered(5).map((id) => String(minute * 5 + Number(id))))
      await eventually(() => sentAtMs.size).toBe((minute + 1) * 5)
      await clock.advance(60_000)
    }
    await clock.advance(600_000)
    await eventually(() => harness.progress("100")).toEqual({ position: 300, retries: [] })
    expect(taken.size).toBe(300)
    expect([...taken.values()].every((count) => count === 1)).toBe(true)

    const waits = [...sentAtMs.values()].flatMap((times) =>
      times.slice(1).map((atMs, index) => ({ failures: index + 1, waitMs: atMs - (times[index] ?? 0) })),
    )
    expect(waits.length).toBeGreaterThan(200)
    for (const { failures, waitMs } of waits) {
      const ceilingMs = Math.min(300_000, 1_000 * 2 ** (failures - 1))
      expect(waitMs).toBeGreaterThanOrEqual(ceilingMs / 2)
      expect(waitMs).toBeLessThanOrEqual(ceilingMs)
    }
    const first = waits.filter(({ failures }) => failures === 1).map(({ waitMs }) => waitMs)
    expect(new Set(first).size).toBeGreaterThan(first.length / 2)
  })
})

describe("a day's outage", () => {
  test("after a day's outage everything arrives once, through 1, 2, 4 … slots, and both changes are reported", async () => {
    const { harness, outbound, events } = running
    await harness.addLink("1", "100", url)
    outbound.respondToAll(() => ({ failure: "connect" }))
    // Longer than by default, so that a day has no more attempts than can be watched.
    const retryMaxMs = 1_800_000
    const { links } = running.start({ clock, concurrency: 8, retryMaxMs })
    for (let hour = 0; hour < 24; hour++) {
      await harness.post("1", ...numbered(10).map((id) => String(hour * 10 + Number(id))))
      await clock.advance(3_600_000)
    }
    // A day of an endpoint that is down costs a few tries, with some of the matches that it missed.
    const tried = new Set(running.receivedIds())
    expect(tried.size).toBeLessThanOrEqual(8 * 13)
    expect(outbound.received.length).toBeLessThan((86_400_000 / retryMaxMs) * 1.3 * tried.size)
    expect(events.turns).toEqual(["100 down"])
    expect(events.deadLettered).toEqual([])
    expect(await links.states()).toMatchObject([{ down: true, lag: 240, delivered: 0 }])

    outbound.respondToAll(() => undefined)
    await clock.advance(retryMaxMs)
    expect(outbound.open).toHaveLength(1)
    const before = outbound.received.length - 1
    const rounds: number[] = []
    while ((await harness.deliveredUpTo("100")) !== 240) {
      rounds.push(outbound.open.length)
      const count = outbound.received.length
      for (const one of outbound.open.slice()) one.respond(200)
      await breathe()
      if (outbound.received.length === count) await breathe()
    }
    expect(rounds.slice(0, 5)).toEqual([1, 1, 2, 4, 8])
    expect(Math.max(...rounds)).toBe(8)
    expect(outbound.received.length - before).toBe(240)
    expect(events.turns).toEqual(["100 down", "100 up"])
  })

  test("an endpoint that fails again while it recovers gets fewer slots, and nothing is lost", async () => {
    const { harness, outbound, events } = running
    await harness.addLink("1", "100", url)
    outbound.respondToAll(() => 503)
    running.start({ clock, concurrency: 4 })
    await harness.post("1", ...numbered(60))
    await eventually(() => events.turns).toEqual(["100 down"])
    let responses = 0
    let atOnce = 0
    // It accepts two requests of a burst, and refuses the rest.
    outbound.respondToAll(() => undefined)
    for (let second = 0; second < 600 && (await harness.deliveredUpTo("100")) !== 60; second++) {
      atOnce = Math.max(atOnce, outbound.open.length)
      for (const [index, one] of outbound.open.slice().entries()) one.respond(index < 2 ? 200 : 503)
      responses += 1
      await clock.advance(1_000)
    }
    expect(await harness.deliveredUpTo("100")).toBe(60)
    expect(atOnce).toBe(4)
    const refused = events.outcomes.filter((outcome) => outcome === "server_error").length
    expect(refused).toBeLessThan(60)
    expect(responses).toBeLessThan(300)
  })

  test("a day's outage on a quiet link with few matches dead-letters no match", async () => {
    const { harness, outbound, events } = running
    await harness.addLink("1", "100", url)
    outbound.respondToAll(() => 502)
    running.start({ clock, concurrency: 32, retryMaxMs: 300_000 })
    await harness.post("1", ...numbered(3))
    await eventually(() => events.outcomes.length).toBe(3)
    for (let hour = 0; hour < 24; hour++) await clock.advance(3_600_000)
    expect(outbound.received.length).toBeGreaterThan(3 * 100)
    expect(events.deadLettered).toEqual([])
    outbound.respondToAll(() => 200)
    await clock.advance(300_000)
    await eventually(() => harness.progress("100")).toEqual({ position: 3, retries: [] })
  })
})

describe("an endpoint that is down with hundreds of failing matches", () => {
  test.each([
    ["refuses", { failure: "connect" } as const],
    ["responds with 500", 500],
  ])("while it %s, one match at a time probes it, by the schedule of the link, whatever is due", async (_, given) => {
    const { harness, outbound, events } = running
    await harness.addLink("1", "100", url)
    const failing = 660
    // It takes what comes first, so that others are delivered around those that fail, until hundreds have.
    outbound.respondToAll(({ postId }) => (Number(postId) % 3 === 0 ? 200 : 500))
    const random = { fraction: fractions(), bytes: (count: number) => new Uint8Array(count) }
    const { links } = running.start({ clock, concurrency: 64, random, retryMaxMs: 300_000 })
    await harness.post("1", ...numbered(failing * 2))
    await eventually(async () => (await links.states())[0]?.total.retrying).toBeGreaterThan(failing)

    const sentAtMs: number[] = []
    outbound.respondToAll(() => {
      sentAtMs.push(clock.monotonicMs())
      return given
    })
    while (!events.turns.includes("100 down")) await clock.advance(100)
    await breathe()
    sentAtMs.length = 0
    for (let minute = 0; minute < 10; minute++) {
      await clock.advance(60_000)
      await breathe()
    }
    const waits = sentAtMs.slice(1).map((atMs, index) => atMs - (sentAtMs[index] ?? 0))
    expect(sentAtMs.length).toBeGreaterThan(60)
    expect(sentAtMs.length, "at most one in five seconds, and four at first").toBeLessThanOrEqual(124)
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(500)
    expect(Math.max(...waits)).toBeLessThanOrEqual(10_000)

    outbound.respondToAll(() => 200)
    await clock.advance(10_000)
    await eventually(() => events.turns.at(-1)).toBe("100 up")
    for (let minute = 0; minute < 10; minute++) await clock.advance(60_000)
    await eventually(async () => (await links.states())[0]?.total).toMatchObject({ retrying: 0, missed: 0 })
  })
})

describe("matches that an endpoint always rejects", () => {
  /** Posts, some each virtual minute, until `count` are there. */
  async function postSteadily(count: number): Promise<void> {
    for (let id = 1; id <= count; id += 4) {
      await running.harness.post("1", ...numbered(4).map((each) => String(id - 1 + Number(each))))
      for (let step = 0; step < 6; step++) await clock.advance(10_000)
    }
  }

  test("rejected matches stop no link, though they resemble an outage, and become dead letters", async () => {
    const { harness, outbound, events } = running
    await harness.addLink("1", "100", url)
    const taken: string[] = []
    outbound.respondToAll(({ postId }) => {
      if (Number(postId) % 3 === 0) return 500
      taken.push(postId)
      return 200
    })
    running.start({ clock, concurrency: 4, attemptsMax: 4 })
    await postSteadily(120)
    for (let minute = 0; minute < 60; minute++) await clock.advance(60_000)
    expect(events.turns.length).toBeGreaterThan(2)
    expect(taken.toSorted((a, b) => Number(a) - Number(b))).toEqual(numbered(120).filter((id) => Number(id) % 3 !== 0))
    expect(events.deadLettered.length).toBeGreaterThan(5)
  })

  test("rejected matches stop no link when they come all at once", async () => {
    const { harness, outbound } = running
    await harness.addLink("1", "100", url)
    outbound.respondToAll(({ postId }) => (Number(postId) <= 24 ? 400 : 200))
    const { links } = running.start({ clock, concurrency: 4 })
    await harness.post("1", ...numbered(60))
    for (let minute = 0; minute < 60; minute++) await clock.advance(60_000)
    expect(await links.states()).toMatchObject([{ total: { delivered: 36, retrying: 24 } }])
  })

  test("rejected matches become dead letters when they fill up the link and nothing else is tried", async () => {
    const { harness, outbound, events } = running
    await harness.addLink("1", "100", url)
    outbound.respondToAll(({ request }) => ((request.body?.length ?? 0) > 500_000 ? 413 : 200))
    running.start({ clock, concurrency: 32, attemptsMax: 5 })
    for (const id of numbered(17)) await harness.postLarge("1", id, 1_000_000)
    await harness.post("1", "18", "19", "20")
    for (let minute = 0; minute < 10; minute++) await clock.advance(60_000)
    expect(running.receivedIds()).toEqual(expect.arrayContaining(["18", "19", "20"]))
    expect(events.deadLettered.length).toBeGreaterThan(0)
  })

  test("a thousand rejected matches become dead letters within hours, and those behind them arrive", async () => {
    const { harness, outbound, events } = running
    await harness.addLink("1", "100", url)
    const last = 1_800
    const isTaken = (id: number): boolean => id > 1_600 || id % 3 === 0
    const taken = new Set<string>()
    outbound.respondToAll(({ postId }) => {
      if (!isTaken(Number(postId))) return 500
      taken.add(postId)
      return 200
    })
    const { links } = running.start({ clock, concurrency: 64, attemptsMax: 10, retryMaxMs: 300_000 })
    await harness.post("1", ...numbered(last))
    await eventually(async () => (await links.states())[0]?.total.retrying).toBeGreaterThan(900)
    const expected = numbered(last).map(Number).filter(isTaken)
    for (let minute = 0; minute < 240 && taken.size < expected.length; minute++) {
      await clock.advance(60_000)
      await breathe()
    }
    expect([...taken].map(Number).toSorted((a, b) => a - b)).toEqual(expected)
    expect(events.deadLettered.length).toBeGreaterThan(500)
  })
})

describe("an outage", () => {
  test("an outage does not count against the matches that failed during it", async () => {
    const { harness, outbound, events } = running
    await harness.addLink("1", "100", url)
    outbound.respondToAll(() => ({ failure: "connect" }))
    const { stop } = running.start({ clock, concurrency: 4, attemptsMax: 5 })
    await harness.post("1", ...numbered(8))
    for (let minute = 0; minute < 30; minute++) await clock.advance(60_000)
    expect(outbound.received.length).toBeGreaterThan(8 * 5)
    await stop()
    running.start({ clock, concurrency: 4, attemptsMax: 5 })
    for (let minute = 0; minute < 10; minute++) await clock.advance(60_000)
    const taken = new Set<string>()
    let responses = 0
    outbound.respondToAll(({ postId }) => {
      responses += 1
      // It is still shaky: everything else is refused once more.
      if (responses > 1 && responses < 12 && responses % 2 === 0) return 503
      taken.add(postId)
      return 200
    })
    for (let minute = 0; minute < 30; minute++) await clock.advance(60_000)
    await eventually(() => harness.progress("100")).toEqual({ position: 8, retries: [] })
    expect([events.deadLettered, taken.size]).toEqual([[], 8])
  })

  test("an outage does not count against a match that is alone on its link, however often the server starts meanwhile", async () => {
    const { harness, outbound, events } = running
    await harness.addLink("1", "100", url)
    outbound.respondToAll(() => ({ failure: "connect" }))
    await harness.post("1", "1")
    for (let start = 0; start < 4; start++) {
      const { stop } = running.start({ clock, concurrency: 8, attemptsMax: 10 })
      for (let minute = 0; minute < 60; minute++) await clock.advance(60_000)
      await stop()
    }
    expect(outbound.received.length).toBeGreaterThan(20)
    expect(events.deadLettered).toEqual([])
  })

  test("matches whose post is deleted during an outage are no probes", async () => {
    const { harness, outbound } = running
    await harness.addLink("1", "100", url)
    outbound.respondToAll(() => 503)
    running.start({ clock, concurrency: 2 })
    await harness.post("1", ...numbered(40))
    for (let second = 0; second < 60; second++) await clock.advance(1_000)
    const deleted = numbered(39).map((id) => ({ kind: "post" as const, id: id as PostId }))
    await harness.store.delete(deleted, clock.nowMs())
    const taken = new Set<string>()
    outbound.respondToAll(({ postId }) => (taken.add(postId), 200))
    // Each probe would delay the next one by five to ten seconds.
    for (let second = 0; second < 60; second++) await clock.advance(1_000)
    expect(taken).toEqual(new Set(["40"]))
  })

  test("an outage and its end are reported once, though the link is put in strict order and out of it meanwhile", async () => {
    const { harness, outbound, events } = running
    await harness.addLink("1", "100", url)
    outbound.respondToAll(() => 503)
    const { links } = running.start({ clock, concurrency: 2 })
    await harness.store.setLinkOrdered(app, webhook, true)
    await harness.post("1", "1")
    for (let second = 0; second < 5; second++) await clock.advance(1_000)
    await eventually(() => events.turns).toEqual(["100 down"])
    for (const isOrdered of [false, true, false]) {
      await harness.store.setLinkOrdered(app, webhook, isOrdered)
      await breathe()
      await clock.advance(1_000)
      expect(await links.states()).toMatchObject([{ ordered: isOrdered, down: true }])
    }
    outbound.respondToAll(() => 200)
    await clock.advance(60_000)
    await eventually(() => events.turns).toEqual(["100 down", "100 up"])
  })
})

describe("a cap of sends a second", () => {
  test.each([1, 3, 40, 250])("a cap of %i sends holds in every second, and is nearly reached", async (perSecondMax) => {
    const { harness, outbound } = running
    await harness.addLink("1", "100", url)
    const sentAtMs: number[] = []
    outbound.respondToAll(() => {
      sentAtMs.push(clock.monotonicMs())
      return 200
    })
    running.start({ clock, concurrency: 64, perSecondMax })
    await harness.post("1", ...numbered(perSecondMax * 4))
    await eventually(() => sentAtMs.length).toBeGreaterThan(0)
    for (let step = 0; step < 300; step++) await clock.advance(10)
    for (const [index, fromMs] of sentAtMs.entries()) {
      const within = sentAtMs.slice(index).filter((atMs) => atMs < fromMs + 1_000)
      expect(within.length).toBeLessThanOrEqual(perSecondMax)
    }
    expect(sentAtMs.length).toBeGreaterThan(perSecondMax * 3 * 0.9 - 1)
  })

  test("a cap of sends counts retries", async () => {
    const { harness, outbound } = running
    await harness.addLink("1", "100", url)
    outbound.respondToAll(() => 500)
    running.start({ clock, concurrency: 64, perSecondMax: 2, retryMaxMs: 1_000 })
    await harness.post("1", ...numbered(10))
    await eventually(() => outbound.received.length).toBe(1)
    await clock.advance(10_000)
    expect(outbound.received.length).toBeLessThanOrEqual(21)
    expect(outbound.received.length).toBeGreaterThan(15)
  })
})

describe("next to endpoints that do not respond", () => {
  test("99 healthy links deliver while one endpoint never responds", async () => {
    const { harness } = running
    await using good = await WebhookReceiver.start(harnessConsumerSecret)
    const hole = createServer((socket) => socket.on("error", () => undefined).resume())
    hole.listen(0, "127.0.0.1")
    await once(hole, "listening")
    closers.push(() => hole.close())
    const outbound = createOutbound({ allowPrivate: true })
    closers.push(() => outbound.close())
    await harness.addLink("1", "100", `http://127.0.0.1:${portOf(hole)}/`)
    for (let link = 1; link <= 99; link++) {
      await harness.addLink("1", String(100 + link), `${good.url}/${link}`)
    }
    const { links } = running.start({ outbound, clock: systemClock })
    await harness.post("1", ...numbered(5))
    await eventually(() => good.received.length).toBe(5 * 99)
    // On a busy machine the silent endpoint's own attempts may have timed out by then.
    const others = running.events.outcomes.filter((outcome) => outcome !== "delivered" && outcome !== "timeout")
    expect(others).toEqual([])
    const states = await links.states()
    expect(states.at(-1)).toMatchObject({ webhook_id: "100", delivered: 0 })
    await outbound.close()
  })

  test("a healthy link delivers while the names of 100 others are being resolved", async () => {
    const { harness } = running
    await using good = await WebhookReceiver.start(harnessConsumerSecret)
    const lookups = new Set<string>()
    const outbound = createOutbound({
      allowPrivate: true,
      resolve: (hostname) => {
        lookups.add(hostname)
        return new Promise(() => undefined)
      },
    })
    closers.push(() => outbound.close())
    for (let link = 1; link <= 100; link++) {
      await harness.addLink("1", String(100 + link), `http://slow-${link}.example.com/`)
    }
    await harness.addLink("1", "300", good.url)
    running.start({ outbound, clock: systemClock })
    await harness.post("1", ...numbered(20))
    await eventually(() => good.received.length).toBe(20)
    await eventually(() => lookups.size).toBe(100)
    expect(new Set(running.events.outcomes)).toEqual(new Set(["delivered"]))
    await outbound.close()
  })
})
