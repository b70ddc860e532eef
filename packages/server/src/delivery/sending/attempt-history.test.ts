import { expect, test } from "vitest"
import type { Attempt } from "../../model/attempt.ts"
import type { LinkId, MatchSeq } from "../../model/ids.ts"
import { createManualClock } from "../../runtime/manual-clock.testing.ts"
import { AttemptHistory, type EndedAttempt } from "./attempt-history.ts"
import { createRecordedEvents } from "../links/link-harness.testing.ts"

function attempt(link: string, seq: number): EndedAttempt {
  return {
    linkId: link as LinkId,
    seq: seq as MatchSeq,
    atMs: 1,
    durationMs: 2,
    outcome: "delivered",
    status: 200,
    bytes: 3,
    error: undefined,
    signatures: undefined,
    received: undefined,
  }
}

/** A history whose saves end when the test says so. */
function start(attemptsKeptPerLink: number) {
  const clock = createManualClock()
  const events = createRecordedEvents()
  const given: string[][] = []
  const ends: PromiseWithResolvers<void>[] = []
  const store = {
    recordAttempts(attempts: readonly Attempt[], { keptPerLink }: { keptPerLink: number }) {
      expect(keptPerLink).toBe(attemptsKeptPerLink)
      given.push(attempts.map(({ linkId, seq }) => `${linkId}:${seq}`))
      const end = Promise.withResolvers<void>()
      ends.push(end)
      return end.promise
    },
  }
  const history = new AttemptHistory({ store, clock, events, attemptsKeptPerLink, attemptResponseBytesMax: 1_024 })
  return { clock, events, given, ends, history }
}

test("attempts are saved together, once a second, one save at a time", async () => {
  const { clock, given, ends, history } = start(10)
  history.add(attempt("1", 1))
  await clock.advance(999)
  history.add(attempt("2", 2))
  expect(given).toEqual([])
  await clock.advance(1)
  expect(given).toEqual([["1:1", "2:2"]])
  history.add(attempt("1", 3))
  await clock.advance(10_000)
  expect(given).toHaveLength(1)
  ends[0]?.resolve()
  await clock.advance(1_000)
  expect(given[1]).toEqual(["1:3"])
  ends[1]?.resolve()
  await clock.advance(0)
  expect(clock.sleepers).toBe(0)
})

test("a save that fails is reported and dropped, and the next one is done", async () => {
  const { clock, events, given, ends, history } = start(10)
  history.add(attempt("1", 1))
  await clock.advance(1_000)
  ends[0]?.reject(new Error("disk full"))
  await clock.advance(0)
  history.add(attempt("1", 2))
  await clock.advance(1_000)
  expect(given).toEqual([["1:1"], ["1:2"]])
  expect(events.failures.map(({ where }) => where)).toEqual(["attempt history"])
})

test("only the newest attempts of a link are saved, as many as are kept", async () => {
  const { clock, given, history } = start(2)
  for (const seq of [1, 2, 3]) history.add(attempt("1", seq))
  history.add(attempt("2", 4))
  await clock.advance(1_000)
  expect(given).toEqual([["2:4", "1:2", "1:3"]])
})

test("when attempts are very many, some of each link are saved, a few at a time: failed ones, and the newest", async () => {
  const { clock, given, ends, history } = start(1_000)
  for (let seq = 1; seq <= 3_000; seq++) history.add(attempt("1", seq))
  history.add({ ...attempt("2", 1), outcome: "timeout" })
  for (let seq = 2; seq <= 2_000; seq++) history.add(attempt("2", seq))
  history.add(attempt("3", 1))
  await clock.advance(1_000)
  for (let saves = 0; saves < given.length; saves++) {
    ends[saves]?.resolve()
    await clock.advance(0)
  }
  expect(Math.max(...given.map(({ length }) => length))).toBeLessThanOrEqual(50)
  const saved = given.flat()
  expect(saved).toHaveLength(1_000)
  expect(saved).toContain("3:1")
  expect(saved.filter((one) => one.startsWith("2:"))).toEqual(["2:1", ...newest("2", 2_000, 499)])
  expect(saved.filter((one) => one.startsWith("1:"))).toEqual(newest("1", 3_000, 499))
})

function newest(link: string, last: number, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${link}:${last - count + 1 + index}`)
}

test("attempts that cannot be saved are bounded: the oldest are dropped", async () => {
  const { clock, given, ends, history } = start(1_000_000)
  history.add(attempt("1", 0))
  await clock.advance(1_000)
  for (let seq = 1; seq <= 10_000; seq++) history.add({ ...attempt("1", seq), outcome: "timeout" })
  for (let seq = 10_001; seq <= 100_000; seq++) history.add(attempt("1", seq))
  ends[0]?.resolve()
  await clock.advance(1_000)
  for (let saves = 1; saves < given.length; saves++) {
    ends[saves]?.resolve()
    await clock.advance(0)
  }
  // The failed attempts would be saved, had they not been dropped.
  expect(given.flat()[1]).toBe("1:99001")
  expect(given.flat().at(-1)).toBe("1:100000")
})

test("closing saves the rest, without waiting for its time", async () => {
  const { given, ends, history } = start(10)
  history.add(attempt("1", 1))
  const closed = history.close()
  await Promise.resolve()
  await Promise.resolve()
  expect(given).toEqual([["1:1"]])
  ends[0]?.resolve()
  await closed
})
