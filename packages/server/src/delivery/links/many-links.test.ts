/** Very many links, of which few have anything to do. */
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import type { AppId, LinkId, MatchSeq, WebhookId } from "../../model/ids.ts"
import { createManualClock, type ManualClock } from "../../runtime/manual-clock.testing.ts"
import { StoreDamaged } from "../../store/store-faults.ts"
import type { Store } from "../../store/store.ts"
import { isOnPostgres } from "../../store/tested-store.testing.ts"
import { harnessSecretBox, harnessSigningKey, numbered, withMethods } from "./link-harness.testing.ts"
import { breathe, eventually, makeRunningLinks, type RunningLinks } from "./running-links.testing.ts"

const app = "1" as AppId

let running: RunningLinks
let clock: ManualClock

beforeEach(async () => {
  running = await makeRunningLinks()
  clock = createManualClock()
})

afterEach(async () => {
  await running[Symbol.asyncDispose]()
})

/** The store, and how often each of its methods was called. */
function counted(store: Store): { store: Store; calls: Map<string, number> } {
  const calls = new Map<string, number>()
  const counting = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== "function") return value
      const method: unknown = value.bind(target)
      return (...args: unknown[]) => {
        calls.set(String(name), (calls.get(String(name)) ?? 0) + 1)
        return typeof method === "function" ? (Reflect.apply(method, undefined, args) as unknown) : undefined
      }
    },
  })
  return { store: counting, calls }
}

/** Links that are added side by side, so that they share transactions; fewer than a database lets wait. */
const linksPerTurn = 200

/** Adds links to endpoints of their own. */
async function addLinks(appId: string, ids: readonly number[]): Promise<void> {
  for (let from = 0; from < ids.length; from += linksPerTurn) {
    await addLinksAtOnce(appId, ids.slice(from, from + linksPerTurn))
  }
}

async function addLinksAtOnce(appId: string, ids: readonly number[]): Promise<void> {
  const { store } = running.harness
  const signingKeySealed = harnessSecretBox.seal(`whsec_${harnessSigningKey.toString("base64")}`)
  await Promise.all(
    ids.map(async (number) => {
      const id = String(number)
      const ofApp = { appId: appId as AppId, createdAtMs: 0 }
      const webhook = { ...ofApp, id: id as WebhookId, url: `https://example.com/${id}`, valid: true }
      await store.createWebhook({ ...webhook, checkedAtMs: 0, signingKeySealed }, { webhooksMax: 100_000 })
      await store.createLink({ ...ofApp, id: id as LinkId, webhookId: id as WebhookId, query: "" })
    }),
  )
}

/** Fewer on PostgreSQL, where each is made in a transaction of its own. */
const idleLinks = isOnPostgres ? 1_000 : 10_000

test(`${idleLinks} idle links read nothing, and have no timers, while others deliver`, async () => {
  const { harness, outbound } = running
  await harness.addApp("2")
  await addLinks(
    "2",
    Array.from({ length: idleLinks }, (_, index) => 1_000 + index),
  )
  await harness.addLink("1", "100", "https://example.com/busy")
  outbound.respondToAll(() => 200)
  const { store, calls } = counted(harness.store)
  running.start({ clock, store })
  await eventually(() => calls.get("matches")).toBe(idleLinks + 1)
  await clock.advance(20_000)
  await eventually(() => running.events.measured.at(-1)?.links).toBe(idleLinks + 1)
  calls.clear()
  for (let minute = 0; minute < 3; minute++) {
    await harness.post("1", String(minute + 1))
    await clock.advance(60_000)
    await eventually(() => outbound.received.length).toBe(minute + 1)
  }
  // Looks at all heads every 10 s, for the poll of the logs and the metrics; at the links only when something changed.
  expect(calls.get("heads")).toBeLessThanOrEqual(2 * 18 + 2)
  expect(calls.get("controlVersion")).toBeLessThanOrEqual(18 + 1)
  expect(calls.get("allLinks")).toBeUndefined()
  // The busy one reads twice for each of its matches.
  expect(calls.get("matches")).toBeLessThanOrEqual(6)
  expect(calls.get("retries")).toBeUndefined()
  expect(calls.get("linkTally")).toBeUndefined()
  expect(clock.sleepers).toBeLessThan(10)
})

