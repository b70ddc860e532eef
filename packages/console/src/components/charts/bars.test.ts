import { expect, test } from "vitest"
import { barLengthText, barsMax, barsOf, type Bar } from "./bars.ts"

const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000]
const midnightMs = Date.UTC(2026, 2, 14)

/** Intervals as the counts of an API are: cut at both ends, and at whole lengths between. */
function intervals(startMs: number, endMs: number, lengthMs: number): readonly Bar[] {
  const edges = [startMs]
  for (let at = Math.floor(startMs / lengthMs + 1) * lengthMs; at < endMs; at += lengthMs) edges.push(at)
  return [...edges, endMs].slice(1).map((end, index) => ({ startMs: edges[index] ?? 0, endMs: end, count: index + 1 }))
}

test("few intervals are bars as they are", () => {
  const day = intervals(midnightMs - dayMs + 1234, midnightMs + 1234, hourMs)
  expect(day).toHaveLength(25)
  expect(barsOf(day, hourMs)).toEqual(day)
  expect(barLengthText(day)).toBe("hour")
})

test("the hours of a week become bars of three hours at round times, with every post", () => {
  const week = intervals(midnightMs - 7 * dayMs + 1234, midnightMs + 1234, hourMs)
  const bars = barsOf(week, hourMs)
  expect(barLengthText(bars)).toBe("3 hours")
  expect(bars.slice(1).every(({ startMs }) => new Date(startMs).getUTCHours() % 3 === 0)).toBe(true)
  expect(bars.at(0)?.startMs).toBe(week.at(0)?.startMs)
  expect(bars.at(-1)?.endMs).toBe(week.at(-1)?.endMs)
  expect(bars.reduce((sum, { count }) => sum + count, 0)).toBe(week.reduce((sum, { count }) => sum + count, 0))
})

test("however many intervals there are, the bars are at most one more than the most, without a gap", () => {
  for (let length = 1; length < 5_000; length += 37) {
    const bars = barsOf(intervals(midnightMs + 7, midnightMs + length * dayMs, dayMs), dayMs)
    expect(bars.length).toBeLessThanOrEqual(barsMax + 1)
    for (const [index, { endMs }] of bars.slice(0, -1).entries()) expect(bars[index + 1]?.startMs).toBe(endMs)
  }
  expect(barsOf([], dayMs)).toEqual([])
  expect(barLengthText(barsOf(intervals(midnightMs, midnightMs + 2 * minuteMs, minuteMs), minuteMs))).toBe("minute")
})
