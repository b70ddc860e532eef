import { createHmac } from "node:crypto"
import { signature } from "@sluice/api"
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import type { AppId, LinkId, MatchSeq, ReplayId, WebhookId } from "../model/ids.ts"
import type { Replay } from "../model/replay.ts"
import { createManualClock, type ManualClock } from "../runtime/manual-clock.testing.ts"
import { systemRandom } from "../runtime/random.ts"
import type { Store } from "../store/store.ts"
import {
  createRecordedEvents,
  createScriptedOutbound,
  harnessConsumerSecret,
  harnessSecretBox,
  harnessSigningKey,
  makeLinkHarness,
  numbered,
  withMethods,
  type LinkHarness,
  type RecordedEvents,
  type ScriptedOutbound,
} from "./link-harness.testing.ts"
import { createReplays } from "./replays.ts"
import { createWebhookLinks } from "./webhook-links.ts"

const app = "1" as AppId
const webhook = "100" as WebhookId
const url = "https://example.com/webhook"

let harness: LinkHarness
let clock: ManualClock
let outbound: ScriptedOutbound
let events: RecordedEvents
let ended: { state: string; delivered: number; failed: number }[]
const stops: (() => Promise<void>)[] = []

beforeEach(async () => {
  harness = await makeLinkHarness()
  clock = createManualClock()
  outbound = createScriptedOutbound()
  ended = []
  events = {
    ...createRecordedEvents(),
    replayEnded: ({ state, delivered, failed }) => void ended.push({ state, delivered, failed }),
  }
})

afterEach(async () => {
  outbound.answerAll(() => 200)
  for (const stop of stops.splice(0)) await stop()
  await harness[Symbol.asyncDispose]()
})

function depsOver(store: Store) {
  return {
    store,
    outbound,
    secretBox: harnessSecretBox,
    clock,
    random: systemRandom,
    events,
    attemptMsMax: 10_000,
    attemptsKeptPerLink: 100,
    deliveriesPerLinkPerSecondMax: 0,
    drainMsMax: 1_000,
  }
}

/** Starts sending replays; the function stops it, as an orderly end does. */
function start(
  store = harness.store,
  more: { deliveriesPerLinkPerSecondMax?: number } = {},
): () => Promise<void> {
  return running(createReplays({ ...depsOver(store), ...more }))
}

function running(work: { run(signal: AbortSignal): Promise<void> }): () => Promise<void> {
  const stopping = new AbortController()
  const end = work.run(stopping.signal)
  const stop = async (): Promise<void> => {
    stopping.abort()
    await clock.advance(2_000)
    await end
  }
  stops.push(stop)
  return stop
}

/** Time goes on until the condition holds. */
async function until(condition: () => unknown, stepMs = 500): Promise<void> {
  for (let step = 0; step < 2_000; step++) {
    if ((await condition()) === true) return
    await clock.advance(stepMs)
    await new Promise((resolve) => setImmediate(resolve))
  }
  throw new Error("that never came to be")
}

async function create(id: string, position: number, endSeq: number): Promise<void> {
  const outcome = await harness.store.createReplay({
    id: id as ReplayId,
    appId: app,
    webhookId: webhook,
    linkId: "100" as LinkId,
    fromMs: 0,
    toMs: 0,
    position: position as MatchSeq,
    endSeq: endSeq as MatchSeq,
    delivered: 0,
    failed: 0,
    createdAtMs: 0,
    state: "running",
  })
  expect(outcome).toBe("created")
}

async function replay(id: string): Promise<Replay | undefined> {
  return (await harness.store.replays({ appId: app })).find((one) => one.id === id)
}

const isEnded = (id: string) => async (): Promise<boolean> => {
  const { state } = (await replay(id)) ?? {}
  return state !== "running"
}

const sentSeqs = (): number[] =>
  outbound.received
    .filter(({ eventId }) => eventId.startsWith("msg_"))
    .map(({ eventId }) => Number(eventId.split("_")[2]))

const completions = () => outbound.received.filter(({ eventId }) => eventId.startsWith("replay_"))

/** The store, with matches whose posts are damaged. */
function damagedWhere(isDamaged: (seq: number) => boolean): Store {
  return withMethods(harness.store, {
    matches: async (range) =>
      (await harness.store.matches(range)).map((entry) => {
        const { postJson: _, ...damaged } = entry
        return isDamaged(entry.seq) ? damaged : entry
      }),
  })
}

async function linkWithPosts(count: number): Promise<void> {
  await harness.addLink("1", "100", url)
  await harness.post("1", ...numbered(count))
}

