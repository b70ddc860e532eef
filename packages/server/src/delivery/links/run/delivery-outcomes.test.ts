/** The effects on a link of each way in which an attempt may end. */
import { attemptOutcomes, faultOf } from "@sluice/api"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import type { AppId, WebhookId } from "../../../model/ids.ts"
import { createManualClock, type ManualClock } from "../../../runtime/manual-clock.testing.ts"
import type { Store } from "../../../store/store.ts"
import { numbered, withMethods, type ScriptedResponse } from "../link-harness.testing.ts"
import { breathe, eventually, makeRunningLinks, type RunningLinks } from "../running-links.testing.ts"

const url = "https://example.com/webhook"
const app = "1" as AppId
const webhook = "100" as WebhookId

let running: RunningLinks
let clock: ManualClock

beforeEach(async () => {
  running = await makeRunningLinks()
  clock = createManualClock()
  await running.harness.addLink("1", "100", url)
})

afterEach(async () => {
  await running[Symbol.asyncDispose]()
})

/** Waits until `count` attempts have ended, and what came of them is saved. */
async function ended(count: number): Promise<void> {
  await eventually(() => running.events.outcomes.length).toBe(count)
  await breathe()
}

/** Waits until all matches up to a position are delivered. A save that waits for others to join it needs time, too. */
async function allDelivered(position: number): Promise<void> {
  await eventually(async () => (await clock.advance(1), running.harness.progress("100"))).toEqual({
    position,
    retries: [],
  })
}

/** How long a match waits for its second attempt, to the step of 250 ms. */
async function waitMs(): Promise<number> {
  const sentBefore = running.outbound.received.length
  const fromMs = clock.nowMs()
  while (running.outbound.received.length === sentBefore && clock.nowMs() - fromMs < 600_000) {
    await clock.advance(250)
  }
  return clock.nowMs() - fromMs
}

describe("Retry-After", () => {
  const bounds = { retryBaseMs: 1_000, retryMaxMs: 300_000 }
  const day = new Date(1_800_000_000_000 - 86_400_000).toUTCString()
  const soon = new Date(1_800_000_000_000 + 90_000).toUTCString()

  test.each([
    ["0", 1_000],
    ["-5", 1_000],
    ["7", 7_000],
    ["300", 300_000],
    ["301", 300_000],
    ["99999999999999999999", 300_000],
    ["NaN", 1_000],
    ["Infinity", 1_000],
    ["", 1_000],
    ["1e3", 1_000],
    [day, 1_000],
    [soon, 90_000],
    ["Wed, 99 Foo 2027 00:00:00 GMT", 1_000],
  ])("of %j delays the next attempt by %i ms, within the bounds of the schedule", async (retryAfter, expected) => {
    const { outbound, harness } = running
    outbound.respondToAll(() => ({ status: 429, retryAfter }))
    running.start({ clock, ...bounds })
    await harness.post("1", "1")
    await ended(1)
    expect(await waitMs()).toBe(expected)
  })

  test.each([
    [429, ["1"]],
    [503, ["1"]],
    [500, ["1", "2"]],
    [404, ["1", "2"]],
  ])("until Retry-After with status %i has passed, these are sent: %j", async (status, sent) => {
    const { outbound, harness } = running
    outbound.respondToAll(({ postId }) => (postId === "1" ? { status, retryAfter: "60" } : 200))
    running.start({ clock, ...bounds })
    await harness.post("1", "1")
    await ended(1)
    await harness.post("1", "2")
    await breathe()
    await clock.advance(59_000)
    expect(running.receivedIds()).toEqual(sent)
    outbound.respondToAll(() => 200)
    await clock.advance(1_000)
    await allDelivered(2)
    expect(running.receivedIds().toSorted()).toEqual(["1", "1", "2"])
  })

  test("a Retry-After is over when the endpoint has passed a challenge", async () => {
    const { outbound, harness } = running
    outbound.respondToAll(() => ({ status: 503, retryAfter: "60" }))
    running.start({ clock, ...bounds })
    await harness.post("1", "1")
    await ended(1)
    await harness.store.invalidateWebhook(webhook, "responded late")
    await breathe()
    outbound.respondToAll(() => 200)
    await clock.advance(1_000)
    await harness.store.markWebhookValid(webhook, 2)
    await clock.advance(1_000)
    await allDelivered(1)
    expect(running.receivedIds()).toEqual(["1", "1"])
  })

  test("a Retry-After delays the retries of others too, and is shown as the next attempt", async () => {
    const { outbound, harness } = running
    outbound.respondToAll(({ postId }) => (postId === "1" ? 500 : { status: 503, retryAfter: "60" }))
    const { links } = running.start({ clock, ...bounds })
    await harness.post("1", "1", "2")
    await ended(2)
    const [state] = await links.states()
    expect(state?.next_attempt_at).toBe(new Date(clock.nowMs() + 60_000).toISOString())
    await clock.advance(59_999)
    expect(running.receivedIds()).toEqual(["1", "2"])
    outbound.respondToAll(() => 200)
    await clock.advance(1)
    await allDelivered(2)
  })
})

