import { expect, test } from "vitest"
import { duration, size } from "./quantities.ts"

const gibibyte = 1_073_741_824

test.each([
  [0, "0.1 s"],
  [1_234, "1.2 s"],
  [59_940, "59.9 s"],
  [60_000, "1 min"],
  [3_600_000, "1 h 0 min"],
  [7_500_000, "2 h 5 min"],
  [97 * 3_600_000, "4 days 1 h"],
])("a time of %i ms is written %s", (ms, text) => {
  expect(duration(ms)).toBe(text)
})

test.each([
  [0, "0 bytes"],
  [1_023, "1023 bytes"],
  [1_024, "1.0 KiB"],
  [150 * 1_048_576, "150 MiB"],
  [2_000 * gibibyte, "2.0 TiB"],
])("a size of %i bytes is written %s", (bytes, text) => {
  expect(size(bytes)).toBe(text)
})