describe("a replay", () => {
  test("sends its window once more, under the ids of the first delivery, and then says that it is complete", async () => {
    await linkWithPosts(50)
    outbound.answerAll(() => 200)
    start()
    await create("9", 10, 40)
    await until(isEnded("9"))
    await until(() => completions().length === 1)
    expect(sentSeqs().toSorted((a, b) => a - b)).toEqual(numbered(40).slice(10).map(Number))
    expect(await replay("9")).toMatchObject({
      state: "complete",
      position: 40,
      delivered: 30,
      failed: 0,
      endedAtMs: expect.any(Number) as number,
    })
    expect(ended).toEqual([{ state: "complete", delivered: 30, failed: 0 }])
    expect((await harness.progress("100"))?.position, "the link's own cursor").toBe(0)

    const { request } = completions()[0] ?? {}
    const body = String(request?.body)
    const headers = request?.headers ?? {}
    expect(JSON.parse(body)).toEqual({
      replay_job_status: {
        webhook_id: "100",
        job_state: "Complete",
        job_state_description: "Job completed successfully",
        job_id: "9",
      },
    })
    const { "webhook-id": eventId, "webhook-timestamp": atS } = headers
    expect(eventId).toBe("replay_9")
    const signed = createHmac("sha256", harnessSigningKey)
      .update(`${eventId}.${atS}.${body}`)
      .digest("base64")
    expect(headers).toMatchObject({
      "content-type": "application/json",
      "x-twitter-webhooks-signature": signature(harnessConsumerSecret, body),
      "webhook-signature": `v1,${signed}`,
    })
  })

  test("has at most eight on their way, and saves no further than everything is done", async () => {
    await linkWithPosts(30)
    start()
    await create("9", 0, 30)
    await until(() => outbound.open.length === 8)
    await clock.advance(10_000)
    expect(outbound.open).toHaveLength(8)
    // All but the first: the head cannot move.
    for (const one of outbound.open.slice(1)) one.answer(200)
    await clock.advance(1_000)
    expect(outbound.received).toHaveLength(8)
    expect(await replay("9")).toMatchObject({ position: 0, delivered: 0 })
    outbound.open[0]?.answer(200)
    await until(async () => (await replay("9"))?.position === 8)
    expect(outbound.openMax).toBe(8)
    outbound.answerAll(() => 200)
    await until(isEnded("9"))
    expect(sentSeqs()).toHaveLength(30)
  })

  test("tries a match five times, waiting longer each time; a poison one makes it incomplete and stops no other", async () => {
    await linkWithPosts(20)
    const sentAt: number[] = []
    outbound.answerAll(({ eventId }) => {
      if (eventId !== "msg_100_7") return 200
      sentAt.push(clock.monotonicMs())
      return 500
    })
    start()
    await create("9", 0, 20)
    await until(isEnded("9"), 100)
    expect(await replay("9")).toMatchObject({ state: "incomplete", position: 20, delivered: 19, failed: 1 })
    expect(sentSeqs().filter((seq) => seq === 7)).toHaveLength(5)
    const waits = sentAt.slice(1).map((atMs, index) => atMs - (sentAt[index] ?? 0))
    for (const [index, waitMs] of waits.entries()) {
      expect(waitMs).toBeGreaterThanOrEqual(500 * 2 ** index)
      expect(waitMs).toBeLessThanOrEqual(1_000 * 2 ** index + 200)
    }
    await until(() => completions().length === 1)
    expect(JSON.parse(String(completions()[0]?.request.body))).toMatchObject({
      replay_job_status: {
        job_state: "Incomplete",
        job_state_description: "Job failed to deliver all events, please retry your replay job",
      },
    })
  })

  test("waits as long as Retry-After asks, half a minute at most", async () => {
    await linkWithPosts(1)
    outbound.answerAll(() => ({ status: 503, retryAfter: "86400" }))
    start()
    await create("9", 0, 1)
    await until(() => outbound.received.length === 1)
    await clock.advance(29_000)
    expect(outbound.received).toHaveLength(1)
    outbound.answerAll(() => 200)
    await clock.advance(1_500)
    await until(isEnded("9"))
    expect(sentSeqs()).toEqual([1, 1])
  })

  test("gives up at an endpoint that takes nothing, and says so as soon as it can", async () => {
    await linkWithPosts(1_000)
    outbound.answerAll(() => ({ failure: "connect" }))
    start()
    await create("9", 0, 1_000)
    await until(isEnded("9"))
    expect(await replay("9")).toMatchObject({
      state: "incomplete",
      position: 1_000,
      delivered: 0,
      failed: 1_000,
    })
    expect(new Set(sentSeqs()).size).toBeLessThan(16)
    await until(() => completions().length === 3)
    outbound.answerAll(() => 200)
    await until(() => completions().length === 4)
    await clock.advance(100_000)
    expect(completions(), "told once it has been heard").toHaveLength(4)
  })

  test("does not give up at what is damaged: that is not the endpoint's fault", async () => {
    await linkWithPosts(60)
    outbound.answerAll(() => 200)
    start(damagedWhere((seq) => seq > 10 && seq <= 30))
    await create("9", 0, 60)
    await until(isEnded("9"))
    expect(await replay("9")).toMatchObject({ state: "incomplete", position: 60, delivered: 40, failed: 20 })
  })

  test("gives up at an endpoint that takes nothing with what is damaged in between", async () => {
    await linkWithPosts(200)
    outbound.answerAll(() => 500)
    start(damagedWhere((seq) => seq % 4 === 0))
    await create("9", 0, 200)
    await until(isEnded("9"))
    expect(await replay("9")).toMatchObject({ state: "incomplete", delivered: 0, failed: 200 })
    expect(new Set(sentSeqs()).size).toBeLessThan(16)
  })

  test("does not count what fails on this machine", async () => {
    await linkWithPosts(1)
    outbound.answerAll(() => ({ failure: "local" }))
    start()
    await create("9", 0, 1)
    await until(() => outbound.received.length > 20)
    expect(await isEnded("9")()).toBe(false)
    outbound.answerAll(() => 200)
    await until(isEnded("9"))
    expect(await replay("9")).toMatchObject({ state: "complete", delivered: 1 })
  })

  test("counts what retention took of it, within and at its end, and what is damaged, as failed", async () => {
    await linkWithPosts(30)
    outbound.answerAll(() => 200)
    const holed = withMethods(harness.store, {
      matches: async (range) => {
        const entries = await harness.store.matches(range)
        return entries
          .filter(({ seq }) => seq !== 5 && seq !== 6 && seq <= 28)
          .map((entry) => {
            if (entry.seq !== 9) return entry
            const { postJson: _, ...damaged } = entry
            return damaged
          })
      },
    })
    start(holed)
    await create("9", 0, 30)
    await until(isEnded("9"))
    // 5 and 6 within, 29 and 30 at the end, 9 damaged.
    expect(await replay("9")).toMatchObject({ state: "incomplete", position: 30, delivered: 25, failed: 5 })
    expect(sentSeqs()).not.toContain(9)
    expect(events.outcomes).toContain("damaged")
  })

  test("with an empty window is complete at once", async () => {
    await linkWithPosts(3)
    outbound.answerAll(() => 200)
    start()
    await create("9", 3, 3)
    await until(isEnded("9"))
    await until(() => completions().length === 1)
    expect(await replay("9")).toMatchObject({ state: "complete", delivered: 0, failed: 0 })
    expect(sentSeqs()).toEqual([])
  })

  test("keeps the bound on sends a second", async () => {
    await linkWithPosts(30)
    const sentAt: number[] = []
    outbound.answerAll(() => {
      sentAt.push(clock.monotonicMs())
      return 200
    })
    start(harness.store, { deliveriesPerLinkPerSecondMax: 10 })
    await create("9", 0, 30)
    await until(isEnded("9"), 50)
    const matches = sentAt.slice(0, 30)
    for (const atMs of matches) {
      expect(matches.filter((other) => other >= atMs && other < atMs + 1_000).length).toBeLessThanOrEqual(10)
    }
  })
})

