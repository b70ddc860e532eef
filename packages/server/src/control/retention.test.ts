import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { makeLinkHarness, withMethods, type LinkHarness } from "../delivery/links/link-harness.testing.ts"
import {
  firstIdAt,
  type AppId,
  type ConnectionId,
  type LinkId,
  type MatchSeq,
  type PostId,
  type UserId,
} from "../model/ids.ts"
import type { Events } from "../runtime/events/events.ts"
import { createManualClock, type ManualClock } from "../runtime/manual-clock.testing.ts"
import { newestPosts } from "../store/contract/fixtures.ts"
import { soleLeases } from "../store/leases.ts"
import type { Store } from "../store/store.ts"
import { createRetention } from "./retention.ts"

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const app = "1" as AppId
const link = "100" as LinkId

let harness: LinkHarness
let store: Store
let clock: ManualClock
let reported: { name: string; event: Record<string, unknown> }[]
const stops: (() => Promise<void>)[] = []

beforeEach(async () => {
  harness = await makeLinkHarness()
  store = harness.store
  clock = createManualClock()
  reported = []
  await harness.addLink("1", "100", "https://example.com/webhook")
})

afterEach(async () => {
  await stopAll()
  await harness[Symbol.asyncDispose]()
})

/** A day for matches, delivered or not, two for posts, three for dead letters, unless a test says otherwise. */
function start(over = store, days: { posts?: number; undelivered?: number; believesClock?: boolean } = {}, by = clock) {
  const events = new Proxy({} as Events, {
    get: (_, name) => (event: Record<string, unknown>) => reported.push({ name: String(name), event }),
  })
  const retention = createRetention({
    leases: soleLeases,
    store: over,
    clock: by,
    events,
    matchRetentionMs: 24 * hourMs,
    undeliveredRetentionMs: (days.undelivered ?? 1) * 24 * hourMs,
    believesClock: days.believesClock ?? false,
    postRetentionMs: (days.posts ?? 2) * 24 * hourMs,
    deadLetterRetentionMs: 3 * 24 * hourMs,
    deletionsRememberedMs: 172_800_000,
  })
  const stopping = new AbortController()
  const ended = retention.run(stopping.signal)
  stops.push(async () => {
    stopping.abort()
    await ended
  })
  return retention
}

/** Ends what was started, as a server that stops. */
async function stopAll(): Promise<void> {
  for (const stop of stops.splice(0)) await stop()
}

async function append(appId: string, ids: readonly number[], atMs = clock.nowMs()): Promise<void> {
  const batch = ids.map((id) => ({
    post: {
      id: String(id) as PostId,
      authorId: "7" as UserId,
      createdAtMs: atMs,
      isReply: false,
      isRepost: false,
      core: Buffer.from(`{"id":"${id}"}`),
      envelope: Buffer.from(`{"data":{"id":"${id}"}}`),
      userIds: [],
      users: [],
      includedIds: [],
    },
    matches: [{ appId: appId as AppId, rules: [{ id: "5", tag: "" }] }],
  }))
  await store.append(batch, atMs)
}

const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, index) => from + index)

async function seqs(appId = app): Promise<number[]> {
  const after = 0 as MatchSeq
  return (await store.matches({ appId, after, limit: 10_000, bytesMax: 1_000_000, shape: "core" })).map(
    ({ seq }) => seq,
  )
}

/** Posts of the dead letters, as far as they are still known. */
async function deadPosts(): Promise<string[]> {
  return (await store.deadLetters({}, { direction: "older", limit: 100 })).map(({ postId }) => postId)
}

async function postIds(): Promise<string[]> {
  return (await newestPosts(store, 10_000)).map(({ id }) => id)
}

const events = (name: string): unknown[] => reported.filter((one) => one.name === name).map(({ event }) => event)

