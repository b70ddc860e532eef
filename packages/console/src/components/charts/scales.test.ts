import { expect, test } from "vitest"
import { countScale, durationScale, rateScale } from "./scales.ts"

test("a chart has two to five lines whatever its scale, and no two with the same text", () => {
  const maxima = Array.from({ length: 300 }, (_, index) => 1.1 ** index).filter((max) => max < 1e9)
  for (const { format, ticks } of [rateScale, countScale, durationScale]) {
    for (const max of maxima) {
      const texts = ticks(max).map(format)
      expect(new Set(texts).size, `${max}: ${texts.join()}`).toBe(texts.length)
      expect(texts.length, `${max}: ${texts.join()}`).toBeGreaterThan(1)
      expect(texts.length, `${max}: ${texts.join()}`).toBeLessThanOrEqual(5)
    }
  }
})

test("the lines of a chart are at whole numbers where its values are, and at whole minutes and hours", () => {
  expect(countScale.ticks(1)).toEqual([0, 1])
  expect(countScale.ticks(3.3)).toEqual([0, 1, 2, 3])
  expect(rateScale.ticks(1.1)).toEqual([0, 0.5, 1])
  expect(durationScale.ticks(330).map(durationScale.format)).toEqual(["0 s", "2 min", "4 min"])
  expect(durationScale.ticks(9_000).map(durationScale.format)).toEqual(["0 s", "60 min", "2 h"])
})
