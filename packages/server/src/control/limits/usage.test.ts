import { expect, test } from "vitest"
import type { AppId, PostId } from "../../model/ids.ts"
import { createManualClock } from "../../runtime/manual-clock.testing.ts"
import type { Events } from "../../runtime/events/events.ts"
import { anApp, app, other } from "../../store/contract/fixtures.ts"
import { MemoryState, MemoryStore } from "../../store/memory/memory-store.testing.ts"
import type { UsedPosts } from "../../store/port/usage-store.ts"
import type { ServerLimits } from "./app-limits.ts"
import { dayOf, monthBegin, monthEnd, Usage } from "./usage.ts"

const limits: ServerLimits = {
  profile: "none",
  requests: {},
  rulesMax: 1,
  ruleCharactersMax: 1,
  connectionsMax: 1,
  postsPerSecondMax: 0,
  postsPerMonthMax: 5,
  capResetDay: 1,
}

const ids = (...given: readonly number[]): readonly PostId[] => given.map((id) => String(id) as PostId)

function start(startMs = Date.parse("2026-03-14T12:00:00Z")) {
  const clock = createManualClock(startMs)
  const store = new MemoryStore(new MemoryState(), clock)
  const counted: (readonly UsedPosts[])[] = []
  const failures: unknown[] = []
  let isAway = false
  const usage = new Usage({
    store: {
      usage: (...args) => store.usage(...args),
      async countUsage(used) {
        if (isAway) {
          await new Promise((resolve) => setImmediate(resolve))
          throw new Error("away")
        }
        counted.push(used)
        return store.countUsage(used)
      },
    },
    clock,
    limits,
    events: { failed: ({ error }) => void failures.push((error as Error).message) },
  })
  return { clock, store, usage, counted, failures, setAway: (away: boolean) => (isAway = away) }
}

const total = async ({ usage }: ReturnType<typeof start>, of: AppId = app): Promise<number> =>
  (await usage.of(anApp(of), 1)).month

test("posts are counted every two seconds and at the end, each once, and those of an app for it alone", async () => {
  const started = start()
  const { usage, counted, clock } = started
  const closing = new AbortController()
  const running = usage.run(closing.signal)
  usage.count(app, ids(1, 2))
  usage.count(app, ids(2, 3))
  usage.count(other, ids(1))
  expect(counted).toEqual([])
  await clock.advance(2_000)
  expect(counted).toHaveLength(1)
  expect(usage.waiting).toBe(0)
  usage.count(app, ids(3, 4))
  closing.abort()
  await running
  expect([await total(started), await total(started, other)]).toEqual([4, 1])
})

test("a post that is read before and after midnight counts for both days", async () => {
  const { usage, clock } = start(Date.parse("2026-03-31T23:59:59.999Z"))
  usage.count(app, ids(1))
  await clock.advance(1)
  usage.count(app, ids(1))
  const { days, month } = await usage.of(anApp(app), 2)
  const today = dayOf(clock.nowMs())
  expect(days).toEqual([
    { day: today - 1, posts: 1 },
    { day: today, posts: 1 },
  ])
  expect(month, "the month of usage has begun").toBe(1)
})

test("what the store does not take waits for it, to the post, and is reported", async () => {
  const started = start()
  const { usage, failures, setAway } = started
  setAway(true)
  usage.count(app, ids(1, 2))
  await usage.flush()
  expect([usage.waiting, failures]).toEqual([2, ["away"]])
  usage.count(app, ids(2, 3))
  setAway(false)
  expect(await total(started)).toBe(3)
  expect(usage.waiting).toBe(0)
})

test("many posts are counted in parts, before two seconds have passed", async () => {
  const { usage, counted } = start()
  const closing = new AbortController()
  const running = usage.run(closing.signal)
  usage.count(app, ids(...Array.from({ length: 30_000 }, (_, at) => at)))
  usage.count(other, ids(...Array.from({ length: 30_000 }, (_, at) => at)))
  await expect.poll(() => usage.waiting).toBe(0)
  expect(counted).toHaveLength(12)
  expect(Math.max(...counted.map((part) => part.reduce((sum, { postIds }) => sum + postIds.length, 0)))).toBe(5_000)
  closing.abort()
  await running
})