describe("the metrics", () => {
  test("the metrics sum up all links, also invalid and down ones, and give the age of the oldest match of all", async () => {
    const { harness, outbound, events } = running
    await harness.addApp("2")
    await harness.addLink("1", "100", "https://example.com/good")
    await harness.addLink("1", "101", "https://example.com/down")
    await harness.addLink("2", "200", "https://example.com/invalid")
    await harness.store.invalidateWebhook("200" as WebhookId, "is gone")
    outbound.respondToAll(({ request, postId }) => {
      if (request.url.endsWith("down")) return 500
      return postId === "3" ? 400 : 200
    })
    running.start({ clock, concurrency: 2, attemptsMax: 2 })
    await harness.post("1", ...numbered(5))
    await harness.post("2", "6", "7")
    await eventually(() => events.outcomes.length).toBe(7)
    await clock.advance(1_000)
    await eventually(() => events.deadLettered).toEqual(["msg_100_3 rejected"])
    await clock.advance(9_000)
    await eventually(() => events.measured.length).toBe(1)
    expect(events.measured[0]).toEqual({
      links: 3,
      lag: 5 + 2,
      oldestUndeliveredAgeMs: clock.nowMs() - 1_767_225_600_000,
      inFlight: 0,
      down: 1,
      paused: 0,
      invalid: 1,
      deadLetters: 1,
      byApp: new Map([
        ["1", { lag: 5, oldestUndeliveredAgeMs: clock.nowMs() - 1_767_225_600_000 }],
        ["2", { lag: 2, oldestUndeliveredAgeMs: clock.nowMs() - 1_767_225_600_000 }],
      ]),
    })
  })

  test("a paused link counts as paused and not as down, and its matches as lag without an age", async () => {
    const { harness, outbound, events } = running
    await harness.addLink("1", "100", "https://example.com/down")
    outbound.respondToAll(() => 500)
    running.start({ clock, concurrency: 1 })
    await harness.post("1", "1", "2")
    for (let second = 0; second < 5; second++) await clock.advance(1_000)
    await eventually(() => events.turns).toEqual(["100 down"])
    await harness.store.setLinkPaused("1" as AppId, "100" as WebhookId, 7)
    await clock.advance(10_000)
    await eventually(() => events.measured.at(-1)).toMatchObject({
      links: 1,
      lag: 2,
      oldestUndeliveredAgeMs: 0,
      down: 0,
      paused: 1,
    })
    expect(events.turns).toEqual(["100 down"])
  })

  test("there are no metrics while the links of the store cannot be reconciled, or one of them cannot be read", async () => {
    const { harness, outbound, events } = running
    await harness.addLink("1", "100", "https://example.com/")
    let unreadable: "allLinks" | "retries" | undefined = "allLinks"
    const unlessDamaged = (name: "allLinks" | "retries"): void => {
      if (unreadable === name) throw new StoreDamaged("a page makes no sense")
    }
    const store = withMethods(harness.store, {
      async allLinks(appId) {
        unlessDamaged("allLinks")
        return harness.store.allLinks(appId)
      },
      async retries(linkId, shape) {
        unlessDamaged("retries")
        return harness.store.retries(linkId, shape)
      },
    })
    outbound.respondToAll(() => 200)
    running.start({ clock, store })
    await eventually(() => events.failures.at(-1)?.where).toBe("webhook links")
    await clock.advance(10_000)
    await eventually(() => events.measured).toEqual([undefined])
    unreadable = "retries"
    await clock.advance(10_000)
    await eventually(() => events.measured).toEqual([undefined, undefined])
    expect(events.failures.map(({ where }) => where)).toContain("link metrics")
    unreadable = undefined
    await clock.advance(10_000)
    await eventually(() => events.measured.at(-1)).toMatchObject({ links: 1, lag: 0 })
  })

  test("the metrics follow changes, and cost no reads for links that do not move", async () => {
    const { harness, outbound, events } = running
    await harness.addLink("1", "100", "https://example.com/")
    const { store, calls } = counted(harness.store)
    running.start({ clock, store, concurrency: 2 })
    await harness.post("1", "1", "2")
    await eventually(() => outbound.open.length).toBe(2)
    await clock.advance(10_000)
    await eventually(() => events.measured.at(-1)).toMatchObject({ lag: 2, inFlight: 2 })
    calls.clear()
    await clock.advance(20_000)
    await eventually(() => events.measured.length).toBe(3)
    expect(calls.get("matches")).toBeUndefined()
    outbound.open[0]?.respond(200)
    await eventually(() => harness.deliveredUpTo("100")).toBe(1)
    await clock.advance(10_000)
    await eventually(() => events.measured.at(-1)).toMatchObject({ lag: 1, inFlight: 1 })
    outbound.respondToAll(() => 200)
    await eventually(() => harness.deliveredUpTo("100")).toBe(2)
    await clock.advance(10_000)
    await eventually(() => events.measured.at(-1)).toMatchObject({ lag: 0, oldestUndeliveredAgeMs: 0 })
  })

  test("the metrics count the stored dead letters of a link at most once a minute, and new ones at once", async () => {
    const { harness, outbound, events } = running
    await harness.addLink("1", "100", "https://example.com/")
    let counts = 0
    const linkTally: Store["linkTally"] = (id) => {
      counts += 1
      return harness.store.linkTally(id)
    }
    outbound.respondToAll(({ postId }) => (Number(postId) % 2 === 0 ? 400 : 200))
    running.start({ clock, store: withMethods(harness.store, { linkTally }), attemptsMax: 1 })
    await clock.advance(10_000)
    await eventually(() => events.measured.at(-1)).toMatchObject({ links: 1, deadLetters: 0 })
    counts = 0
    for (let round = 1; round <= 12; round++) {
      await harness.post("1", String(2 * round - 1), String(2 * round))
      await eventually(() => events.deadLettered.length).toBe(round)
      await clock.advance(10_000)
      await eventually(() => events.measured.at(-1)?.deadLetters).toBe(round)
    }
    expect(counts).toBe(2)

    await harness.store.trimMatches(app, { beforeMs: Number.MAX_SAFE_INTEGER, limit: 100 })
    await harness.store.trimDeadLetters({ beforeMs: Number.MAX_SAFE_INTEGER, limit: 5 })
    await clock.advance(60_000)
    await eventually(() => events.measured.at(-1)?.deadLetters).toBe(7)
    outbound.respondToAll(() => 200)
    expect(await harness.store.redeliver({ kind: "all" })).toBe(7)
    await eventually(() => outbound.received.length).toBe(24 + 7)
    await clock.advance(70_000)
    await eventually(() => events.measured.at(-1)?.deadLetters).toBe(0)
    counts = 0
    await clock.advance(120_000)
    expect(counts, "nothing to count").toBe(0)
  })

  test("the metrics continue after a failed read of the store", async () => {
    const { harness, events } = running
    await harness.addLink("1", "100", "https://example.com/")
    let isFailing = true
    const heads: Store["heads"] = () => (isFailing ? Promise.reject(new Error("disk")) : harness.store.heads())
    running.start({ clock, store: withMethods(harness.store, { heads }) })
    await clock.advance(10_000)
    isFailing = false
    await clock.advance(10_000)
    await eventually(() => events.measured.at(-1)?.links).toBe(1)
    expect(new Set(events.failures.map(({ where }) => where))).toEqual(new Set(["link metrics"]))
  })
})