describe("410 Gone", () => {
  test("410 Gone invalidates the webhook, with the reason, and the match is sent after revalidation", async () => {
    const { outbound, harness, events } = running
    outbound.respondToAll(({ postId }) => (postId === "1" ? 410 : 200))
    const day = 86_400_000
    const { links } = running.start({
      clock,
      concurrency: 1,
      attemptsMax: 1,
      retryBaseMs: day,
      retryMaxMs: day,
    })
    await harness.post("1", "1", "2", "3")
    await ended(1)
    await clock.advance(3_600_000)
    expect(running.receivedIds()).toEqual(["1"])
    expect(events.webhookTurns).toEqual(["100 invalid"])
    expect(events.deadLettered).toEqual([])
    expect(await links.state(webhook)).toMatchObject({ valid: false, invalid_reason: "responded with 410 Gone" })
    expect(await harness.progress("100")).toMatchObject({ retries: [{ seq: 1, failures: 1 }] })

    outbound.respondToAll(() => 200)
    await harness.store.markWebhookValid(webhook, 1)
    await allDelivered(3)
    expect(running.receivedIds()).toEqual(["1", "1", "2", "3"])
  })

  test("410 Gone in several attempts at once invalidates the webhook once", async () => {
    const { outbound, harness, events } = running
    let writes = 0
    const invalidateWebhook: Store["invalidateWebhook"] = async (...args) => {
      writes += 1
      return harness.store.invalidateWebhook(...args)
    }
    running.start({ clock, concurrency: 4, store: withMethods(harness.store, { invalidateWebhook }) })
    await harness.post("1", ...numbered(20))
    await eventually(() => outbound.open.length).toBe(4)
    outbound.respondToAll(() => 410)
    await ended(4)
    await clock.advance(600_000)
    expect([writes, running.outbound.received.length]).toEqual([1, 4])
    expect(events.webhookTurns).toEqual(["100 invalid"])
  })

  test("410 Gone takes precedence over a reconcile that read the link before", async () => {
    const { outbound, harness, events } = running
    const looked = Promise.withResolvers<void>()
    let isHeld = false
    const allLinks: Store["allLinks"] = async (...args) => {
      const links = await harness.store.allLinks(...args)
      if (isHeld) await looked.promise
      return links
    }
    const { links } = running.start({
      clock,
      concurrency: 2,
      store: withMethods(harness.store, { allLinks }),
    })
    await harness.post("1", "1", "2", "3")
    await eventually(() => outbound.open.length).toBe(2)
    isHeld = true
    // Another change, which has the links looked at.
    await harness.addLink("1", "101", `${url}/other`)
    await breathe()
    isHeld = false
    outbound.respondToAll(() => 410)
    await ended(2)
    looked.resolve()
    await breathe()
    await clock.advance(1_000)
    expect(await links.state(webhook)).toMatchObject({ valid: false })
    expect([outbound.received.length, events.webhookTurns]).toEqual([2, ["100 invalid"]])

    outbound.respondToAll(() => 200)
    await harness.store.markWebhookValid(webhook, 1)
    await clock.advance(1_000)
    await allDelivered(3)
  })

  test("410 Gone that cannot be stored is retried on the schedule, and the failure is reported", async () => {
    const { outbound, harness, events } = running
    const invalidateWebhook: Store["invalidateWebhook"] = () => Promise.reject(new Error("disk full"))
    running.start({ clock, concurrency: 1, store: withMethods(harness.store, { invalidateWebhook }) })
    outbound.respondToAll(() => 410)
    await harness.post("1", "1")
    await ended(1)
    await clock.advance(3_500)
    expect(running.outbound.received).toHaveLength(3)
    expect(events.failures.map(({ where }) => where)).toEqual(Array(3).fill("webhook link"))
  })
})

