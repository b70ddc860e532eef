import fc from "fast-check"
import { expect, test } from "vitest"
import { anyEnvelope, anyRule } from "./any-rule.testing.ts"
import { evaluate } from "./evaluate.ts"
import { explain } from "./explain.ts"
import { parseRule } from "./parse-rule.ts"
import { readPost } from "./post-facts.ts"
import type { RuleEnvelope } from "./post-facts.ts"

function explained(rule: string, envelope: RuleEnvelope) {
  const parsed = parseRule(rule)
  if (!parsed.ok) throw new Error(rule)
  return explain(parsed.rule, readPost(envelope))
}

const post: RuleEnvelope = {
  data: {
    id: "1",
    text: "𝒳 &amp; Cat, hot dog cat #Cat",
    author_id: "10",
    lang: "en",
    entities: { hashtags: [{ start: 24, end: 28, tag: "Cat" }], urls: [{ expanded_url: "https://cat.com" }] },
    referenced_tweets: [{ type: "quoted", id: "2" }],
  },
  includes: { users: [{ id: "10", username: "ann" }], tweets: [{ id: "2", text: "a cat" }] },
}

test("spans say which operator held, and where in code points", () => {
  const { matches, spans } = explained('(cat OR zebra) "hot dog" #cat lang:en from:ann -fish', post)
  expect(matches).toBe(true)
  expect(spans).toEqual([
    { operator: "cat", where: "text", start: 8, end: 11 },
    { operator: "cat", where: "text", start: 21, end: 24 },
    { operator: "cat", where: "text", start: 26, end: 29 },
    { operator: "cat", where: "quoted", start: 2, end: 5 },
    { operator: "cat", where: "url" },
    { operator: '"hot dog"', where: "text", start: 13, end: 20 },
    { operator: "#cat", where: "text", start: 24, end: 28 },
    { operator: "lang:en", where: "post" },
    { operator: "from:ann", where: "author" },
  ])
})

test("a rule that does not match has no spans", () => {
  expect(explained("cat zebra", post)).toEqual({ matches: false, spans: [] })
})

test("a branch that does not hold, and what is negated, have no spans", () => {
  expect(explained("from:ann OR (cat zebra)", post).spans).toEqual([
    { operator: "from:ann", where: "author" },
  ])
  expect(explained("from:ann -zebra --cat", post).spans).toEqual([{ operator: "from:ann", where: "author" }])
})

test("an explanation matches as the rule does, and its spans lie within a text", () => {
  fc.assert(
    fc.property(anyRule, anyEnvelope, (rule, envelope) => {
      const facts = readPost(envelope)
      const { matches, spans } = explain(rule, facts)
      expect(matches).toBe(evaluate(rule, facts))
      if (!matches) expect(spans).toEqual([])
      for (const { start, end } of spans) expect((start ?? 0) <= (end ?? 0)).toBe(true)
    }),
    { numRuns: 2000 },
  )
})