describe("the state of a link", () => {
  test("the state of a link is found by its webhook, for its own app and for an operator", async () => {
    const { harness } = running
    await harness.addApp("2")
    await harness.addLink("1", "100", "https://example.com/one")
    await harness.addLink("2", "200", "https://example.com/two")
    await harness.store.setLinkOrdered(app, "100" as WebhookId, true)
    const links = running.create()
    expect(await links.state("100" as WebhookId, app)).toEqual({
      webhook_id: "100",
      application_id: "1",
      valid: true,
      ordered: true,
      paused: false,
      down: false,
      position: 0,
      head: 0,
      lag: 0,
      undelivered: 0,
      in_flight: 0,
      delivered: 0,
      failed: 0,
      total: { delivered: 0, retrying: 0, dead_letters: 0, expired: 0, missed: 0, withdrawn: 0 },
      gaps: [],
    })
    expect(await links.state("200" as WebhookId)).toMatchObject({ application_id: "2" })
    expect(await links.state("200" as WebhookId, app)).toBeUndefined()
    expect(await links.state("300" as WebhookId)).toBeUndefined()
    expect(await links.attempts("200" as WebhookId, app, 10)).toBeUndefined()
    expect(await links.attempts("300" as WebhookId, undefined, 10)).toBeUndefined()
    expect(await links.attempts("200" as WebhookId, undefined, 10)).toEqual([])
  })

  test("the state of a link accounts for every match, including those that retention deleted unread", async () => {
    const { harness, outbound } = running
    await harness.addLink("1", "100", "https://example.com/")
    await harness.store.invalidateWebhook("100" as WebhookId, "responded wrongly")
    const { links } = running.start({ clock })
    await harness.post("1", ...numbered(10))
    await eventually(() => links.states()).toMatchObject([{ lag: 10 }])
    const trimmed = await harness.store.trimMatches(app, { beforeMs: 1_800_000_000_000, limit: 4 })
    expect(trimmed.gaps).toMatchObject([{ from: 1, to: 4 }])
    await clock.advance(10_000)
    expect(await links.state("100" as WebhookId)).toMatchObject({
      valid: false,
      invalid_reason: "responded wrongly",
      position: 4,
      head: 10,
      lag: 6,
      total: { delivered: 0, missed: 4 },
      gaps: [{ from: 1, to: 4 }],
    })
    outbound.respondToAll(() => 200)
    await harness.store.markWebhookValid("100" as WebhookId, 2)
    await eventually(() => harness.progress("100")).toEqual({ position: 10, retries: [] })
    expect(running.receivedIds()).toEqual(["5", "6", "7", "8", "9", "10"])
    await eventually(() => links.state("100" as WebhookId)).toMatchObject({
      position: 10,
      lag: 0,
      total: { delivered: 6, missed: 4 },
    })
  })
})

