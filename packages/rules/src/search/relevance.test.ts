import fc from "fast-check"
import { expect, test } from "vitest"
import { evaluate } from "../meaning/evaluate.ts"
import { readPost } from "../post/post-facts.ts"
import { anyEnvelope, anySearch } from "../testing/any-rule.testing.ts"
import { postWith, ruleOf } from "../testing/matches.testing.ts"
import { relevanceOf } from "./relevance.ts"

const post = readPost(postWith("a hot cat and a dog #owl", { lang: "en" }), { mode: "search" })

test.each([
  ["cat", 1],
  ["cow", 0],
  ["cat OR dog OR cow", 2],
  ["cat dog #owl", 3],
  ["cat lang:en", 2],
  ["cat OR CAT OR cat", 1],
  ['cat OR "cat"', 1],
  ["owl OR #owl", 2],
  ['(cat OR dog) ("hot cat" OR "hot cat"~2)', 4],
  ["cat -dog", 1],
  ["cat -cow", 1],
  ["cat -(cow OR -dog)", 2],
  ["cat --dog", 2],
  ["cat OR (dog cow)", 2],
])("%s: %i clauses hold", (text, count) => {
  expect(relevanceOf(ruleOf(text, { mode: "search" }))(post)).toBe(count)
})

test("a match of a rule without negations has at least one clause, and a repeated clause counts once", () => {
  fc.assert(
    fc.property(anySearch, anyEnvelope, (rule, envelope) => {
      const facts = readPost(envelope, { mode: "search" })
      const count = relevanceOf(rule)(facts)
      expect(relevanceOf({ kind: "all", rules: [rule, rule] })(facts)).toBe(count)
      const isNegated = JSON.stringify(rule).includes('"kind":"not"')
      if (!isNegated && evaluate(rule, facts)) expect(count).toBeGreaterThan(0)
    }),
    { numRuns: 2000 },
  )
})
