import { expect, test } from "vitest"
import type { AppId, MatchSeq } from "../../model/ids.ts"
import { clockFindings } from "./clock.ts"
import { lines } from "./lines.testing.ts"

const nowMs = Date.UTC(2026, 2, 14, 12)
const minuteMs = 60_000
const seq = (value: number): MatchSeq => value as MatchSeq

test("the clock is compared with the newest time in the store", () => {
  const at = (aheadMs: number): readonly string[] => {
    const moments = [
      { what: "app 5", atMs: nowMs - minuteMs },
      { what: "the newest match of app 5", atMs: nowMs + aheadMs },
    ]
    return lines(clockFindings({ nowMs, moments, steps: [] }))
  }
  expect(at(minuteMs)).toEqual([
    "ok: The clock says 2026-03-14T12:00:00.000Z; the newest time in the store is 2026-03-14T12:01:00.000Z.",
  ])
  expect(at(2 * 60 * minuteMs)).toEqual([
    "error: The clock says 2026-03-14T12:00:00.000Z, " +
      "and the newest match of app 5 is from 2026-03-14T14:00:00.000Z, 2 h 0 min later.",
  ])
  expect(lines(clockFindings({ nowMs, moments: [], steps: [] }))).toEqual([
    "ok: The clock says 2026-03-14T12:00:00.000Z.",
  ])
})

test("doctor reports the time by which retention deletes when it is not the clock's", () => {
  const hourMs = 60 * minuteMs
  const found = (believedMs: number, clockMs: number): readonly string[] =>
    lines(clockFindings({ nowMs, moments: [], steps: [], known: { believedMs, clockMs, steadyMs: 0 } }))
  expect(found(nowMs - hourMs, nowMs - hourMs)).toEqual(["ok: The clock says 2026-03-14T12:00:00.000Z."])
  expect(found(nowMs - 48 * hourMs, nowMs - 48 * hourMs)).toEqual([
    "ok: The clock says 2026-03-14T12:00:00.000Z. No server has run since 2026-03-12T12:00:00.000Z: " +
      "the next one deletes nothing by the clock until that has been steady for an hour.",
  ])
  expect(found(nowMs - 48 * hourMs, nowMs)).toEqual([
    "warning: Retention deletes by 2026-03-12T12:00:00.000Z, since the clock jumped ahead by 2 days 0 h.",
  ])
  const unknown =
    "warning: The store does not know when it was served last, so retention deletes nothing until the clock has been " +
    "steady for an hour."
  expect(found(0, 0)).toEqual([unknown])
  expect(found(30 * minuteMs, nowMs)).toEqual([unknown])
})

test("a step back within a log is reported when it is more than a minute", () => {
  const step = (backMs: number) => [{ appId: "5" as AppId, after: seq(3), before: seq(4), backMs }]
  expect(lines(clockFindings({ nowMs, moments: [], steps: step(minuteMs) }))[0]).toMatch(/^ok: /)
  expect(lines(clockFindings({ nowMs, moments: [], steps: step(90 * minuteMs) }))).toEqual([
    "warning: The clock was set back by 1 h 30 min between the matches 3 and 4 of app 5.",
  ])
})
