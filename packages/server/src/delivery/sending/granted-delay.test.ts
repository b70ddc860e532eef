import { expect, test } from "vitest"
import { grantedDelayMs } from "./retry-delay.ts"

const policy = { baseMs: 1_000, maxMs: 300_000 }

test.each([
  ["at once", 0, 1_000],
  ["a date that is past", -60_000, 1_000],
  ["less than the base", 999, 1_000],
  ["a time within the bounds", 7_000, 7_000],
  ["a part of a millisecond", 7_000.2, 7_001],
  ["a day", 86_400_000, 300_000],
  ["more than any clock has", Number.MAX_SAFE_INTEGER, 300_000],
])("an endpoint that asks for %s gets a wait within our bounds", (_, askedMs, grantedMs) => {
  expect(grantedDelayMs(policy, askedMs)).toBe(grantedMs)
})
