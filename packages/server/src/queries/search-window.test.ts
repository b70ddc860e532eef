import { expect, test } from "vitest"
import { firstIdAt } from "../model/ids.ts"
import type { Problem } from "../model/problem.ts"
import { checkWindow, countedTimes, recentMs, searchSpan, spanOf } from "./search-window.ts"

const nowMs = Date.parse("2026-03-14T09:26:53.589Z")
const dayMs = 86_400_000
const [none, all] = [-1n, 9_223_372_036_854_775_807n]
const [older, newer] = ["1721361432158114055", "1990004210000005000"]

/** The faults of a refusal, each with what it says of the parameters. */
function faultsOf(...of: Parameters<typeof checkWindow>): readonly unknown[] {
  try {
    checkWindow(...of)
    return []
  } catch (error) {
    return (error as Problem).causes.map(({ message, parameters }) => [message, parameters])
  }
}

test("a span without parameters has every id, and a recent one those of seven days", () => {
  expect(searchSpan({}, nowMs)).toEqual({ above: none, upTo: all })
  const { above, upTo } = searchSpan({}, nowMs, { reachMs: recentMs })
  expect([above, upTo]).toEqual([firstIdAt(nowMs - recentMs) - 1n, all])
})

test("times are inclusive at the start and exclusive at the end, ids exclusive at both", () => {
  const [start_time, end_time] = ["2026-03-14T09:00:00Z", "2026-03-14T10:00:00+01:00"]
  expect(spanOf({ start_time })).toEqual({ above: firstIdAt(Date.parse(start_time)) - 1n, upTo: all })
  expect(spanOf({ end_time })).toEqual({ above: none, upTo: firstIdAt(Date.parse(end_time)) - 1n })
  expect(spanOf({ start_time, end_time })).toMatchObject({ upTo: spanOf({ start_time }).above })
  expect(spanOf({ since_id: older, until_id: newer })).toEqual({ above: BigInt(older), upTo: BigInt(newer) - 1n })
})

test("of times and ids together the narrower bound counts, whichever it is", () => {
  const start_time = "2026-03-14T09:00:00Z"
  const start = firstIdAt(Date.parse(start_time))
  expect(spanOf({ start_time, since_id: "5" }).above).toBe(start - 1n)
  expect(spanOf({ start_time, since_id: String(start + 5n) }).above).toBe(start + 5n)
  expect(spanOf({ end_time: start_time, until_id: "5" }).upTo).toBe(4n)
  expect(spanOf({ end_time: start_time, until_id: String(start + 5n) }).upTo).toBe(start - 1n)
})

test("a recent span begins at its floor, unless a parameter begins it later", () => {
  const floor = firstIdAt(nowMs - recentMs) - 1n
  expect(searchSpan({ until_id: "5" }, nowMs, { reachMs: recentMs })).toEqual({ above: floor, upTo: 4n })
  expect(searchSpan({ since_id: String(floor + 9n) }, nowMs, { reachMs: recentMs }).above).toBe(floor + 9n)
})

test("the first id of a moment has no time below it, and moments before snowflakes have ids from before", () => {
  const first = firstIdAt(nowMs)
  expect(first & 0x3f_ffffn).toBe(0n)
  expect(firstIdAt(nowMs + 1) - first).toBe(1n << 22n)
  expect(firstIdAt(Date.parse("2006-03-21T00:00:00Z"))).toBe(0n)
  expect(firstIdAt(Date.parse("2006-03-21T00:00:01Z"))).toBeGreaterThan(0n)
  expect(firstIdAt(Date.parse("2010-01-01T00:00:00Z"))).toBe(firstIdAt(Date.parse("2006-03-22T00:00:00Z")))
})

