import { expect, test } from "vitest"
import { importDelayMs, reconnectDelayMs } from "./retry-delay.ts"

test("a stream connection is opened again as X's documents say", () => {
  const delays = (fault: "network" | "http" | "rate-limit"): number[] =>
    [1, 2, 3, 4, 64, 1000].map((failures) => reconnectDelayMs(fault, failures))
  expect(delays("network")).toEqual([250, 500, 750, 1000, 16_000, 16_000])
  expect(delays("http")).toEqual([5000, 10_000, 20_000, 40_000, 320_000, 320_000])
  expect(delays("rate-limit")).toEqual([60_000, 120_000, 240_000, 480_000, 900_000, 900_000])
})

test("an import waits as long as the server asks, up to a minute", () => {
  expect([1, 2, 3, 9].map((failures) => importDelayMs(failures, undefined))).toEqual([250, 500, 1000, 10_000])
  expect(importDelayMs(9, 0)).toBe(0)
  expect(importDelayMs(1, 7000)).toBe(7000)
  expect(importDelayMs(1, 86_400_000)).toBe(60_000)
})
