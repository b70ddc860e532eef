import fc from "fast-check"
import { expect, test } from "vitest"
import { anyEnvelope, anyRule } from "./any-rule.testing.ts"
import { evaluate } from "./evaluate.ts"
import { parseRule } from "./parse-rule.ts"
import { readPost } from "./post-facts.ts"
import type { Rule } from "./rule.ts"
import { RuleMatcher } from "./rule-matcher.ts"

function ruleOf(text: string): Rule {
  const parsed = parseRule(text)
  if (!parsed.ok) throw new Error(text)
  return parsed.rule
}

function matcherOf(...rules: readonly string[]): RuleMatcher<string> {
  const matcher = new RuleMatcher<string>()
  for (const rule of rules) matcher.add(rule, ruleOf(rule))
  return matcher
}

const postOf = (text: string) => readPost({ data: { id: "1", text } })

test("every rule that holds is found once, and no other", () => {
  const matcher = matcherOf("cat", "cat OR dog", "cat -dog", '"cat dog"', "zebra", "#cat")
  expect(matcher.match(postOf("dog, cat")).toSorted()).toEqual(["cat", "cat OR dog"])
  expect(matcher.size).toBe(6)
})

test("a post touches only rules of which it holds a required word", () => {
  const matcher = matcherOf("cat zebra", "the dog", "fish (cow OR hen)", "from:ann cat")
  matcher.match(postOf("the cat and the cow"))
  expect(matcher.candidatesTotal).toBe(0)
  matcher.match(postOf("a zebra"))
  expect(matcher.candidatesTotal).toBe(1)
})

test("rules from the language never go to the scan list; others do, and match", () => {
  const matcher = matcherOf("cat -dog", "(cat OR dog) lang:en", "cat (dog OR -fox)")
  expect(matcher.scanListLength).toBe(0)
  matcher.add("not cat", { kind: "not", rule: ruleOf("cat") })
  expect(matcher.scanListLength).toBe(1)
  expect(matcher.match(postOf("dog"))).toEqual(["not cat"])
  expect(matcher.remove("not cat")).toBe(true)
  expect(matcher.scanListLength).toBe(0)
})

test("a thousand words joined by OR are one rule, found by each of them", () => {
  const words = Array.from({ length: 1000 }, (_, index) => `word${index}`)
  const matcher = new RuleMatcher<string>()
  const parsed = parseRule(words.join(" OR "), { lengthMax: 20_000 })
  if (!parsed.ok) throw new Error(parsed.problems[0]?.message)
  matcher.add("any", parsed.rule)
  expect(matcher.match(postOf("word0"))).toEqual(["any"])
  expect(matcher.match(postOf("WORD999 word7"))).toEqual(["any"])
  expect(matcher.match(postOf("word1000"))).toEqual([])
})

test("removing tells whether there was a rule, and adding again replaces it", () => {
  const matcher = matcherOf("cat")
  matcher.add("cat", ruleOf("dog"))
  expect(matcher.size).toBe(1)
  expect(matcher.match(postOf("cat"))).toEqual([])
  expect(matcher.match(postOf("dog"))).toEqual(["cat"])
  expect(matcher.remove("cat")).toBe(true)
  expect(matcher.remove("cat")).toBe(false)
  expect(matcher.match(postOf("dog"))).toEqual([])
})

test("a rule asked in vain moves to a word that turned out to be rarer", () => {
  const matcher = matcherOf("commonplace odd")
  for (let posts = 0; posts < 3000; posts++) matcher.match(postOf("commonplace"))
  const before = matcher.candidatesTotal
  expect(before).toBeLessThan(1000)
  for (let posts = 0; posts < 1000; posts++) matcher.match(postOf("commonplace"))
  expect(matcher.candidatesTotal).toBe(before)
  expect(matcher.match(postOf("odd, commonplace"))).toEqual(["commonplace odd"])
})

type Step =
  | { readonly kind: "add"; readonly key: number; readonly rule: Rule }
  | { readonly kind: "remove"; readonly key: number }
  | { readonly kind: "match"; readonly post: number; readonly times: number }

/** Few enough for many rules to stand under one word, and on the scan list. */
const crowdedRules = ["cat", "dog", "cat dog", "cat OR dog"].map(ruleOf)
const crowdedRule = fc.constantFrom<Rule>(
  ...crowdedRules,
  ...crowdedRules.map((rule) => ({ kind: "not", rule }) as const),
)

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("add"), key: fc.nat(12), rule: fc.oneof(anyRule, crowdedRule) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("remove"), key: fc.nat(12) }) },
  // Many times over, so that rules lose patience and move.
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("match"),
      post: fc.nat(20),
      times: fc.constantFrom(1, 1, 1, 200),
    }),
  },
)

test("the matcher finds what evaluating every rule finds, whatever was added and removed before", () => {
  fc.assert(
    fc.property(
      fc.array(anyStep, { minLength: 5, maxLength: 60 }),
      fc.array(anyEnvelope, { minLength: 1, maxLength: 6 }),
      (steps, envelopes) => {
        const posts = envelopes.map(readPost)
        const matcher = new RuleMatcher<number>()
        const rules = new Map<number, Rule>()
        for (const step of steps) {
          if (step.kind === "add") {
            matcher.add(step.key, step.rule)
            rules.set(step.key, step.rule)
          } else if (step.kind === "remove") {
            expect(matcher.remove(step.key)).toBe(rules.delete(step.key))
          } else {
            const post = posts[step.post % posts.length]
            if (post === undefined) continue
            const expected = Array.from(rules)
              .filter(([, rule]) => evaluate(rule, post))
              .map(([key]) => key)
            for (let time = 0; time < step.times; time++) {
              expect(matcher.match(post).toSorted((left, right) => left - right)).toEqual(
                expected.toSorted((left, right) => left - right),
              )
            }
          }
          expect(matcher.size).toBe(rules.size)
        }
      },
    ),
    { numRuns: 600 },
  )
})
