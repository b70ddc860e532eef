import fc from "fast-check"
import { expect, test } from "vitest"
import { retryDelayMs } from "./retry-delay.ts"

const policy = { baseMs: 1_000, maxMs: 300_000 }

test("the delay doubles from the base up to the maximum", () => {
  const delays = [1, 2, 3, 8, 9, 10, 1_000_000].map((failures) => retryDelayMs(policy, failures, 1))
  expect(delays).toEqual([1_000, 2_000, 4_000, 128_000, 256_000, 300_000, 300_000])
})

test("the delay is spread at random over its upper half", () => {
  expect([0, 0.5, 1].map((fraction) => retryDelayMs(policy, 3, fraction))).toEqual([2_000, 3_000, 4_000])
})

test("the delay is always a whole number of milliseconds between half the base and the maximum", () => {
  const fraction = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
  fc.assert(
    fc.property(fc.integer({ min: 1 }), fraction, (failures, chance) => {
      const delayMs = retryDelayMs(policy, failures, chance)
      expect(Number.isInteger(delayMs)).toBe(true)
      expect(delayMs).toBeGreaterThanOrEqual(policy.baseMs / 2)
      expect(delayMs).toBeLessThanOrEqual(policy.maxMs)
    }),
  )
})