test("while the store takes nothing, it is asked every two seconds, however many posts wait", async () => {
  const { usage, failures, setAway, clock } = start()
  const closing = new AbortController()
  const running = usage.run(closing.signal)
  setAway(true)
  for (let at = 0; at < 50; at += 1) {
    usage.count(app, ids(...Array.from({ length: 2_000 }, (_, index) => at * 2_000 + index)))
    await new Promise((resolve) => setImmediate(resolve))
  }
  // The first failure, and one of the count that waited for it.
  expect(failures.length).toBeLessThanOrEqual(2)
  await clock.advance(2_000)
  expect(failures.length).toBeLessThanOrEqual(3)
  setAway(false)
  await clock.advance(2_000)
  await expect.poll(() => usage.waiting).toBe(0)
  closing.abort()
  await running
})

test("more posts than may wait are not counted, and that is reported once", async () => {
  const started = start()
  const { usage, failures, setAway } = started
  setAway(true)
  for (let from = 0; from < 1_100_000; from += 100_000) {
    usage.count(app, ids(...Array.from({ length: 100_000 }, (_, at) => from + at)))
  }
  expect(usage.waiting).toBe(1_000_000)
  setAway(false)
  await usage.flush()
  expect(failures).toEqual(["100000 posts were not counted: too many waited for the store"])
  expect(await total(started)).toBe(1_000_000)
})

test("an app is capped when it has got as many different posts as it may, counted or not", async () => {
  const { usage } = start()
  const capped = (): Promise<boolean> => usage.isCapped(anApp(app))
  expect(await capped()).toBe(false)
  usage.count(app, ids(1, 2, 3, 4))
  expect(await capped()).toBe(false)
  await usage.flush()
  usage.count(app, ids(1, 2, 3, 4))
  expect(await capped(), "the same four").toBe(false)
  usage.count(app, ids(5))
  expect(await capped()).toBe(true)
  expect(await usage.isCapped(anApp(other))).toBe(false)
  expect(await usage.isCapped({ ...anApp(app), limits: { posts_per_month: 6 } })).toBe(false)
  expect(await usage.isCapped({ ...anApp(app), limits: { posts_per_month: 0 } })).toBe(false)
})

test("posts that another process counts are seen within five seconds", async () => {
  const { usage, store, clock } = start()
  expect(await usage.isCapped(anApp(app))).toBe(false)
  await store.countUsage([{ appId: app, day: dayOf(clock.nowMs()), postIds: ids(1, 2, 3, 4, 5) }])
  await clock.advance(5_000)
  expect(await usage.isCapped(anApp(app))).toBe(true)
})

test("deliveries count by their post, and no other attempt does", async () => {
  const started = start()
  const attempt = { appId: app, webhookId: "1", eventId: "e", status: 200, durationMs: 1 } as const
  const events = started.usage.observe({ attemptFinished: () => undefined } as unknown as Events)
  events.attemptFinished({ ...attempt, outcome: "delivered", postId: "1" })
  events.attemptFinished({ ...attempt, outcome: "server_error", postId: "2" })
  events.attemptFinished({ ...attempt, outcome: "delivered" })
  expect(await total(started)).toBe(1)
})

test("a month of usage begins on its day, in UTC", () => {
  const at = (text: string): number => Date.parse(text)
  for (const [now, day, begin, end] of [
    ["2026-03-14T12:00:00Z", 1, "2026-03-01", "2026-04-01"],
    ["2026-03-14T00:00:00Z", 14, "2026-03-14", "2026-04-14"],
    ["2026-03-13T23:59:59Z", 14, "2026-02-14", "2026-03-14"],
    ["2026-01-05T00:00:00Z", 28, "2025-12-28", "2026-01-28"],
    ["2025-12-31T23:59:59Z", 28, "2025-12-28", "2026-01-28"],
  ] as const) {
    expect([monthBegin(at(now), day), monthEnd(at(now), day)]).toEqual([at(begin), at(end)])
  }
})
