import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { share } from "../../../../test/support/extent.testing.ts"
import type { Rule } from "../language/rule.ts"
import { evaluate } from "../meaning/evaluate.ts"
import { readPost } from "../post/post-facts.ts"
import type { RuleEnvelope } from "../post/post-objects.ts"
import { anyEnvelope, anyRule, anySearch } from "../testing/any-rule.testing.ts"
import { clauseOf, postWith } from "../testing/matches.testing.ts"
import { writtenPosts } from "../testing/written-posts.testing.ts"
import type { Mode } from "../text/mode.ts"
import { anyTerm, indexQuery, indexQueryHolds, orTerm, type IndexQuery } from "./index-query.ts"
import { cutTerm, indexTerms } from "./index-terms.ts"

/** The query of the rule as text, without `* OR` before it; with `?` after it if it is inexact. */
function queryOf(text: string): string {
  const { query, isExact } = indexQuery(clauseOf(`(${text})`, { mode: "search", embeddings: true }))
  return withoutCut(query) + (isExact ? "" : " ?")
}

function withoutCut(query: IndexQuery): string {
  if (query.kind === "everything") return printed(query)
  const [first, ...others] = query.kind === "any" ? query.of : []
  expect(first).toEqual({ kind: "term", term: cutTerm })
  const [only] = others
  return only !== undefined && others.length === 1 ? printed(only) : others.map(grouped).join(" OR ")
}

function printed(query: IndexQuery): string {
  switch (query.kind) {
    case "term":
      return query.term
    case "all":
      return query.of.map(grouped).join(" ")
    case "any":
      return query.of.map(grouped).join(" OR ")
    case "not":
      return `-${grouped(query.of)}`
    case "everything":
      return "everything"
  }
}

function grouped(query: IndexQuery): string {
  return query.kind === "all" || query.kind === "any" ? `(${printed(query)})` : printed(query)
}

describe("operators", () => {
  test.each([
    ["a keyword", "CAT", "t:cat"],
    ["diacritics", "café", "t:cafe"],
    ["a keyword of several words", "don't", "t:don t:t ?"],
    ["letters that touch", "東京", "t:東 t:京 ?"],
    ["one letter of them", "猫", "t:猫"],
    ["an emoji", "👍", "t:👍"],
    ["an emoji with a skin tone", "👍🏽", "t:👍🏽"],
    ["a phrase", '"hot dog hot"', "t:hot t:dog ?"],
    ["a phrase of one word", '"the"', "t:the"],
    ["a proximity", '"hot dog"~3', "t:hot t:dog ?"],
    ["a link", "url:h.com", "(t:h OR l:h) (t:com OR l:com) ?"],
    ["a word of a link", "url:cats", "t:cats OR l:cats ?"],
    ["the title of a page", "url_title:cat", "lt:cat"],
    ["a hashtag", "#Cat_s", "#:cat_s"],
    ["a mention", "@Wren", "@:wren"],
    ["a user", "from:@Wren", "f:wren"],
    ["a name of several words", 'source:"Twitter Web App" cat', "s:twitter web app t:cat"],
    ["a flag", "has:images cat", "has:images t:cat"],
    ["a text about the author", "bio:cat", "everything ?"],
    ["a text in links", "url_contains:cat", "everything ?"],
    ["a number", "followers_count:3", "everything ?"],
    ["an area", "bounding_box:[1 1 1.1 1.1]", "has:geo ?"],
    ["a similarity", "embedding:cats", "everything ?"],
  ])("%s", (_what, text, expected) => {
    expect(queryOf(text)).toBe(expected)
  })
})

describe("groups and negations", () => {
  test.each([
    ["a (b c)", "t:a t:b t:c"],
    ["a OR (b OR c)", "t:a OR t:b OR t:c"],
    ["a a A", "t:a"],
    ["(a b) OR (a b) OR c", "(t:a t:b) OR t:c"],
    ["a -b -c", "t:a -t:b -t:c"],
    ["a -(b OR c)", "t:a -t:b -t:c"],
    ["a -(b c)", "t:a -(t:b t:c)"],
    ["a -(b -c)", "t:a -(t:b -t:c)"],
    ["a --b", "t:a t:b"],
    ["a (b OR -c)", "t:a -(t:c -t:b)"],
    ["a (-b OR -c)", "t:a -(t:b t:c)"],
    ["a -(b OR -c)", "t:a t:c -t:b"],
    ["a ((-b -c) OR d)", "t:a -((t:b OR t:c) -t:d)"],
    ["a ((-b -c) OR -d)", "t:a -((t:b OR t:c) t:d)"],
    ["a (b OR (-c d))", "t:a (t:b OR (t:d -t:c))"],
    ['a -"b c"', "t:a ?"],
    ['a -(b OR "c d")', "t:a -t:b ?"],
    ['a -(b "c d")', "t:a ?"],
    ["a (b OR min_likes:3)", "t:a ?"],
    ["a OR min_likes:3", "everything ?"],
    ["a min_likes:3", "t:a ?"],
    ["min_likes:3 -a", "everything ?"],
    ["b (a OR (min_likes:3 -c))", "t:b -(t:c -t:a) ?"],
  ])("%s", (text, expected) => {
    expect(queryOf(text)).toBe(expected)
  })

  test("trees that the language does not allow have a query, too", () => {
    const cat = clauseOf("cat")
    const rules: readonly Rule[] = [
      { kind: "not", rule: cat },
      { kind: "any", rules: [] },
      { kind: "all", rules: [] },
      { kind: "not", rule: { kind: "any", rules: [] } },
      { kind: "words", name: "phrase", value: "", words: [] },
    ]
    for (const rule of rules) expect(indexQuery(rule)).toEqual({ query: { kind: "everything" }, isExact: false })
  })

  test("a rule of the greatest depth and length has a query", () => {
    const rule = clauseOf(`(${"a (b OR -(c ".repeat(99)}d${"))".repeat(99)})`, { lengthMax: 10_000 })
    expect(faultOf(indexQuery(rule).query, true)).toBeUndefined()
  })
})