describe("a match that fails", () => {
  test("a match that fails becomes a dead letter after its attempts, and the others are delivered around it", async () => {
    const { outbound, harness, events } = running
    outbound.respondToAll(({ postId }) => (postId === "2" ? 400 : 200))
    const { links } = running.start({ clock, attemptsMax: 3 })
    await harness.post("1", "1", "2", "3")
    await ended(3)
    expect(events.deadLettered).toEqual([])
    await clock.advance(3_000)
    await ended(5)
    expect(events.deadLettered).toEqual(["msg_100_2 rejected"])
    expect(await harness.progress("100")).toEqual({ position: 3, retries: [] })
    const [letter] = await harness.store.deadLetters({ appId: app }, { direction: "older", limit: 10 })
    expect(letter).toMatchObject({
      linkId: "100",
      seq: 2,
      postId: "2",
      failures: 3,
      outcome: "rejected",
      status: 400,
      error: "responded with status 400",
      deadLetteredAtMs: clock.nowMs(),
    })
    expect(await links.state(webhook)).toMatchObject({
      position: 3,
      lag: 0,
      total: { delivered: 2, retrying: 0, dead_letters: 1, expired: 0, missed: 0, withdrawn: 0 },
    })
    await clock.advance(3_600_000)
    expect(running.outbound.received).toHaveLength(5)
  })

  test("a match is sent again, at once and under the same id, when its dead letter is redelivered, and nothing else is", async () => {
    const { outbound, harness } = running
    outbound.respondToAll(({ postId }) => (postId === "2" ? 400 : 200))
    const { links } = running.start({ clock, attemptsMax: 1 })
    await harness.post("1", "1", "2", "3")
    await ended(3)
    outbound.respondToAll(() => 200)
    const [letter] = await harness.store.deadLetters({}, { direction: "older", limit: 10 })
    if (letter === undefined) throw new Error("expected a dead letter")
    expect(await harness.store.redeliver({ kind: "ids", ids: [letter.id] })).toBe(1)
    await ended(4)
    expect(outbound.received.map((one) => one.eventId)).toEqual(["msg_100_1", "msg_100_2", "msg_100_3", "msg_100_2"])
    // Progress is saved after a short pause.
    await clock.advance(100)
    await eventually(() => links.state(webhook)).toMatchObject({
      total: { delivered: 3, retrying: 0, dead_letters: 0 },
    })
  })

  test("a match that fails again becomes a dead letter again, any number of times", async () => {
    const { outbound, harness, events } = running
    outbound.respondToAll(() => 400)
    running.start({ clock, concurrency: 16, attemptsMax: 2 })
    await harness.post("1", "1")
    for (let life = 1; life <= 3; life++) {
      await ended(2 * life - 1)
      await clock.advance(1_000)
      await ended(2 * life)
      expect(events.deadLettered).toHaveLength(life)
      await eventually(() => harness.store.redeliver({ kind: "all" })).toBe(1)
    }
  })

  test("a match that is redelivered while it is in flight is sent once", async () => {
    const { outbound, harness } = running
    outbound.respondToAll(({ postId }) => (postId === "1" ? 400 : undefined))
    running.start({ clock, attemptsMax: 1 })
    await harness.post("1", "1", "2", "3")
    await ended(1)
    outbound.open.find((one) => one.postId === "3")?.respond(200)
    await ended(2)
    // "2" is now a retry of the store, and in flight; reading the retries again must not send it twice.
    await harness.store.redeliver({ kind: "all" })
    await eventually(() => running.receivedIds()).toEqual(["1", "2", "3", "1"])
    await breathe()
    outbound.respondToAll(() => 200)
    await allDelivered(3)
    expect(running.receivedIds()).toEqual(["1", "2", "3", "1"])
  })

  test("a match that fails becomes a dead letter only while others are delivered", async () => {
    const { outbound, harness, events } = running
    outbound.respondToAll(() => 500)
    running.start({ clock, concurrency: 2, attemptsMax: 3 })
    await harness.post("1", "1")
    for (let attempt = 1; attempt <= 8; attempt++) {
      await ended(attempt)
      await waitMs()
    }
    expect(events.deadLettered).toEqual([])
    outbound.respondToAll(({ postId }) => (postId === "1" ? 500 : 200))
    // Failures while nothing got through do not count against the match.
    for (const id of ["2", "3"]) {
      expect(events.deadLettered).toEqual([])
      await harness.post("1", id)
      await eventually(() => running.receivedIds()).toContain(id)
      await clock.advance(120_000)
    }
    await eventually(() => events.deadLettered).toEqual(["msg_100_1 server_error"])
  })

  test("a match that this server fails to send is retried forever, and the endpoint stays up", async () => {
    const { outbound, harness, events } = running
    outbound.respondToAll(() => ({ failure: "local_error" }))
    const { links } = running.start({ clock, concurrency: 2, attemptsMax: 2 })
    await harness.post("1", "1", "2", "3", "4")
    await ended(2)
    for (let minute = 0; minute < 20; minute++) await clock.advance(60_000)
    expect(running.outbound.received.length).toBeGreaterThan(40)
    // So many failures say that the others would fail too.
    expect(new Set(running.receivedIds())).toEqual(new Set(["1", "2"]))
    expect(events.deadLettered).toEqual([])
    expect(events.turns).toEqual([])
    expect(await harness.progress("100")).toMatchObject({
      retries: [{ failures: 0 }, { failures: 0 }],
    })
    expect(await links.state(webhook)).toMatchObject({ down: false, delivered: 0 })
    outbound.respondToAll(() => 200)
    await clock.advance(60_000)
    await allDelivered(4)
  })

  const ofEndpoint = attemptOutcomes.filter((outcome) => faultOf(outcome) === "endpoint" && outcome !== "gone")
  const responses: Readonly<Record<string, ScriptedResponse>> = { redirect: 301, rejected: 403, failed: 500 }

  test.each(ofEndpoint)(
    "a match that fails with %s is retried, and becomes a dead letter with that outcome",
    async (outcome) => {
      const { outbound, harness, events } = running
      const response = responses[outcome] ?? ({ failure: outcome } as ScriptedResponse)
      outbound.respondToAll(() => response)
      running.start({ clock, attemptsMax: 2 })
      await harness.post("1", "1")
      await ended(1)
      await clock.advance(1_000)
      await ended(2)
      expect(events.deadLettered).toEqual([`msg_100_1 ${outcome}`])
      expect(events.outcomes).toEqual([outcome, outcome])
    },
  )
})

