import { expect, test } from "vitest"
import { retryAfterMs } from "./retry-after.ts"

const nowMs = Date.UTC(2027, 0, 15, 8)

test.each([
  ["0", 0],
  ["7", 7_000],
  ["007", 7_000],
  [" 7\t", 7_000],
  ["86400", 86_400_000],
  ["9".repeat(20), Number.MAX_SAFE_INTEGER],
  ["9".repeat(400), Number.MAX_SAFE_INTEGER],
  ["Fri, 15 Jan 2027 08:00:07 GMT", 7_000],
  ["Fri, 15 Jan 2027 08:00:00 GMT", 0],
  ["Fri, 15 Jan 2027 07:59:53 GMT", -7_000],
  ["Thu, 31 Dec 2026 23:59:60 GMT", Date.UTC(2027, 0, 1) - nowMs],
  ["Thu, 29 Feb 2024 00:00:00 GMT", Date.UTC(2024, 1, 29) - nowMs],
  ["Sun, 06 Nov 1994 08:49:37 GMT", Date.UTC(1994, 10, 6, 8, 49, 37) - nowMs],
  ["Sunday, 06-Nov-94 08:49:37 GMT", Date.UTC(1994, 10, 6, 8, 49, 37) - nowMs],
  ["Friday, 15-Jan-27 08:00:07 GMT", 7_000],
  ["Friday, 15-Jan-77 08:00:07 GMT", Date.UTC(2077, 0, 15, 8, 0, 7) - nowMs],
  ["Friday, 15-Jan-78 08:00:07 GMT", Date.UTC(1978, 0, 15, 8, 0, 7) - nowMs],
  ["Sun Nov  6 08:49:37 1994", Date.UTC(1994, 10, 6, 8, 49, 37) - nowMs],
  ["Fri Jan 15 08:00:07 2027", 7_000],
  ["Sat, 01 Jan 0050 00:00:00 GMT", Date.parse("0050-01-01T00:00:00Z") - nowMs],
])("Retry-After: %s is parsed", (text, expected) => {
  expect(retryAfterMs(text, nowMs)).toBe(expected)
})

test.each([
  "",
  "-5",
  "+5",
  "1.5",
  "1e3",
  "0x10",
  "NaN",
  "Infinity",
  "5 s",
  "5, 6",
  "٥",
  "soon",
  "2027-01-15T08:00:07Z",
  "Fri, 15 Jan 2027 08:00:07",
  "Fri, 15 Jan 2027 08:00:07 +0100",
  "Fri, 15 Jan 2027 24:00:00 GMT",
  "Fri, 30 Feb 2027 08:00:07 GMT",
  "Fri, 00 Jan 2027 08:00:07 GMT",
  "Fri, 15 jan 2027 08:00:07 GMT",
  "Fri, 5 Jan 2027 08:00:07 GMT",
])("Retry-After: %s is ignored", (text) => {
  expect(retryAfterMs(text, nowMs)).toBeUndefined()
})
