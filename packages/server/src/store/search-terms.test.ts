import fc from "fast-check"
import { expect, test } from "vitest"
import { everyPost, tokenOf } from "./search-terms.ts"

test("plain terms are their own tokens, with a plus for each space", () => {
  for (const term of ["t:cat", "#:cats", "@:some_body", "s:a/b-c.d", "has:media", "*"]) expect(tokenOf(term)).toBe(term)
  expect(tokenOf("s:twitter for  iphone")).toBe("s:twitter+for++iphone")
})

test("any other term is a hash", () => {
  for (const term of [
    "",
    "=",
    "t:Cat",
    "t:кот",
    "t:a+b",
    "t:a\tb",
    't:"',
    "t:'",
    "t:\\",
    "t:\ud800",
    "t:\0",
    `t:${"a".repeat(63)}`,
  ]) {
    expect(tokenOf(term)).toMatch(/^=[0-9a-f]{32}$/)
  }
})

test("no two terms have the same token, and none that of every post", () => {
  const unit = fc.constantFrom(..."aA0 :+=\"'*^&|!()\\\0\n\ud800\ud801\ufffdéа猫".split(""))
  const hostile = fc.oneof(
    fc.string({ unit, maxLength: 6 }),
    fc.string({ unit: "binary" }),
    fc.constantFrom("OR", "or"),
  )
  const seen = new Map<string, string>()
  fc.assert(
    fc.property(hostile, (term) => {
      const token = tokenOf(term)
      expect(token).toMatch(/^[a-z0-9:#@$*._/+=-]+$/)
      expect(token).not.toBe(everyPost)
      expect(seen.get(token) ?? term).toBe(term)
      seen.set(token, term)
    }),
    { numRuns: 20_000 },
  )
})
