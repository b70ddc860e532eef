import fc from "fast-check"
import { expect, test } from "vitest"
import { anyEnvelope, anyRule } from "./any-rule.testing.ts"
import { evaluate } from "./evaluate.ts"
import { clauseOf, matches, postWith, ruleOf } from "./matches.testing.ts"
import { readPost } from "./post-facts.ts"
import { mayMatch, planSearch, termsOf } from "./search-plan.ts"
import type { SearchPlan } from "./search-plan.ts"

const term = (text: string): SearchPlan => ({ kind: "term", term: text })
const all = (...plans: readonly SearchPlan[]): SearchPlan => ({ kind: "all", plans })
const any = (...plans: readonly SearchPlan[]): SearchPlan => ({ kind: "any", plans })

test.each<[string, SearchPlan]>([
  ["Cat", term("cat")],
  ['"hot dog"', all(term("hot"), term("dog"))],
  ['"dog hot"~3', all(term("dog"), term("hot"))],
  ["cat cat", term("cat")],
  ["cat dog lang:en", all(term("cat"), term("dog"), term("lang:en"))],
  ["cat OR #cat", any(term("cat"), term("hashtag:cat"))],
  ["cat (dog (fox cow))", all(term("cat"), term("dog"), term("fox"), term("cow"))],
  ["cat OR (dog OR (fox cow))", any(term("cat"), term("dog"), all(term("fox"), term("cow")))],
  ["url:Example.com", all(term("link:example"), term("link:com"))],
  ["bio:zoo", term("bio:zoo")],
  ["from:Ann -is:retweet", term("from:ann")],
  ["cat -dog followers_count:5 sample:10 url_contains:x point_radius:[1 2 3km]", term("cat")],
  ["followers_count:5", { kind: "every" }],
  ["cat OR followers_count:5", { kind: "every" }],
  ["cat (dog OR min_likes:5)", term("cat")],
  ["lang:he cat", all(term("lang:iw"), term("cat"))],
])("%s asks the index for %j", (text, plan) => {
  expect(planSearch(ruleOf(text))).toEqual(plan)
})

test("nothing is asked for what is negated or has no words", () => {
  expect(planSearch(clauseOf("-cat"))).toEqual({ kind: "every" })
  expect(planSearch({ kind: "all", rules: [] })).toEqual({ kind: "every" })
  expect(planSearch({ kind: "any", rules: [] })).toEqual({ kind: "every" })
})

test("a post is indexed under its words, where they stand and what it has", () => {
  const post = postWith(
    "Cat 👍🏽 https://t.co/a",
    { author_id: "10", lang: "en", entities: { urls: [{ expanded_url: "https://example.com" }] } },
    { users: [{ id: "10", username: "Ann", description: "zoo" }] },
  )
  expect([...termsOf(readPost(post))].toSorted()).toEqual(
    [
      "cat",
      "👍🏽",
      "👍",
      "example",
      "com",
      "link:example",
      "link:com",
      "bio:zoo",
      "from:10",
      "from:ann",
      "lang:en",
      "has:links",
    ].toSorted(),
  )
})

test("every post that a rule matches is found by its plan", () => {
  let found = 0
  fc.assert(
    fc.property(anyRule, fc.array(anyEnvelope, { maxLength: 6 }), (rule, envelopes) => {
      const plan = planSearch(rule)
      for (const envelope of envelopes) {
        const post = readPost(envelope, { similarity: () => 0.6 })
        if (!evaluate(rule, post)) continue
        expect(mayMatch(plan, termsOf(post))).toBe(true)
        if (plan.kind !== "every") found++
      }
    }),
    { numRuns: 1000 },
  )
  expect(found).toBeGreaterThan(50)
})

test("a plan of terms leaves out the posts that lack them", () => {
  const mayFind = (rule: string, text: string) =>
    mayMatch(planSearch(ruleOf(rule)), termsOf(readPost(postWith(text))))
  expect(mayFind("cat dog", "cat")).toBe(false)
  expect(mayFind("cat OR dog", "cow")).toBe(false)
  expect(mayFind("cat (dog OR fox)", "cat cow")).toBe(false)
  // The order of words is for `evaluate` to judge.
  expect(mayFind('"hot dog"', "dog, hot")).toBe(true)
  expect(matches('"hot dog"', postWith("dog, hot"))).toBe(false)
})

test("plans have no plan of their own kind in them, and never every", () => {
  const check = (plan: SearchPlan, around?: string): void => {
    if (plan.kind === "term" || (plan.kind === "every" && around === undefined)) return
    expect(plan.kind).not.toBe("every")
    expect(plan.kind).not.toBe(around)
    if (plan.kind === "every") return
    expect(plan.plans.length).toBeGreaterThan(1)
    for (const one of plan.plans) check(one, plan.kind)
  }
  fc.assert(fc.property(anyRule, (rule) => check(planSearch(rule))))
})