describe("a webhook that is not valid", () => {
  test("is sent nothing; the replay goes on when it is valid again", async () => {
    await linkWithPosts(20)
    start()
    await create("9", 0, 20)
    await until(() => outbound.open.length === 8)
    await harness.store.setWebhookValid(webhook, { valid: false, reason: "answered wrongly" }, 0)
    await clock.advance(1_000)
    for (const one of outbound.open.slice()) one.answer(500)
    await clock.advance(600_000)
    expect(outbound.received).toHaveLength(8)
    outbound.answerAll(() => 200)
    await harness.store.setWebhookValid(webhook, { valid: true }, 0)
    await until(isEnded("9"))
    expect(await replay("9")).toMatchObject({ state: "complete", delivered: 20 })
  })

  test("is what 410 makes of it, with the reason", async () => {
    await linkWithPosts(20)
    outbound.answerAll(() => 410)
    start()
    await create("9", 0, 20)
    await until(async () => (await harness.store.webhook(app, webhook))?.valid === false)
    expect(await harness.store.webhook(app, webhook)).toMatchObject({ invalidReason: "answered 410 Gone" })
    const count = outbound.received.length
    await clock.advance(600_000)
    expect(outbound.received).toHaveLength(count)
    expect(events.webhookTurns).toEqual(["100 invalid"])
  })

  test("is what 410 to the word of the end makes of it, which is said once", async () => {
    await linkWithPosts(3)
    outbound.answerAll(({ eventId }) => (eventId.startsWith("replay_") ? 410 : 200))
    start()
    await create("9", 0, 3)
    await until(async () => (await harness.store.webhook(app, webhook))?.valid === false)
    expect(await harness.store.webhook(app, webhook)).toMatchObject({ invalidReason: "answered 410 Gone" })
    await clock.advance(600_000)
    expect(completions()).toHaveLength(1)
    expect(events.webhookTurns).toEqual(["100 invalid"])
    expect(await replay("9")).toMatchObject({ state: "complete" })
  })
})

