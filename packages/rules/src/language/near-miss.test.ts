import { expect, test } from "vitest"
import { cpuMs } from "../testing/cpu-time.testing.ts"
import { nearest } from "./near-miss.ts"

const names = ["from", "to", "url", "url_title", "has", "is", "lang", "bounding_box", "conversation_id"]

test.each([
  ["form", "from"],
  ["frm", "from"],
  ["fromm", "from"],
  ["fron", "from"],
  ["rfom", "from"],
  ["ot", "to"],
  ["url_titel", "url_title"],
  ["bounding_bx", "bounding_box"],
  ["boundingbox", "bounding_box"],
  ["conversationid", "conversation_id"],
  ["lng", "lang"],
  // The nearer of two.
  ["hs", "has"],
  ["iss", "is"],
  ["i", "is"],
])("%s gets the suggestion %s", (name, meant) => {
  expect(nearest(name, names)).toBe(meant)
})

test.each([
  // Two slips in three letters leave nothing of a name.
  "hxx",
  "xyz",
  "since",
  "filter",
  "bounding",
  "",
  "x".repeat(1000),
])("%j gets no suggestion", (name) => {
  expect(nearest(name, names)).toBeUndefined()
})

test("a name of one letter gets no suggestion that shares nothing with it", () => {
  expect(nearest("x", ["a", "b"])).toBeUndefined()
})

test("without candidates there is no suggestion, and a candidate is nearest to itself", () => {
  expect(nearest("from", [])).toBeUndefined()
  for (const name of names) expect(nearest(name, names)).toBe(name)
})

test("a name of a megabyte is not compared letter by letter", () => {
  const name = "a".repeat(1_000_000)
  expect(
    cpuMs(() => {
      for (let time = 0; time < 100; time++) nearest(name, names)
    }),
  ).toBeLessThan(100)
})
