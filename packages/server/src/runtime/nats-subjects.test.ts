import { expect, test } from "vitest"
import { subjectMatches } from "./nats-subjects.ts"

test.each([
  ["a.b", "a.b", true],
  ["a.b", "a.c", false],
  ["a.b", "a.b.c", false],
  ["a.*", "a.b", true],
  ["a.*", "a", false],
  ["*.b.*", "a.b.c", true],
  ["a.>", "a.b.c", true],
  ["a.>", "a", false],
  ["*.>", "a.b", true],
  [">", "a", true],
])("whether %s matches %s is %s", (pattern, subject, expected) => {
  expect(subjectMatches(pattern, subject)).toBe(expected)
})