test("times that are too old or too new are refused, each with what it must be, to the minute", () => {
  const recent = { start_time: "2026-03-07T09:26:00Z", end_time: "2026-03-14T09:26:54Z" }
  expect(faultsOf(recent, nowMs, { reachMs: recentMs })).toEqual([
    [
      "Invalid 'start_time':'2026-03-07T09:26Z'. 'start_time' must be on or after 2026-03-07T09:26Z",
      { start_time: ["2026-03-07T09:26Z"] },
    ],
    [
      "Invalid 'end_time':'2026-03-14T09:26Z'. 'end_time' must be a minimum of 10 seconds prior to the request time.",
      { end_time: ["2026-03-14T09:26Z"] },
    ],
  ])
  expect(
    faultsOf({ start_time: "2026-03-07T09:26:54Z", end_time: "2026-03-14T09:26:53Z" }, nowMs, { reachMs: recentMs }),
  ).toEqual([])
  expect(faultsOf({ start_time: "2006-03-20T23:59:59Z" }, nowMs)).toMatchObject([
    [expect.stringContaining("must be on or after 2006-03-21T00:00Z"), expect.anything()],
  ])
  expect(faultsOf({ start_time: "2006-03-21T00:00:00Z" }, nowMs)).toEqual([])
})

test("an id below a recent span is refused with the least one that it may have", () => {
  const floor = firstIdAt(nowMs - recentMs)
  expect(faultsOf({ since_id: String(floor - 1n) }, nowMs, { reachMs: recentMs })).toEqual([
    [
      "'since_id' must be a tweet id created after 2026-03-07T09:26Z. " +
        `Please use a 'since_id' that is larger than ${floor}`,
      { since_id: [String(floor - 1n)] },
    ],
  ])
  expect(faultsOf({ since_id: String(floor) }, nowMs, { reachMs: recentMs })).toEqual([])
  expect(faultsOf({ since_id: "1", until_id: "2" }, nowMs)).toEqual([])
  expect(faultsOf({ until_id: "2" }, nowMs, { reachMs: recentMs })).toEqual([])
})

test("a later page goes on when its beginning has passed out of reach since the first", () => {
  const later = { reachMs: recentMs, isContinued: true }
  const floor = firstIdAt(nowMs - recentMs)
  expect(faultsOf({ start_time: "2026-03-07T09:26:00Z" }, nowMs, later)).toEqual([])
  expect(faultsOf({ since_id: String(floor - 1n) }, nowMs, later)).toEqual([])
  expect(searchSpan({ since_id: "5" }, nowMs, later).above).toBe(floor - 1n)
  expect(faultsOf({ since_id: "5", start_time: "2026-03-14T09:00:00Z" }, nowMs, later)).toHaveLength(1)
})

test("ids next to times are refused with all that were given", () => {
  const mixed = { since_id: newer, end_time: "2026-03-14T09:00:00.5Z" }
  expect(faultsOf(mixed, nowMs)).toEqual([
    [
      "Invalid use of 'since_id' or 'until_id' in conjunction with 'start_time' or 'end_time'.",
      { since_id: [newer], end_time: ["2026-03-14T09:00Z"] },
    ],
  ])
  expect(() => searchSpan({ ...mixed }, nowMs)).toThrow(expect.objectContaining({ status: 400 }))
  expect(faultsOf({ until_id: newer, start_time: "2090-01-01T00:00:00Z" }, nowMs)).toHaveLength(2)
})