describe("a damaged entry", () => {
  /** The store as it is when the post of entry `seq` is damaged. */
  function damaged(seq: number): Store {
    const { store } = running.harness
    return withMethods(store, {
      async matches(range) {
        const entries = await store.matches(range)
        return entries.map((entry) => {
          const { postJson, ...rest } = entry
          return entry.seq === seq || postJson === undefined ? rest : entry
        })
      },
      async retries(...args) {
        const retries = await store.retries(...args)
        return retries.map((retry) => {
          const { postJson, ...rest } = retry.entry
          return retry.seq === seq || postJson === undefined ? { ...retry, entry: rest } : retry
        })
      },
    })
  }

  test("a damaged entry is never sent, and becomes a dead letter at once; all others are delivered", async () => {
    const { outbound, harness, events } = running
    outbound.respondToAll(() => 200)
    const { links } = running.start({ clock, store: damaged(2) })
    await harness.post("1", "1", "2", "3")
    await ended(3)
    expect(running.receivedIds()).toEqual(["1", "3"])
    expect(events.deadLettered).toEqual(["msg_100_2 damaged"])
    await clock.advance(1_000)
    await eventually(() => links.attempts(webhook, app, 10)).toHaveLength(3)
    const attempts = await links.attempts(webhook, app, 10)
    expect(attempts?.find(({ seq }) => seq === 2)).toMatchObject({ outcome: "damaged", bytes: 0 })
    const letters = await harness.store.deadLetters({}, { direction: "older", limit: 10 })
    expect(letters).toMatchObject([{ seq: 2, outcome: "damaged", failures: 0 }])
  })

  test("a damaged entry that was a retry before becomes a dead letter too", async () => {
    const { outbound, harness, events } = running
    outbound.respondToAll(({ postId }) => (postId === "2" ? 500 : 200))
    const { stop } = running.start({ clock })
    await harness.post("1", "1", "2", "3")
    await ended(3)
    await stop()
    running.start({ clock, store: damaged(2) })
    await eventually(() => clock.sleepers).toBeGreaterThan(0)
    await clock.advance(1_000)
    await allDelivered(3)
    expect(events.deadLettered).toEqual(["msg_100_2 damaged"])
    expect(running.receivedIds()).toEqual(["1", "2", "3"])
  })
})

