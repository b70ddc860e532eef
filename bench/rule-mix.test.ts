import { expect, test } from "vitest"
import { evaluate, parseRule, readPost, ruleCost } from "../packages/rules/src/index.ts"
import type { PostFacts, Rule } from "../packages/rules/src/index.ts"
import { keywordRuleTexts, ruleTexts } from "./rule-mix.ts"
import { vocabularyOf } from "./vocabulary.ts"

/** Posts of 30 neighbouring words of 400, each with a hashtag, a language and a name. */
const posts = Array.from({ length: 400 }, (_, index): PostFacts => {
  const words = Array.from({ length: 30 }, (__, place) => `word${(index * 31 + place) % 400}`)
  const hashtag = `tag${index % 50}`
  return readPost({
    data: {
      id: `${index + 1}`,
      text: `${words.join(" ")} 東京 #${hashtag}`,
      author_id: `${index % 100}`,
      lang: index % 4 === 0 ? "ja" : "en",
      entities: { hashtags: [{ start: 0, end: 5, tag: hashtag }] },
    },
    includes: { users: [{ id: `${index % 100}`, username: `user${index % 100}` }] },
  })
})

const vocabulary = vocabularyOf(posts, 0.1)

function taken(texts: Generator<string>, count: number): readonly string[] {
  return Array.from({ length: count }, () => texts.next().value as string)
}

function ruleOf(text: string): Rule {
  const parsed = parseRule(text)
  if (!parsed.ok) throw new Error(`${text}: ${parsed.problems[0]?.message}`)
  return parsed.rule
}

function clausesOf(rule: Rule): readonly Rule[] {
  return rule.kind === "all" ? rule.rules : [rule]
}

/** Share of matches among all pairs of a rule and a post, over this many rules. */
function matchesPerPair(texts: readonly string[]): number {
  const rules = texts.map(ruleOf)
  const matches = posts.map((post) => rules.filter((rule) => evaluate(rule, post)).length)
  return matches.reduce((sum, count) => sum + count, 0) / rules.length / posts.length
}

/** Three standard deviations of samples of 10,000. */
const tolerance = 0.015

test("a seed gives the same rules each time, and another seed gives others", () => {
  const first = taken(ruleTexts({ vocabulary, seed: 1, shareMax: 0.001 }), 500)
  expect(taken(ruleTexts({ vocabulary, seed: 1, shareMax: 0.001 }), 500)).toEqual(first)
  expect(taken(ruleTexts({ vocabulary, seed: 2, shareMax: 0.001 }), 500)).not.toEqual(first)
})

test("the parser accepts every rule", () => {
  const mix = { vocabulary, seed: 1, shareMax: 0.001 }
  const texts = [...taken(ruleTexts(mix), 5000), ...taken(keywordRuleTexts(mix), 2000)]
  expect(texts.filter((text) => !parseRule(text).ok)).toEqual([])
})

test("rules have the shapes of real rules, in the same proportions", () => {
  const count = 10_000
  const rules = taken(ruleTexts({ vocabulary, seed: 1, shareMax: 1 }), count).map(ruleOf)
  const share = (has: (clause: Rule) => boolean): number =>
    rules.filter((rule) => clausesOf(rule).some(has)).length / count
  const isKey = (clause: Rule, name: string): boolean => clause.kind === "key" && clause.name === name
  const seen = {
    group: share((clause) => clause.kind === "any"),
    notIs: share((clause) => clause.kind === "not" && isKey(clause.rule, "is")),
    lang: share((clause) => isKey(clause, "lang")),
    has: share((clause) => isKey(clause, "has")),
    from: share((clause) => isKey(clause, "from")),
  }
  const expected = { group: 0.31, notIs: 0.185, lang: 0.15, has: 0.17, from: 0.69 * 0.135 }
  for (const name of ["group", "notIs", "lang", "has", "from"] as const)
    expect(Math.abs(seen[name] - expected[name]), name).toBeLessThan(tolerance)
})

test("a narrower rule has more clauses and matches fewer posts", () => {
  const wide = taken(ruleTexts({ vocabulary, seed: 1, shareMax: 0.1 }), 300)
  const narrow = taken(ruleTexts({ vocabulary, seed: 1, shareMax: 0.001 }), 300)
  expect(narrow.join(" ").length).toBeGreaterThan(wide.join(" ").length * 1.2)
  expect(matchesPerPair(narrow)).toBeLessThan(matchesPerPair(wide) / 5)
  expect(matchesPerPair(wide)).toBeGreaterThan(0)
})

test("the mix draws words by their frequency, and never words of too many posts", () => {
  const few = posts.map((_, index) =>
    readPost({
      data: {
        id: "1",
        text: `${index < 300 ? "usual" : ""} ${index < 30 ? "known" : ""} ${index < 10 ? "rare" : ""}`,
      },
    }),
  )
  const mix = { vocabulary: vocabularyOf(few, 0.1), seed: 1, shareMax: 1 }
  const words = taken(keywordRuleTexts(mix), 10_000).flatMap((text) => text.split(" ")[0])
  const known = words.filter((word) => word === "known").length
  expect(Math.abs(known / words.length - 0.75)).toBeLessThan(tolerance)
  expect(new Set(words)).toEqual(new Set(["known", "rare"]))
})

test("an app's maximum of these rules costs less than a tenth of the allowed cost", () => {
  const texts = taken(ruleTexts({ vocabulary, seed: 1, shareMax: 0.01 }), 1000)
  const mean = texts.reduce((sum, text) => sum + ruleCost(ruleOf(text)), 0) / texts.length
  expect(25_000 * mean).toBeLessThan(10_000_000 / 10)
})
