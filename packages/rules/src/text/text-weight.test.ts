import { expect, test } from "vitest"
import { textWeight } from "./text-weight.ts"

test.each([
  ["", 0],
  ["heron", 5],
  ["naïve “dash” — too…", 20],
  ["鷺が立つ", 8],
  ["e\u0301", 1],
  ["👨‍👩‍👧‍👦 🇮🇸 ☺️", 8],
  ["see https://example.com/a/very/long/path?with=many&parameters=indeed#and-more now", 31],
  ["a.com b.com", 47],
])("%s weighs %i", (text, weight) => {
  expect(textWeight(text)).toBe(weight)
})