test("a link with very many gaps shows the newest hundred, and the sum of all", async () => {
  const { harness } = running
  await harness.addLink("1", "100", "https://example.com/")
  await harness.post("1", ...numbered(300))
  // Every other match is delivered, and what comes after it is gone.
  const beforeMs = 1_800_000_000_000
  for (let seq = 1; seq <= 300; seq += 2) {
    await harness.store.saveProgress([
      {
        linkId: "100" as LinkId,
        position: seq as MatchSeq,
        retries: [],
        settled: [],
        dead: [],
        delivered: 1,
      },
    ])
    await harness.store.trimMatches(app, { beforeMs, limit: 2 })
  }
  const state = await running.create().state("100" as WebhookId)
  expect(state?.total).toMatchObject({ delivered: 150, missed: 150 })
  expect(state?.gaps).toHaveLength(100)
  expect(state?.gaps.at(0)).toMatchObject({ from: 102, to: 102 })
  expect(state?.gaps.at(-1)).toMatchObject({ from: 300, to: 300 })
})

test("a match that retention deletes between its read and its send is not sent, and fails no run", async () => {
  const { harness, outbound, events } = running
  await harness.addLink("1", "100", "https://example.com/")
  await harness.post("1", ...numbered(10))
  const read = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  const matches: Store["matches"] = async (range) => {
    const entries = await harness.store.matches(range)
    read.resolve()
    await goOn.promise
    return entries
  }
  outbound.respondToAll(() => 200)
  running.start({ clock, concurrency: 2, store: withMethods(harness.store, { matches }) })
  await read.promise
  await harness.store.trimMatches(app, { beforeMs: 1_800_000_000_000, limit: 4 })
  await clock.advance(9_000)
  await clock.advance(1_000)
  goOn.resolve()
  await eventually(() => harness.progress("100")).toEqual({ position: 10, retries: [] })
  expect(running.receivedIds()).toEqual(["5", "6", "7", "8", "9", "10"])
  expect(events.failures).toEqual([])
})

