import { expect, test } from "vitest"
import { durationText, rateText } from "./durations.ts"

test("durations have one unit", () => {
  expect([0, 420, 59_900, 60_000, 10_799_000, 10_800_000].map(durationText)).toEqual([
    "0.0 s",
    "0.4 s",
    "59.9 s",
    "1 min",
    "180 min",
    "3 h",
  ])
})

test("rates below ten have a digit after the point", () => {
  expect([0, 0.04, 0.25, 9.94, 12.6].map(rateText)).toEqual(["0/s", "0/s", "0.3/s", "9.9/s", "13/s"])
})
