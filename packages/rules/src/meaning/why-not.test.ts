import fc from "fast-check"
import { expect, test } from "vitest"
import { parseLocatedRule } from "../language/parse-rule.ts"
import { printRule } from "../language/print-rule.ts"
import type { Rule } from "../language/rule.ts"
import type { RuleSources } from "../language/rule-sources.ts"
import { readPost, type PostFacts } from "../post/post-facts.ts"
import { anyEnvelope, anyRule } from "../testing/any-rule.testing.ts"
import { postWith } from "../testing/matches.testing.ts"
import { writtenRules } from "../testing/written-rules.testing.ts"
import { evaluate, holds } from "./evaluate.ts"
import { whyNot, type ClauseOutcome } from "./why-not.ts"

const options = { embeddings: true, lengthMax: Number.POSITIVE_INFINITY }

function located(text: string): { readonly rule: Rule; readonly sources: RuleSources } {
  const parsed = parseLocatedRule(text, options)
  if (!parsed.ok) throw new Error(`${text}: ${parsed.problems[0]?.message}`)
  return parsed
}

function failedIn(text: string, post: PostFacts): readonly string[] {
  const { rule, sources } = located(text)
  return whyNot(rule, sources, post).failed.map(({ start, end, isUnwanted }) => {
    const part = text.slice(start, end)
    return isUnwanted ? `not ${part}` : part
  })
}

const post = readPost(postWith("a heron and a dog, https://example.com", { lang: "en" }))

test("the clauses that failed are named by their place in the text", () => {
  expect(failedIn("heron zebra lang:en", post)).toEqual(["zebra"])
  expect(failedIn("heron -dog -cat", post)).toEqual(["not dog"])
  expect(failedIn("heron --cat", post)).toEqual(["cat"])
  expect(failedIn('heron -(cat OR dog OR "a dog") lang:de', post)).toEqual(["not dog", 'not "a dog"', "lang:de"])
  expect(failedIn("(zebra OR (cat heron)) lang:en", post)).toEqual(["zebra", "cat"])
  expect(failedIn("heron dog", post)).toEqual([])
})

test("every clause has its outcome and its place, negations and groups with them", () => {
  const text = "heron -(cat OR dog)"
  const { rule, sources } = located(text)
  const shown = (clause: ClauseOutcome): unknown => [
    clause.kind,
    text.slice(clause.start, clause.end),
    clause.holds,
    ...clause.clauses.map(shown),
  ]
  expect(shown(whyNot(rule, sources, post).clause)).toEqual([
    "all",
    text,
    false,
    ["operator", "heron", true],
    ["not", "-(cat OR dog)", false, ["any", "cat OR dog", true, ["operator", "cat", false], ["operator", "dog", true]]],
  ])
})

test("a threshold next to an embedding does not lose the places of the other clauses", () => {
  expect(failedIn('(embedding:"lost pets" -heron) zebra embedding_threshold:0.5', post)).toEqual([
    'embedding:"lost pets"',
    "not heron",
    "zebra",
  ])
})

/** The rule's value if each operator for which `isTurned` had turned out the other way. */
function valueWith(rule: Rule, of: PostFacts, isTurned: (operator: Rule) => boolean): boolean {
  switch (rule.kind) {
    case "any":
      return rule.rules.some((one) => valueWith(one, of, isTurned))
    case "all":
      return rule.rules.every((one) => valueWith(one, of, isTurned))
    case "not":
      return !valueWith(rule.rule, of, isTurned)
    default:
      return holds(rule, of) !== isTurned(rule)
  }
}

test("the result agrees with evaluate, and the failed clauses are those that would have to change", () => {
  fc.assert(
    fc.property(anyRule, anyEnvelope, (tree, envelope) => {
      const text = `(${printRule(tree)}) OR beside`
      const parsed = parseLocatedRule(text, options)
      if (!parsed.ok) return
      const { rule, sources } = parsed
      const facts = readPost(envelope, { similarity: () => 0.4 })
      const { matches, clause, failed } = whyNot(rule, sources, facts)
      expect(matches).toBe(evaluate(rule, facts))
      expect(clause.holds).toBe(matches)
      expect(failed.length === 0).toBe(matches)
      const places = new Set(failed.map(({ start }) => start))
      expect(valueWith(rule, facts, (operator) => places.has(sources.of(operator).start))).toBe(true)
    }),
    { numRuns: 150 },
  )
})

test("each operator is in the text at the place that its source names", () => {
  for (const text of writtenRules) {
    const parsed = parseLocatedRule(text, options)
    if (!parsed.ok) continue
    const check = (clause: ClauseOutcome, within: { start: number; end: number }): void => {
      expect(clause.start).toBeGreaterThanOrEqual(within.start)
      expect(clause.end).toBeLessThanOrEqual(within.end)
      for (const one of clause.clauses) check(one, clause)
      if (clause.kind !== "operator") return
      const part = text.slice(clause.start, clause.end)
      const alone = parseLocatedRule(`beside ${part}`, options)
      const found = alone.ok && alone.rule.kind === "all" ? alone.rule.rules[1] : undefined
      const printed = clause.operator.replace(/ embedding_threshold:.*/, "")
      if (part !== "is:nullcast") expect(found && printRule(found), part).toBe(printed)
    }
    check(whyNot(parsed.rule, parsed.sources, post).clause, { start: 0, end: text.length })
  }
})