test("as on X, a search ends ten seconds ago, refuses later times, and begins 30 days before its end", () => {
  const asX = { isAsX: true }
  const agoMs = (days: number, of = nowMs): bigint => firstIdAt(of - days * dayMs) - 1n
  const end = firstIdAt(nowMs - 10_000) - 1n
  expect(searchSpan({}, nowMs, asX)).toEqual({ above: agoMs(30), upTo: end })
  expect(searchSpan({}, nowMs, { ...asX, reachMs: recentMs })).toEqual({ above: agoMs(7), upTo: end })
  const start_time = "2020-01-01T00:00:00Z"
  expect(searchSpan({ start_time }, nowMs, asX).above).toBe(firstIdAt(Date.parse(start_time)) - 1n)
  expect(searchSpan({ since_id: older }, nowMs, asX).above).toBe(BigInt(older))
  const end_time = "2024-06-01T00:00:00Z"
  expect(searchSpan({ end_time }, nowMs, asX)).toEqual({
    above: agoMs(30, Date.parse(end_time)),
    upTo: firstIdAt(Date.parse(end_time)) - 1n,
  })
  const tooLate = { end_time: "2026-03-14T09:26:44Z" }
  expect(faultsOf(tooLate, nowMs)).toEqual([])
  expect(faultsOf(tooLate, nowMs, asX)).toEqual([
    [
      "Invalid 'end_time':'2026-03-14T09:26Z'. 'end_time' must be a minimum of 10 seconds prior to the request time.",
      { end_time: ["2026-03-14T09:26Z"] },
    ],
  ])
  expect(faultsOf({ end_time: "2026-03-14T09:26:43Z" }, nowMs, asX)).toEqual([])
})

test("counts end ten seconds ago, and begin seven days before that, or at a midnight", () => {
  const endMs = nowMs - 10_000
  const recent = { reachMs: recentMs }
  expect(countedTimes({}, nowMs, recent)).toEqual({ startMs: endMs - recentMs, endMs })
  expect(countedTimes({}, nowMs)).toEqual({ startMs: Date.parse("2026-02-12T00:00:00Z"), endMs })
  const [start_time, end_time] = ["2026-01-01T00:00:00Z", "2026-01-03T00:00:00Z"]
  const span = { startMs: Date.parse(start_time), endMs: Date.parse(end_time) }
  expect(countedTimes({ start_time, end_time }, nowMs)).toEqual(span)
  expect(countedTimes({ end_time }, nowMs)).toEqual({ ...span, startMs: Date.parse("2025-12-04T00:00:00Z") })
  const ids = { since_id: String(firstIdAt(span.startMs)), until_id: String(firstIdAt(span.endMs)) }
  expect(countedTimes(ids, nowMs)).toEqual(span)
})

test("an earlier end moves the beginning of recent counts no further back", () => {
  const startMs = nowMs - 10_000 - recentMs
  const endMs = Date.parse("2026-03-08T09:00:00Z")
  const recent = { reachMs: recentMs }
  expect(countedTimes({ end_time: "2026-03-08T09:00:00Z" }, nowMs, recent)).toEqual({ startMs, endMs })
  const lastYearMs = Date.parse("2025-03-08T09:00:00Z")
  const until_id = String(firstIdAt(lastYearMs))
  expect(countedTimes({ until_id }, nowMs, recent)).toEqual({ startMs, endMs: lastYearMs })
})

test("counts that begin in the last ten seconds end now, but not with one of X's profiles", () => {
  const startMs = Date.parse("2026-03-14T09:26:48Z")
  const since_id = String(firstIdAt(startMs))
  for (const parameters of [{ start_time: "2026-03-14T09:26:48Z" }, { since_id }]) {
    expect(countedTimes(parameters, nowMs, { reachMs: recentMs })).toEqual({ startMs, endMs: nowMs })
  }
  expect(countedTimes({ since_id }, nowMs, { isAsX: true })).toEqual({ startMs, endMs: nowMs - 10_000 })
})

test("an until_id that is later than now ends counts now, and searches with one of X's profiles", () => {
  const until_id = String(all)
  expect(countedTimes({ until_id }, nowMs)).toEqual({ startMs: Date.parse("2026-02-12T00:00:00Z"), endMs: nowMs })
  expect(countedTimes({ until_id }, nowMs, { isAsX: true }).endMs).toBe(nowMs - 10_000)
  const end = nowMs - 10_000
  expect(searchSpan({ until_id }, nowMs, { isAsX: true })).toEqual({
    above: firstIdAt(end - 30 * dayMs) - 1n,
    upTo: firstIdAt(end) - 1n,
  })
})