describe("the look at the replays", () => {
  /** The store, and how often it was asked for the replays. */
  function counted(more: Partial<Store> = {}): { store: Store; looks: number } {
    const state = {
      looks: 0,
      store: withMethods(harness.store, {
        ...more,
        replays: (of) => {
          state.looks += 1
          return harness.store.replays(of)
        },
      }),
    }
    return state
  }

  test("comes when something has changed, and else only asks whether it has", async () => {
    await linkWithPosts(20)
    let asked = 0
    const counting = counted({ controlVersion: () => ((asked += 1), harness.store.controlVersion()) })
    start(counting.store)
    await create("9", 0, 20)
    await until(() => outbound.open.length === 8)
    await clock.advance(1_000)
    counting.looks = 0
    asked = 0
    await clock.advance(600_000)
    expect(counting.looks).toBe(0)
    expect(asked).toBe(60)
    await harness.store.setWebhookValid(webhook, { valid: true }, 0)
    await until(() => counting.looks === 1)
  })

  test("is not taken a hundred times for a hundred changes when it takes long", async () => {
    await linkWithPosts(1)
    // Each look takes a second.
    let slowMs = 0
    const counting = counted({ controlVersion: () => ((slowMs += 1_000), harness.store.controlVersion()) })
    const slow = { ...clock, monotonicMs: () => clock.monotonicMs() + slowMs }
    running(createReplays({ ...depsOver(counting.store), clock: slow }))
    await clock.advance(100)
    expect(counting.looks).toBe(1)
    for (let change = 0; change < 37; change++) {
      await harness.store.setWebhookValid(webhook, { valid: true }, 0)
      await clock.advance(100)
    }
    expect(counting.looks).toBe(1)
    await clock.advance(400)
    expect(counting.looks).toBe(2)
  })
})

describe("a process that ends", () => {
  test("in order leaves the replay to the next, which sends what is left and nothing twice", async () => {
    await linkWithPosts(100)
    outbound.answerAll(({ eventId }) => (Number(eventId.split("_")[2]) <= 40 ? 200 : undefined))
    const stop = start()
    await create("9", 0, 100)
    await until(async () => (await replay("9"))?.position === 40)
    const closed = stop()
    for (const one of outbound.open.slice()) one.answer(200)
    await closed
    const { position = 0 } = (await replay("9")) ?? {}
    expect(position).toBeGreaterThanOrEqual(40)
    expect(await replay("9")).toMatchObject({ state: "running", delivered: position })

    outbound.answerAll(() => 200)
    start()
    await until(isEnded("9"))
    expect(await replay("9")).toMatchObject({ state: "complete", position: 100, delivered: 100, failed: 0 })
    expect(sentSeqs()).toHaveLength(100)
  })

  test("at any moment leaves at most eight to be repeated", async () => {
    await linkWithPosts(100)
    let saves = 0
    // From the tenth save on nothing is kept, as if the process had been killed then.
    const killed = withMethods(harness.store, {
      saveReplay: (progress) =>
        ++saves < 10 ? harness.store.saveReplay(progress) : new Promise(() => undefined),
    })
    outbound.answerAll(() => 200)
    start(killed)
    await create("9", 0, 100)
    await until(() => saves === 10)
    await clock.advance(10_000)
    const first = sentSeqs()
    start()
    await until(isEnded("9"))
    expect(new Set(sentSeqs()).size).toBe(100)
    expect(sentSeqs().length - 100).toBeLessThanOrEqual(8)
    expect(first.length).toBeLessThan(100)
    expect(await replay("9")).toMatchObject({ delivered: 100, failed: 0 })
  })
})

