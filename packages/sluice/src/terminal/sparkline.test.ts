import { expect, test } from "vitest"
import { sparkline } from "./sparkline.ts"

test("counts are blocks in proportion to the greatest one, and none is a space", () => {
  expect(sparkline([0, 1, 2, 3, 4, 5, 6, 7, 8], 80)).toBe(" ▁▂▃▄▅▆▇█")
  expect(sparkline([1_000, 1, 0, 1_000], 80)).toBe("█▁ █")
  expect(sparkline([0, 0], 80)).toBe("  ")
  expect(sparkline([], 80)).toBe("")
})

test("more counts than columns are added up in groups", () => {
  expect(sparkline([1, 1, 0, 0, 4, 4, 2], 4)).toBe("▂ █▂")
  expect(
    sparkline(
      Array.from({ length: 169 }, () => 1),
      Number.POSITIVE_INFINITY,
    ),
  ).toHaveLength(57)
})
