import { expect, test } from "vitest"
import { isDateTime } from "./date-time.ts"

test.each([
  "2026-03-14T09:26:53Z",
  "2026-03-14t09:26:53.123456789z",
  "2026-03-14T09:26:53+05:30",
  "2024-02-29T23:59:59Z",
])("a date-time of RFC 3339 is accepted: %s", (text) => {
  expect(isDateTime(text)).toBe(true)
  expect(Date.parse(text)).not.toBeNaN()
})

test.each([
  ["", "nothing"],
  ["2026-03-14", "a day"],
  ["2026-03-14T09:26:53", "no zone"],
  ["2026-03-14 09:26:53Z", "a space"],
  ["2026-03-14T09:26Z", "no seconds"],
  ["2026-02-30T00:00:00Z", "no such day"],
  ["2025-02-29T00:00:00Z", "no leap year"],
  ["2026-04-31T00:00:00Z", "no such day"],
  ["2026-00-10T00:00:00Z", "no such month"],
  ["2026-13-10T00:00:00Z", "no such month"],
  ["2026-03-14T24:00:00Z", "no such hour"],
  ["2026-03-14T09:60:00Z", "no such minute"],
  ["2026-03-14T09:26:60Z", "a leap second"],
  ["2026-03-14T09:26:53+24:00", "no such zone"],
  ["Sat Mar 14 09:26:53 +0000 2026", "as v1.1 writes it"],
])("text that is not a date-time is refused: %s, %s", (text) => {
  expect(isDateTime(text)).toBe(false)
})
