import { expect, test } from "vitest"
import { createRecordedEvents } from "../delivery/links/link-harness.testing.ts"
import type { AppId, MatchSeq } from "../model/ids.ts"
import { createManualClock } from "../runtime/manual-clock.testing.ts"
import { Activity } from "./activity.ts"

const [heron, owl] = ["1", "2"] as unknown as [AppId, AppId]
const delivered = { webhookId: "9", eventId: "e", outcome: "delivered", status: 200, durationMs: 1 } as const
const accepted = { duplicates: 0, rejected: 0, matches: 0 }

/** An activity that runs on a clock of its own, and the heads of the logs that it reads. */
async function running() {
  const clock = createManualClock()
  const heads = new Map([[owl, 100 as MatchSeq]])
  const broken = { isBroken: false }
  const readHeads = async (): Promise<ReadonlyMap<AppId, MatchSeq>> => {
    if (broken.isBroken) throw new Error("the disk is gone")
    return new Map(heads)
  }
  const store = { heads: readHeads, recentPosts: async function* () {} }
  const activity = await Activity.begin({ store, clock })
  const events = activity.observe(createRecordedEvents())
  const ending = new AbortController()
  const failures: unknown[] = []
  const ended = activity.run(ending.signal, (error) => failures.push(error))
  return { clock, heads, broken, activity, events, failures, end: () => (ending.abort(), ended) }
}

test("each step from the start on counts its events, for each app and for all together", async () => {
  const { clock, heads, activity, events, end } = await running()
  events.postsAccepted({ ...accepted, accepted: 30 })
  events.attemptFinished({ ...delivered, appId: heron })
  events.attemptFinished({ ...delivered, appId: heron, outcome: "server_error" })
  events.attemptFinished({ ...delivered, appId: owl })
  heads.set(heron, 3 as MatchSeq).set(owl, 101 as MatchSeq)
  await clock.advance(10_000)
  heads.set(heron, 8 as MatchSeq)
  events.postsAccepted({ ...accepted, accepted: 10 })
  const byApp = new Map([[heron, { lag: 4, oldestUndeliveredAgeMs: 2_000 }]])
  const measured = {
    links: 1,
    lag: 4,
    oldestUndeliveredAgeMs: 2_000,
    inFlight: 0,
    down: 0,
    paused: 0,
    invalid: 0,
    deadLetters: 0,
  }
  events.linksMeasured({ ...measured, byApp })
  await clock.advance(10_000)
  expect(activity.series()).toMatchObject({
    posts: [30, 10],
    matches: [4, 5],
    deliveries: [2, 0],
    failures: [1, 0],
    lag: [0, 4],
    oldestUndeliveredAgeMs: [0, 2_000],
  })
  expect(activity.series(heron)).toMatchObject({ posts: [30, 10], matches: [3, 5], deliveries: [1, 0], lag: [0, 4] })
  expect(activity.series(owl)).toMatchObject({ matches: [1, 0], deliveries: [1, 0], failures: [0, 0], lag: [0, 0] })
  expect(activity.series("3" as AppId)).toMatchObject({ posts: [30, 10], deliveries: [0, 0] })
  await end()
})

test("an hour is kept, and older steps are forgotten", async () => {
  const { clock, activity, events, end } = await running()
  events.postsAccepted({ ...accepted, accepted: 7 })
  for (let step = 0; step < 360; step++) await clock.advance(10_000)
  expect(activity.series().posts).toHaveLength(360)
  expect(activity.series().posts[0]).toBe(7)
  await clock.advance(10_000)
  expect(activity.series().posts.some((count) => count > 0)).toBe(false)
  await end()
})

test("a store that cannot be read costs the matches of a step, and nothing else", async () => {
  const { clock, broken, activity, events, failures, end } = await running()
  await clock.advance(10_000)
  broken.isBroken = true
  events.attemptFinished({ ...delivered, appId: heron })
  await clock.advance(10_000)
  expect(failures).toHaveLength(1)
  expect(activity.series()).toMatchObject({ matches: [0, 0], deliveries: [0, 1] })
  await end()
})

test("skipped rules of an app count for an hour", async () => {
  const { clock, activity, events, end } = await running()
  events.rulesSkipped({ appId: heron, posts: 1, rules: 1, lastPostId: "1", postsBefore: 0 })
  expect([activity.skipsRules(heron), activity.skipsRules(owl)]).toEqual([true, false])
  for (let minute = 0; minute < 60; minute++) await clock.advance(60_000)
  expect(activity.skipsRules(heron)).toBe(false)
  await end()
})
