import { expect, test, vi } from "vitest"
import type { LinkId, PostId, ReplayId, RuleId } from "../../model/ids.ts"
import { firstIdAt } from "../../model/ids.ts"
import { backfillGraceMs, isCut, isSearched, type BackfillPart, type FoundInPast } from "../../model/replay.ts"
import { createManualClock } from "../../runtime/manual-clock.testing.ts"
import { soleLeases } from "../../store/leases.ts"
import { createRecordedEvents } from "../links/link-harness.testing.ts"
import { backfillMatchesMax, createBackfillSearches } from "./backfill-searches.ts"
import { replayHarness, webhook } from "./replay-harness.testing.ts"

const harness = replayHarness()

const rules = [{ id: "5" as RuleId, value: "cat", tag: "t" }]

const toMs = Date.UTC(2026, 2, 14)
const lastId = (firstIdAt(toMs + 1) - 1n).toString() as PostId

function createBackfill(id = "9"): Promise<void> {
  return harness.create(id, 0, 0, { toMs, backfill: { rules, searchedId: "0" as PostId, lastId } })
}

/** Parts of a search in which every post up to `count` matches, ten at a time. */
function tens(count: number, step = 10) {
  return async ({ after, limit }: BackfillPart): Promise<FoundInPast> => {
    const from = Number(after)
    const ids = Array.from(
      { length: Math.min(step, limit, count - from) },
      (_, index) => String(from + index + 1) as PostId,
    )
    const matches = ids.map((postId) => ({ postId, rules: [{ id: "5", tag: "t" }] }))
    return { matches, searchedId: from + ids.length < count ? (ids.at(-1) ?? after) : lastId }
  }
}

function start(
  findInPast: (part: BackfillPart, signal: AbortSignal) => Promise<FoundInPast>,
  { leases = soleLeases, clock = createManualClock(toMs + 1) } = {},
) {
  const { store } = harness.links
  return harness.run(
    createBackfillSearches({ store, leases, clock, events: createRecordedEvents(), pastPosts: { findInPast } }),
  )
}

test("a backfill sends what its search finds, each once, under ids of its own, and then its completion", async () => {
  await harness.linkWithPosts(25)
  harness.outbound.respondToAll(() => 200)
  harness.start()
  start(tens(25))
  await createBackfill()
  await harness.until(harness.isEnded("9"))
  await harness.until(() => harness.completions().some(({ eventId }) => eventId === "replay_9"))
  const sent = harness.outbound.received.filter(({ eventId }) => eventId.startsWith("replay_9_"))
  expect(sent.map(({ eventId }) => Number(eventId.split("_")[2])).toSorted((a, b) => a - b)).toEqual(
    Array.from({ length: 25 }, (_, index) => index + 1),
  )
  expect(new Set(sent.map(({ postId }) => postId)).size).toBe(25)
  expect(JSON.parse(String(sent[0]?.request.body))).toMatchObject({ matching_rules: [{ id: "5", tag: "t" }] })
  expect(await harness.replay("9")).toMatchObject({
    state: "complete",
    position: 25,
    endSeq: 25,
    delivered: 25,
    failed: 0,
  })
  expect((await harness.links.progress("100"))?.position, "the link's own cursor").toBe(0)
})

test("a search waits no longer for late posts than they may take, though the clock has gone back a day", async () => {
  await harness.linkWithPosts(1)
  const clock = createManualClock(toMs - 86_400_000)
  start(tens(1), { clock })
  await createBackfill()
  await expect.poll(() => clock.sleepers).toBeGreaterThan(0)
  await clock.advance(backfillGraceMs)
  await harness.until(async () => isSearched((await harness.replay("9")) ?? {}))
})

test("nothing is sent before all is found", async () => {
  await harness.linkWithPosts(25)
  harness.outbound.respondToAll(() => 200)
  harness.start()
  const rest = Promise.withResolvers<void>()
  const find = tens(25)
  start(async (part) => {
    if (part.after !== "0") await rest.promise
    return find(part)
  })
  await createBackfill()
  await harness.until(async () => (await harness.replay("9"))?.endSeq === 10)
  await harness.clock.advance(20_000)
  expect(harness.outbound.received).toEqual([])
  rest.resolve()
  await harness.until(harness.isEnded("9"))
  expect(await harness.replay("9")).toMatchObject({ delivered: 25 })
})