test("a replay ends with its link, and leaves no trace", async () => {
  await linkWithPosts(100)
  start()
  await create("9", 0, 100)
  await until(() => outbound.open.length === 8)
  await harness.store.deleteLink(app, webhook)
  for (const one of outbound.open.slice()) one.answer(500)
  await clock.advance(100_000)
  expect(outbound.received).toHaveLength(8)
  expect(await replay("9")).toBeUndefined()
  expect(events.failures).toEqual([])
})

test("a store that fails is tried again, and the failure is told", async () => {
  await linkWithPosts(30)
  let left = 2
  const failing = withMethods(harness.store, {
    saveReplay: (progress) =>
      left-- > 0 ? Promise.reject(new Error("disk full")) : harness.store.saveReplay(progress),
  })
  outbound.answerAll(() => 200)
  start(failing)
  await create("9", 0, 30)
  await until(isEnded("9"))
  expect(await replay("9")).toMatchObject({ state: "complete", delivered: 30, failed: 0 })
  expect(events.failures[0]).toMatchObject({ where: "replay", error: new Error("disk full") })
})

test("a replay that ends while the store is asked which are running is not begun again", async () => {
  await linkWithPosts(20)
  let isSlow = false
  const slow = withMethods(harness.store, {
    replays: async (of) => {
      const found = await harness.store.replays(of)
      if (isSlow && found.length > 0) {
        await vi.waitFor(() => expect(completions()).toHaveLength(1))
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      return found
    },
  })
  start(slow)
  await create("9", 0, 20)
  await until(() => outbound.open.length === 8)
  isSlow = true
  await harness.store.setWebhookValid(webhook, { valid: true }, 0)
  outbound.answerAll(() => 200)
  await until(() => completions().length === 1)
  for (let turn = 0; turn < 10; turn++) {
    await clock.advance(3_000)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  expect(sentSeqs()).toHaveLength(20)
  expect(completions()).toHaveLength(1)
  expect(ended).toHaveLength(1)
})

test("a second replay may begin when the first one is told to have ended", async () => {
  await linkWithPosts(5)
  let second: string | undefined
  outbound.answerAll(({ eventId }) => {
    // In the handler of the event, before it answers.
    if (eventId === "replay_9") void create("10", 0, 5).then(() => (second = "created"))
    return 200
  })
  start()
  await create("9", 0, 5)
  await until(() => completions().length === 2)
  expect(second).toBe("created")
  expect(await replay("10")).toMatchObject({ state: "complete", delivered: 5 })
})

test("live deliveries on the same link go on as if there were no replay", async () => {
  await linkWithPosts(40)
  const live = createWebhookLinks({
    ...depsOver(harness.store),
    concurrencyPerLink: 4,
    deliveryAttemptsMax: 10,
    retryBaseMs: 1_000,
    retryMaxMs: 10_000,
  })
  // The replay's deliveries of the first 40 hang; those of the link are answered.
  running(live)
  outbound.answerAll(() => 200)
  await until(async () => (await harness.progress("100"))?.position === 40)
  outbound.answerAll(() => undefined)
  start()
  await create("9", 0, 40)
  await until(() => outbound.open.length === 8)
  await harness.post("1", ...Array.from({ length: 20 }, (_, index) => String(1_000 + index)))
  outbound.answerAll(({ postId }) => (Number(postId) >= 1_000 ? 200 : undefined))
  await until(async () => (await harness.progress("100"))?.position === 60)
  expect(outbound.open).toHaveLength(8)
  expect((await harness.store.linkTally("100" as LinkId))?.delivered).toBe(60)
  outbound.answerAll(() => 200)
  await until(isEnded("9"))
  expect(await replay("9")).toMatchObject({ state: "complete", delivered: 40 })
  const perPost = Map.groupBy(sentSeqs(), (seq) => seq)
  for (const [seq, sends] of perPost) expect(sends, String(seq)).toHaveLength(seq <= 40 ? 2 : 1)
})

test("attempts of a replay are in the history of its link", async () => {
  await linkWithPosts(3)
  outbound.answerAll(() => 200)
  start()
  await create("9", 0, 3)
  await until(isEnded("9"))
  const attempts = () => harness.store.attempts("100" as LinkId, 10)
  await until(async () => (await attempts()).length === 3)
  expect((await attempts()).map(({ seq, outcome }) => [seq, outcome])).toEqual([
    [3, "delivered"],
    [2, "delivered"],
    [1, "delivered"],
  ])
})