describe("the history of attempts", () => {
  test("the history shows each attempt, newest first", async () => {
    const { harness, outbound } = running
    await harness.addLink("1", "100", "https://example.com/")
    outbound.respondToAll(({ postId }) => (postId === "2" ? 503 : 200))
    const { links } = running.start({ clock, concurrency: 1 })
    const startedMs = clock.nowMs()
    await harness.post("1", "1", "2")
    await eventually(() => outbound.received.length).toBe(2)
    await breathe()
    await clock.advance(1_000)
    await breathe()
    await clock.advance(1_000)
    await eventually(() => links.attempts("100" as WebhookId, app, 10)).toHaveLength(3)
    const body = String(outbound.received[1]?.request.body)
    const failed = {
      linkId: "100",
      seq: 2,
      durationMs: 0,
      outcome: "server_error",
      status: 503,
      bytes: body.length,
    }
    expect(await links.attempts("100" as WebhookId, app, 10)).toMatchObject([
      { ...failed, atMs: startedMs + 1_000, error: "responded with status 503" },
      { ...failed, atMs: startedMs },
      { seq: 1, outcome: "delivered", status: 200, atMs: startedMs },
    ])
    expect(await links.attempts("100" as WebhookId, undefined, 1)).toHaveLength(1)
  })

  test.each([
    ["rejects", () => Promise.reject(new Error("disk full"))],
    ["hangs", () => new Promise<never>(() => undefined)],
  ])("recording attempts in a store that %s forever does not affect the deliveries", async (way, recordAttempts) => {
    const { harness, outbound, events } = running
    await harness.addLink("1", "100", "https://example.com/")
    const failedOnce = new Set<string>()
    outbound.respondToAll(({ postId }) => {
      const isFirst = !failedOnce.has(postId)
      failedOnce.add(postId)
      return isFirst && Number(postId) % 5 === 0 ? 500 : 200
    })
    const { stop } = running.start({
      store: withMethods(harness.store, { recordAttempts }),
      retryBaseMs: 5,
    })
    await harness.post("1", ...numbered(100))
    await eventually(() => harness.progress("100")).toEqual({ position: 100, retries: [] })
    expect(outbound.received).toHaveLength(120)
    await new Promise((resolve) => setTimeout(resolve, 300))
    await stop()
    expect(outbound.received).toHaveLength(120)
    const reported = events.failures.map(({ where }) => where)
    expect(new Set(reported)).toEqual(new Set(way === "rejects" ? ["attempt history"] : []))
  })

  test("the history is saved when the server stops", async () => {
    const { harness, outbound } = running
    await harness.addLink("1", "100", "https://example.com/")
    outbound.respondToAll(() => 200)
    const { stop } = running.start({ clock })
    await harness.post("1", "1")
    await eventually(() => harness.deliveredUpTo("100")).toBe(1)
    await stop()
    expect(await harness.store.attempts("100" as LinkId, 10)).toHaveLength(1)
  })
})
