import fc from "fast-check"
import { expect, test } from "vitest"
import { codePointAt } from "./code-at.ts"

test("a text that ends within a pair has half of it at its end, however often it is read", () => {
  // Long enough for the engine to keep it as a slice of the longer one.
  const text = `${"ab".repeat(20)}\u{1F600} and more`.slice(0, 41)
  const found = new Set<number>()
  for (let reads = 0; reads < 1_000_000; reads++) found.add(codePointAt(text, 40))
  expect([...found]).toEqual([0xd83d])
})

test("a code point equals that of an iterator of the text, and after the end there is none", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (before, after) => {
      const text = before + after
      const [first] = text.slice(before.length)
      expect(codePointAt(text, before.length)).toBe(first === undefined ? 0 : first.codePointAt(0))
      expect(codePointAt(text, text.length)).toBe(0)
    }),
  )
})

test("halves of pairs stand for themselves", () => {
  expect(["\ud83d", "\ud83da", "\ud83d\ud83d", "\ude00"].map((text) => codePointAt(text, 0))).toEqual([
    0xd83d, 0xd83d, 0xd83d, 0xde00,
  ])
})