/** Time goes by in steps, in which the store comes along. */
async function pass(ms: number, stepMs = minuteMs): Promise<void> {
  for (let leftMs = ms; leftMs > 0; leftMs -= stepMs) {
    await clock.advance(Math.min(stepMs, leftMs))
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** One whole pass of retention, over as many steps as it takes. */
async function passed(count = 1): Promise<void> {
  const before = events("retentionPassed").length
  for (let step = 0; events("retentionPassed").length < before + count; step++) {
    if (step > 5_000) throw new Error("no pass has ended")
    await pass(500, 500)
  }
}

test("matches are deleted a minute after their retention, to the millisecond, and the rest stays", async () => {
  const nowMs = clock.nowMs()
  await append("1", [1, 2], nowMs - 24 * hourMs - minuteMs - 1)
  await append("1", [3], nowMs - 24 * hourMs - minuteMs)
  await append("1", [4], nowMs)
  await store.saveProgress([
    { linkId: link, position: 4 as MatchSeq, retries: [], settled: [], dead: [], delivered: 4 },
  ])
  start()
  await passed()
  expect(await seqs()).toEqual([3, 4])
  expect(events("gapMade")).toEqual([])
  expect(events("retentionPassed")[0]).toMatchObject({ matches: 2 })
  expect((await harness.progress("100"))?.position).toBe(4)
})

test("a pass runs every minute, with as many steps as it needs", async () => {
  const nowMs = clock.nowMs()
  await append("1", range(1, 1_800), nowMs - 24 * hourMs - minuteMs + 30_000)
  await store.saveProgress([
    { linkId: link, position: 1_800 as MatchSeq, retries: [], settled: [], dead: [], delivered: 1_800 },
  ])
  const steps: number[] = []
  const counted = withMethods(store, {
    trimMatches: async (appId, options) => {
      const step = await store.trimMatches(appId, options)
      if (step.trimmed > 0) steps.push(step.trimmed)
      return step
    },
  })
  start(counted)
  await passed()
  expect(steps).toEqual([])
  await pass(61_000)
  await passed()
  expect(steps.reduce((sum, step) => sum + step, 0)).toBe(1_800)
  expect(Math.max(...steps)).toBeLessThanOrEqual(500)
  expect(await seqs()).toEqual([])
})

test("a cursor that is overtaken gets a gap marker, which is reported; retries and dead letters keep what they need", async () => {
  await harness.addApp("2")
  const old = clock.nowMs() - 25 * hourMs
  await append("1", range(1, 700), old)
  await append("1", [701], clock.nowMs())
  await append("2", [800], old)
  await store.saveProgress([
    {
      linkId: link,
      position: 10 as MatchSeq,
      retries: [{ seq: 3 as MatchSeq, failures: 1, dueAtMs: 0 }],
      settled: [],
      dead: [{ seq: 5 as MatchSeq, failures: 9, outcome: "server_error", deadLetteredAtMs: clock.nowMs() }],
      delivered: 8,
    },
  ])
  start()
  await passed()
  expect(await seqs()).toEqual([701])
  expect(await store.retries(link, "core")).toMatchObject([{ seq: 3, entry: { postJson: '{"id":"3"}' } }])
  expect(await deadPosts()).toEqual(["5"])
  expect(await seqs("2" as AppId)).toEqual([])
  const [gap] = await store.gaps(link)
  expect(gap).toMatchObject({ from: 11, to: 700 })
  const gaps = events("gapMade") as { webhookId: string; from: number; to: number }[]
  expect(gaps.every(({ webhookId }) => webhookId === "100")).toBe(true)
  const missed = gaps.reduce((sum, { from, to }) => sum + to - from + 1, 0)
  expect(missed, "each missed match is reported once").toBe(690)
  expect(await store.linkTally(link)).toMatchObject({
    position: 700,
    delivered: 8,
    retries: 1,
    deadLetters: 1,
    missed: 690,
  })
})

describe("posts", () => {
  const day = 24 * hourMs

  test("posts are deleted once an hour when they are old and no match needs them", async () => {
    await append("1", [1], clock.nowMs() - 3 * day)
    await store.append(
      [
        {
          post: {
            id: "2" as PostId,
            createdAtMs: clock.nowMs() - 2 * day - 1,
            isReply: false,
            isRepost: false,
            core: Buffer.from("{}"),
            envelope: Buffer.from("{}"),
            userIds: [],
            users: [],
            includedIds: [],
          },
          matches: [],
        },
      ],
      clock.nowMs(),
    )
    await append("1", [3], clock.nowMs() - 2 * day + 30 * minuteMs)
    await append("1", [4], clock.nowMs())
    start()
    await passed()
    expect(await postIds()).toEqual(["4", "3"])
    expect(events("retentionPassed")[0]).toMatchObject({ posts: 2, matches: 2 })
    await pass(40 * minuteMs, 5 * minuteMs)
    expect(await postIds()).toEqual(["4", "3"])
    await pass(30 * minuteMs, 5 * minuteMs)
    expect(await postIds()).toEqual(["4"])
  })

  test("names of posts are forgotten when the posts are gone and their deletions would be forgotten", async () => {
    const days = (age: number): PostId => (firstIdAt(clock.nowMs() - age * day) + 1n).toString() as PostId
    const { driver } = await store.beginSource("sky")
    const names = ["old", "remembered", "stored"].map((name) => `https://example.com/${name}`)
    const [old, remembered, stored] = names
    const assigned = [days(5.1), days(4), days(1)].map((id, at) => ({ name: names[at] ?? "", id }))
    const progress = { source: "sky", driver, position: "p", names: [], deadLetters: [], users: [] }
    await store.appendFrom({ ...progress, assigned }, [], clock.nowMs())
    start()
    await passed()
    // Two days for posts, three for dead letters, which keep their posts, and then two for deletions.
    const kept = async () => (await store.assignedNames(names)).map(({ name }) => name).toSorted()
    expect(await kept()).toEqual([remembered, stored])
    expect(names[0]).toBe(old)
  })

  test("names of posts are kept forever with the posts", async () => {
    const { driver } = await store.beginSource("sky")
    const assigned = [{ name: "https://example.com/1", id: "5" as PostId }]
    const progress = { source: "sky", driver, position: "p", names: [], deadLetters: [], users: [] }
    await store.appendFrom({ ...progress, assigned }, [], clock.nowMs())
    start(store, { posts: 0 })
    await passed(2)
    expect(await store.assignedNames(["https://example.com/1"])).toEqual(assigned)
  })

  test("posts are kept forever when their retention is 0", async () => {
    await append("1", [1], 0)
    start(store, { posts: 0 })
    await passed(2)
    expect(await seqs()).toEqual([])
    expect(await postIds()).toEqual(["1"])
  })
})

test("dead letters are deleted after three days, and with them the match and the post", async () => {
  await append("1", [1], clock.nowMs() - 5 * 24 * hourMs)
  const dead = [{ seq: 1 as MatchSeq, failures: 9, outcome: "server_error" as const, deadLetteredAtMs: clock.nowMs() }]
  await store.saveProgress([{ linkId: link, position: 1 as MatchSeq, retries: [], settled: [], dead, delivered: 0 }])
  start()
  await passed()
  expect(await deadPosts()).toEqual(["1"])
  expect(await postIds()).toEqual(["1"])
  await pass(3 * 24 * hourMs, 30 * minuteMs)
  await pass(3 * hourMs, 30 * minuteMs)
  expect(await store.linkTally(link)).toMatchObject({ deadLetters: 0, expired: 1 })
  expect(await seqs()).toEqual([])
  expect(await postIds()).toEqual([])
})

test("a failure of the store is reported, the other logs are trimmed, and the next pass tries again", async () => {
  await harness.addApp("2")
  const old = clock.nowMs() - 25 * hourMs
  await append("1", [1], old)
  await append("2", [2], old)
  let fails = true
  const failing = withMethods(store, {
    trimMatches: (appId, options) =>
      fails && appId === app ? Promise.reject(new Error("disk full")) : store.trimMatches(appId, options),
  })
  start(failing)
  await passed()
  expect(events("failed")).toEqual([{ where: "retention", error: new Error("disk full") }])
  expect(await seqs("2" as AppId)).toEqual([])
  expect(await seqs()).toEqual([1])
  fails = false
  await passed()
  expect(await seqs()).toEqual([])
})

describe("a clock that steps", () => {
  /** The clock, ahead by what `stepMs` says. */
  function stepping(): { clock: ManualClock; stepMs: number } {
    const state = {
      stepMs: 0,
      clock: {
        ...clock,
        nowMs: () => clock.nowMs() + state.stepMs,
        advance: (ms: number) => clock.advance(ms),
        get sleepers() {
          return clock.sleepers
        },
      },
    }
    return state
  }

  test("a clock that steps forward deletes nothing early: the step counts once it has lasted for the retention", async () => {
    const state = stepping()
    await append("1", [1])
    await pass(hourMs, 30 * minuteMs)
    start(store, {}, state.clock)
    await passed()
    state.stepMs = 10 * 24 * hourMs
    await passed(2)
    await pass(22 * hourMs, 15 * minuteMs)
    expect(await seqs()).toEqual([1])
    await append("1", [2], state.clock.nowMs())
    await pass(3 * hourMs, 15 * minuteMs)
    expect(await seqs(), "23 and 3 hours after it was appended").toEqual([2])
    await pass(24 * hourMs, 15 * minuteMs)
    expect(await seqs(), "appended after the step, by a clock that is believed by now").toEqual([])
  })

  test("while a clock is ahead, ages are in whole milliseconds still, as the store keeps them", async () => {
    const state = stepping()
    await append("1", [1])
    const beforeMs: number[] = []
    const noting = withMethods(store, {
      trimMatches: async (appId, options) => {
        beforeMs.push(options.beforeMs)
        return store.trimMatches(appId, options)
      },
    })
    start(noting, {}, { ...state.clock, monotonicMs: () => clock.monotonicMs() * 1.0001 })
    await passed()
    state.stepMs = hourMs
    await passed(2)
    expect(beforeMs.length).toBeGreaterThanOrEqual(3)
    expect(beforeMs.filter((ms) => !Number.isInteger(ms))).toEqual([])
  })

  test("a clock that steps back only keeps things longer", async () => {
    const state = stepping()
    await append("1", [1], clock.nowMs() - 24 * hourMs + 10 * minuteMs)
    start(store, {}, state.clock)
    await passed()
    state.stepMs = -hourMs
    await pass(30 * minuteMs)
    expect(await seqs()).toEqual([1])
    await pass(50 * minuteMs)
    expect(await seqs()).toEqual([])
  })
})

describe("an undelivered match", () => {
  test("stays longer than matches that no link needs, for a time of its own, and then is missed", async () => {
    await harness.addApp("2")
    const atMs = clock.nowMs()
    await append("1", range(1, 4), atMs)
    await append("2", [5], atMs)
    await store.saveProgress([
      { linkId: link, position: 2 as MatchSeq, retries: [], settled: [], dead: [], delivered: 2 },
    ])
    start(store, { undelivered: 3 })
    await pass(25 * hourMs, 15 * minuteMs)
    expect(await seqs(), "the cursor is at 2").toEqual([3, 4])
    expect(await seqs("2" as AppId), "an app without links").toEqual([])
    expect(events("gapMade")).toEqual([])
    await pass(46 * hourMs, 15 * minuteMs)
    expect(await seqs()).toEqual([3, 4])
    await pass(2 * hourMs, 15 * minuteMs)
    expect(await seqs()).toEqual([])
    expect(events("gapMade")).toEqual([{ webhookId: "100", from: 3, to: 4 }])
  })

  test("is deleted like any other once it is delivered", async () => {
    await append("1", range(1, 4))
    start(store, { undelivered: 3 })
    await pass(25 * hourMs, 15 * minuteMs)
    expect(await seqs()).toEqual([1, 2, 3, 4])
    await store.saveProgress([
      { linkId: link, position: 4 as MatchSeq, retries: [], settled: [], dead: [], delivered: 4 },
    ])
    await pass(2 * minuteMs)
    expect(await seqs()).toEqual([])
  })
})

describe("a clock that was wrong before the start, or is wrong after it", () => {
  const dayMs = 24 * hourMs

  /** A clock of a later start: its time jumps by so much, its durations go on. */
  function ahead(byMs: number): ManualClock {
    return {
      ...clock,
      nowMs: () => clock.nowMs() + byMs,
      advance: (ms: number) => clock.advance(ms),
      get sleepers() {
        return clock.sleepers
      },
    }
  }

  test("a start two days ahead deletes nothing, reports it, and trusts the clock after a steady hour", async () => {
    start()
    await passed()
    await append("1", [1, 2])
    await stopAll()
    reported = []

    const retention = start(store, { undelivered: 3 }, ahead(2 * dayMs))
    await pass(58 * minuteMs)
    expect(await seqs()).toEqual([1, 2])
    expect(retention.clockAheadMs).toBeCloseTo(2 * dayMs, -6)
    expect(events("clockChecked")[0]).toMatchObject({ isNews: true })
    await store.saveProgress([
      { linkId: link, position: 1 as MatchSeq, retries: [], settled: [], dead: [], delivered: 1 },
    ])
    await pass(4 * minuteMs)
    expect(retention.clockAheadMs).toBe(0)
    expect(await seqs(), "what was delivered goes, and what is owed stays for its time").toEqual([2])
    expect(events("gapMade")).toEqual([])
    expect(events("clockChecked").filter((event) => (event as { isNews: boolean }).isNews)).toHaveLength(2)
  })

  test("the operator's confirmation is enough", async () => {
    start()
    await passed()
    await append("1", [1])
    await stopAll()
    start(store, { believesClock: true }, ahead(2 * dayMs))
    await passed()
    expect(await seqs()).toEqual([])
  })

  test("a match appended while the clock was two days behind is not deleted early after the correction", async () => {
    start()
    await passed()
    await stopAll()
    let offMs = -2 * dayMs
    const corrected = { ...ahead(0), nowMs: () => clock.nowMs() + offMs }
    start(store, { undelivered: 3 }, corrected)
    await passed()
    await append("1", [1], corrected.nowMs())
    await store.saveProgress([
      { linkId: link, position: 1 as MatchSeq, retries: [], settled: [], dead: [], delivered: 1 },
    ])
    offMs = 0
    await pass(23 * hourMs, 15 * minuteMs)
    expect(await seqs()).toEqual([1])
    await pass(2 * hourMs, 15 * minuteMs)
    expect(await seqs()).toEqual([])
  })

  test("dead letters and posts of a start two days ahead stay as long as matches do", async () => {
    start()
    await passed()
    await append("1", [1])
    const dead = [
      { seq: 1 as MatchSeq, failures: 9, outcome: "server_error" as const, deadLetteredAtMs: clock.nowMs() },
    ]
    await store.saveProgress([{ linkId: link, position: 1 as MatchSeq, retries: [], settled: [], dead, delivered: 0 }])
    await stopAll()
    start(store, {}, ahead(10 * dayMs))
    await pass(55 * minuteMs)
    expect(await deadPosts()).toEqual(["1"])
    expect(await postIds()).toEqual(["1"])
  })
})

test("stream connections are forgotten seven days after their end, and open ones are not", async () => {
  const connection = (number: number) => ({
    id: String(number) as ConnectionId,
    uuid: `01890a5d-ac96-774b-bcce-b302099a805${number}`,
    appId: app,
    endpoint: "sample_stream" as const,
    clientIp: "::1",
    connectedAtMs: clock.nowMs() - 30 * 24 * hourMs,
  })
  const endedAtMs = clock.nowMs() - 6 * 24 * hourMs
  const ended = { atMs: endedAtMs, reason: "ClientDisconnected" as const }
  await store.saveConnections({ opened: [connection(1), { ...connection(2), ended }], ended: [] })
  start()
  const listed = async (): Promise<readonly string[]> =>
    (await store.connectionPage({ appId: app }, { direction: "older", limit: 10 })).map(({ id }) => id)
  await pass(24 * hourMs - 2 * minuteMs)
  expect(await listed()).toEqual(["2", "1"])
  await pass(4 * minuteMs)
  await expect.poll(listed).toEqual(["1"])
})