test("queries of terms that no operator has", () => {
  expect(anyTerm(["in:1"])).toEqual({ kind: "term", term: "in:1" })
  expect(printed(anyTerm(["in:1", "in:2"]))).toBe("in:1 OR in:2")
  const queries = ["a", "a OR b", "a b"].map((text) => indexQuery(clauseOf(`(${text})`)).query)
  expect(queries.map((query) => withoutCut(orTerm(query, "rq:1")))).toEqual([
    "t:a OR rq:1",
    "t:a OR t:b OR rq:1",
    "(t:a t:b) OR rq:1",
  ])
  expect(orTerm({ kind: "term", term: "t:a" }, "rq:1")).toEqual(anyTerm(["t:a", "rq:1"]))
  expect(orTerm({ kind: "everything" }, "rq:1")).toEqual({ kind: "everything" })
})

/** The part of the documented form that the query violates; undefined if none. */
function faultOf(query: IndexQuery, isWhole: boolean): string | undefined {
  switch (query.kind) {
    case "term":
      return undefined
    case "everything":
      return isWhole ? undefined : "everything within a query"
    case "not":
      return "a negation that is subtracted from nothing"
    case "all":
    case "any": {
      const { kind, of } = query
      if (of.length < 2) return `${kind} of ${of.length}`
      if (new Set(of.map((one) => JSON.stringify(one))).size < of.length) return "duplicates"
      for (const [index, one] of of.entries()) {
        if (one.kind === kind) return `${kind} within ${kind}`
        const isSubtracted = one.kind === "not" && kind === "all" && index > 0
        if (isSubtracted && one.of.kind === "any") return "a negated any, which is several negations"
        const fault = faultOf(isSubtracted ? one.of : one, false)
        if (fault !== undefined) return fault
      }
      return undefined
    }
  }
}

describe.each<[Mode, fc.Arbitrary<Rule>]>([
  ["stream", anyRule],
  ["search", anySearch],
])("over posts that are read in the mode %s", (mode, rules) => {
  const options = { mode, similarity: (text: string) => (text.length % 10) / 10 }

  test("every post that a rule matches is proposed, and an exact query proposes no other", () => {
    const seen = { matches: 0, exact: 0, exactMisses: 0 }
    const check = (rule: Rule, envelope: RuleEnvelope): void => {
      const post = readPost(envelope, options)
      const { query, isExact } = indexQuery(rule)
      expect(faultOf(query, true)).toBeUndefined()
      const isProposed = indexQueryHolds(query, new Set(indexTerms(post)))
      const isMatch = evaluate(rule, post)
      if (isMatch) seen.matches++
      if (isExact) seen.exact++
      if (isExact && !isMatch) seen.exactMisses++
      if (isExact ? isProposed !== isMatch : isMatch && !isProposed)
        throw new Error(`proposed: ${isProposed}, matches: ${isMatch}, exact: ${isExact}: ${JSON.stringify(query)}`)
    }
    const posts = fc.oneof(anyEnvelope, fc.constantFrom(...writtenPosts))
    fc.assert(
      fc.property(rules, posts, (rule, envelope) => check(rule, envelope)),
      { numRuns: 20_000 * share(4) },
    )
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(500 * share(4))
  })
})

test("words in another order, in several texts or apart are proposed, and only that", () => {
  const { query, isExact } = indexQuery(clauseOf('"hot dog"', { mode: "search" }))
  const isProposed = (text: string) =>
    indexQueryHolds(query, new Set(indexTerms(readPost(postWith(text), { mode: "search" }))))
  expect(isExact).toBe(false)
  expect(["hot dog", "dog, hot", "hot or cold dog"].every(isProposed)).toBe(true)
  expect(isProposed("hot dogs")).toBe(false)
})
