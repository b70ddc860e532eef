import { expect, test } from "vitest"
import { relativeText } from "./relative-time.ts"

const at = Date.UTC(2026, 0, 5, 12)

test("a time that is slightly ahead of the clock is shown as now, and never as in a second", () => {
  for (const aheadMs of [0, 400, 1_000, 9_999]) expect(relativeText(at + aheadMs, at)).toBe("now")
})

test("other times are given in the largest unit that fits, past and future", () => {
  const texts = [-400, -3_000, -90_000, -7_200_000, -86_400_000, 30_000, 600_000].map((ms) => relativeText(at + ms, at))
  expect(texts).toEqual(["now", "3 sec. ago", "1 min. ago", "2 hr. ago", "yesterday", "in 30 sec.", "in 10 min."])
})