test("a search that was interrupted goes on after what is saved, and finds nothing twice", async () => {
  await harness.linkWithPosts(25)
  harness.outbound.respondToAll(() => 200)
  const find = tens(25)
  const stop = start(async (part, signal) => {
    if (part.after === "0") return find(part)
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)))
  })
  await createBackfill()
  await harness.until(async () => (await harness.replay("9"))?.endSeq === 10)
  await stop()
  const asked: string[] = []
  start(async (part) => (asked.push(part.after), find(part)))
  harness.start()
  await harness.until(harness.isEnded("9"))
  expect(asked).toEqual(["10", "20"])
  expect(await harness.replay("9")).toMatchObject({ state: "complete", delivered: 25 })
})

test("a post that is gone when it is to be sent makes the backfill incomplete", async () => {
  await harness.linkWithPosts(3)
  harness.outbound.respondToAll(() => 200)
  harness.start()
  // Posts 4 and 5 are not stored.
  start(tens(5))
  await createBackfill()
  await harness.until(harness.isEnded("9"))
  expect(await harness.replay("9")).toMatchObject({ state: "incomplete", position: 5, delivered: 3, failed: 2 })
  expect(await harness.links.store.attempts(webhook as string as LinkId, 10)).toEqual([])
})

test("a search ends at the most matches that a backfill may have, and is known to be cut", async () => {
  await harness.linkWithPosts(1)
  start(tens(2 * backfillMatchesMax, backfillMatchesMax))
  const searching = createBackfill()
  await searching
  await harness.until(async () => isSearched((await harness.replay("9")) ?? {}))
  const replay = await harness.replay("9")
  expect(replay).toMatchObject({ endSeq: backfillMatchesMax, backfill: { lastId: String(backfillMatchesMax) } })
  expect(replay !== undefined && isCut(replay)).toBe(true)
  expect(isCut({ toMs, backfill: { rules, searchedId: lastId, lastId } })).toBe(false)
})

test("a cancelled backfill stops searching, and a cancelled replay stops sending", async () => {
  await harness.linkWithPosts(25)
  const aborted = vi.fn<() => void>()
  start(
    (_part, signal) =>
      new Promise((_, reject) =>
        signal.addEventListener("abort", () => {
          aborted()
          reject(signal.reason as Error)
        }),
      ),
  )
  harness.start()
  await createBackfill("9")
  await harness.clock.advance(1_000)
  expect(await harness.links.store.endReplay("9" as ReplayId, "cancelled", 1)).toBe(true)
  await harness.until(() => aborted.mock.calls.length === 1)
  await harness.create("10", 0, 25)
  await harness.until(() => harness.outbound.open.length === 8)
  expect(await harness.links.store.endReplay("10" as ReplayId, "cancelled", 1)).toBe(true)
  await harness.clock.advance(15_000)
  for (const one of harness.outbound.open.slice()) one.respond(200)
  await harness.clock.advance(15_000)
  expect(harness.outbound.received).toHaveLength(8)
  expect(harness.completions()).toEqual([])
  expect(await harness.replay("10")).toMatchObject({ state: "cancelled" })
})

test("the process that has the lease of the link searches", async () => {
  await harness.linkWithPosts(5)
  let lease: number | undefined
  let changed: () => void = () => undefined
  const leases = {
    ...soleLeases,
    ofLink: () => lease,
    onChange: (listener: () => void) => ((changed = listener), () => undefined),
  }
  const find = vi.fn<typeof searched>()
  const searched = tens(5)
  find.mockImplementation(searched)
  start(find, { leases })
  await createBackfill()
  await harness.clock.advance(15_000)
  expect(find).not.toHaveBeenCalled()
  lease = 0
  changed()
  await harness.until(async () => isSearched((await harness.replay("9")) ?? {}))
  expect(find).toHaveBeenCalledTimes(1)
})