describe("strict order", () => {
  const setOrdered = (isOrdered: boolean): Promise<boolean> =>
    running.harness.store.setLinkOrdered(app, webhook, isOrdered)

  test("strict order sends one match after the other, and a failing one blocks the others until it is delivered", async () => {
    const { outbound, harness } = running
    await setOrdered(true)
    const tries = new Map<string, number>()
    outbound.respondToAll(({ postId }) => {
      tries.set(postId, (tries.get(postId) ?? 0) + 1)
      return Number(postId) % 3 === 0 && tries.get(postId) === 1 ? 503 : 200
    })
    running.start({ concurrency: 8, retryBaseMs: 2 })
    await harness.post("1", ...numbered(20))
    await eventually(() => harness.deliveredUpTo("100")).toBe(20)
    expect(running.receivedIds()).toEqual(numbered(20).flatMap((id) => (Number(id) % 3 === 0 ? [id, id] : [id])))
    expect(outbound.openMax).toBe(1)
  })

  test("strict order continues after the attempts of a failing match, whether or not anything is delivered", async () => {
    const { outbound, harness, events } = running
    await setOrdered(true)
    outbound.respondToAll(({ postId }) => (Number(postId) <= 2 ? 500 : 200))
    running.start({ clock, concurrency: 2, attemptsMax: 3 })
    await harness.post("1", "1", "2", "3")
    const aSecondLater = async (): ReturnType<typeof harness.progress> => {
      await clock.advance(1_000)
      return harness.progress("100")
    }
    await eventually(aSecondLater).toEqual({ position: 3, retries: [] })
    expect(running.receivedIds()).toEqual(["1", "1", "1", "2", "2", "2", "3"])
    expect(events.deadLettered).toEqual(["msg_100_1 server_error", "msg_100_2 server_error"])
  })

  test("strict order that begins while several are in flight starts nothing until these have ended, and then the oldest first", async () => {
    const { outbound, harness } = running
    running.start({ clock, concurrency: 3 })
    await harness.post("1", ...numbered(6))
    await eventually(() => outbound.open.length).toBe(3)
    await setOrdered(true)
    await breathe()
    const respond = (id: string, status: number): void =>
      outbound.open.find((one) => one.postId === id)?.respond(status)
    respond("2", 500)
    await ended(1)
    await clock.advance(500)
    respond("1", 500)
    respond("3", 200)
    await ended(3)
    expect(running.receivedIds()).toEqual(["1", "2", "3"])
    outbound.respondToAll(() => 200)
    // "2" is due half a second before "1", and waits for it.
    await clock.advance(500)
    await breathe()
    expect(running.receivedIds()).toEqual(["1", "2", "3"])
    await clock.advance(500)
    await allDelivered(6)
    expect(running.receivedIds()).toEqual(["1", "2", "3", "1", "2", "4", "5", "6"])
  })

  test("when strict order ends, the others are delivered around a failing match", async () => {
    const { outbound, harness } = running
    await setOrdered(true)
    outbound.respondToAll(({ postId }) => (postId === "1" ? 500 : 200))
    running.start({ clock })
    await harness.post("1", "1", "2", "3")
    await ended(1)
    expect(running.receivedIds()).toEqual(["1"])
    await setOrdered(false)
    await eventually(() => running.receivedIds()).toEqual(["1", "2", "3"])
  })
})
