/*
 * The cost of rules for a post is bounded, both by an estimate and while they are matched. All in steps,
 * which are counted: time would be rough.
 */

import fc from "fast-check"
import { expect, test } from "vitest"
import { anyEnvelope, anyRule } from "../testing/any-rule.testing.ts"
import { evaluate } from "./evaluate.ts"
import { postWith, ruleOf } from "../testing/matches.testing.ts"
import { readPost, type PostFacts } from "../post/post-facts.ts"
import { costLinkCharacters, costRepetitions, ruleCost } from "./rule-cost.ts"
import { RuleMatcher } from "../matcher/rule-matcher.ts"
import type { Rule } from "../language/rule.ts"

/** Steps that the rules of one owner take for the post. */
function stepsOf(rules: readonly Rule[], post: PostFacts): number {
  const matcher = new RuleMatcher()
  for (const rule of rules) matcher.add(rule)
  matcher.match(post)
  return matcher.ownerStepsTotal
}

/** True if its words occur no more often, and its links are no longer, than the cost assumes. */
function isUsual(post: PostFacts): boolean {
  const counts = new Map<string, number>()
  for (const zone of ["text", "link", "title", "description", "bio", "name", "location"] as const)
    for (const { tokens } of post.passages(zone))
      for (const { text, toneless } of tokens)
        for (const name of new Set([text, toneless ?? text]))
          counts.set(`${zone} ${name}`, (counts.get(`${zone} ${name}`) ?? 0) + 1)
  const linkCharacters = post.linkTexts().reduce((sum, text) => sum + text.length, 0)
  return Math.max(0, ...counts.values()) <= costRepetitions && linkCharacters <= costLinkCharacters
}

test("a rule takes no more steps for a usual post than its cost", () => {
  fc.assert(
    fc.property(anyRule, anyEnvelope, (rule, envelope) => {
      const post = readPost(envelope)
      if (!isUsual(post)) return
      expect(stepsOf([rule], post)).toBeLessThanOrEqual(ruleCost(rule))
    }),
    { numRuns: 1000 },
  )
})

const hostileWords = fc.array(fc.constantFrom("a", "b", "c", "d", "猫", "犬", "👍", "👍🏽"), {
  minLength: 2,
  maxLength: 32,
})

test("words that occur repeatedly in phrases and proximities take no more steps than their cost", () => {
  fc.assert(
    fc.property(
      hostileWords,
      fc.integer({ min: 1, max: 6 }),
      fc.array(hostileWords, { maxLength: 4 }),
      (words, moves, texts) => {
        const post = readPost(postWith(texts.flat().join(" "), { entities: {} }))
        if (!isUsual(post)) return
        for (const text of [`"${words.join(" ")}"`, `"${words.join(" ")}"~${moves}`, words.join("")]) {
          const rule = ruleOf(text, { lengthMax: Infinity })
          expect(stepsOf([rule], post), text).toBeLessThanOrEqual(ruleCost(rule))
        }
      },
    ),
    { numRuns: 1000 },
  )
})

test("the matcher finds proximities and phrases exactly where evaluation finds them", () => {
  const some = fc.array(fc.constantFrom("a", "b", "c", "猫", "犬", "👍", "👍🏽"), {
    minLength: 2,
    maxLength: 6,
  })
  const text = fc
    .array(fc.constantFrom("a ", "b ", "c ", "d ", "猫", "犬", "👍", "👍🏽 "), { maxLength: 40 })
    .map((pieces) => pieces.join(""))
  let found = 0
  fc.assert(
    fc.property(some, fc.integer({ min: 1, max: 6 }), text, text, (words, moves, own, quoted) => {
      const post = readPost({
        data: { id: "1", text: own, referenced_tweets: [{ type: "quoted", id: "2" }] },
        includes: { tweets: [{ id: "2", text: quoted }] },
      })
      for (const value of [`"${words.join(" ")}"~${moves}`, `"${words.join("")} a"~${moves}`, words.join(" ")]) {
        const rule = ruleOf(value.includes('"') ? value : `"${value}"`)
        const matcher = new RuleMatcher()
        matcher.add(rule)
        const holds = evaluate(rule, post)
        expect(matcher.match(post), `${value} in ${own}, ${quoted}`).toEqual(holds ? [0] : [])
        if (holds) found++
      }
    }),
    { numRuns: 2000 },
  )
  expect(found).toBeGreaterThan(100)
})

/** Pairs of so many words, as rules. */
function pairs(words: number, toRule: (left: string, right: string) => string): readonly Rule[] {
  const names = Array.from({ length: words }, (_, at) => `w${at}`)
  return names.flatMap((left) => names.flatMap((right) => (left === right ? [] : ruleOf(toRule(left, right)))))
}

/** Characters of a post at most. */
const postLength = 25_000

function longPostOf(words: number): PostFacts {
  let text = ""
  for (let at = 0; text.length < postLength - 5; at = (at * 7 + 3) % 1009) text += `w${at % words} `
  return readPost(postWith(text, { entities: {} }))
}

test("many proximities of common words cost little more than the length of a long post", () => {
  const rules = pairs(70, (left, right) => `"${left} ${right}"~6`)
  const post = longPostOf(70)
  const words = post.passages("text")[0]?.tokens.length ?? 0
  // Comparing each of them at every word would take words × rules × 14 steps.
  expect(stepsOf(rules, post)).toBeLessThan((words * rules.length) / 4)
})

test("the rules of an owner without steps left are skipped and counted, and those of others are evaluated", () => {
  const stepsMax = 20_000
  const matcher = new RuleMatcher({ ownerStepsMax: stepsMax })
  const hostile = pairs(30, (left, right) => `"${left} ${right}"~1`)
  for (const rule of hostile) matcher.add(rule, 1)
  const mine = ['"w1 w4"', '"w2 w3"~6', "w5 -w6", 'w7 -"w8 w9"'].map((text) => [text, matcher.add(ruleOf(text), 2)])
  const shared = matcher.add(hostile[0] ?? ruleOf("w1"), 2)
  const post = longPostOf(30)
  const found = matcher.match(post)
  for (const [text, number] of mine)
    expect(found.includes(Number(number)), `${text}`).toBe(evaluate(ruleOf(`${text}`), post))
  expect(found.includes(shared)).toBe(evaluate(hostile[0] ?? ruleOf("w1"), post))
  const [cut] = matcher.skippedRules
  expect(matcher.skippedRules).toHaveLength(1)
  expect(cut?.owner).toBe(1)
  expect(cut?.rules).toBeGreaterThan(hostile.length / 2)
  expect(cut?.rules).toBeLessThan(hostile.length)
  // One operator may go over the bound.
  expect(matcher.ownerStepsTotal).toBeLessThan(stepsMax * 1.1 + 2_000)
  // No wrong result is kept, and the next post has all steps again.
  expect(matcher.match(readPost(postWith("w1 w4")))).toEqual(expect.arrayContaining([mine[0]?.[1]]))
  expect(matcher.skippedRules).toEqual([])
})

test("an aborted evaluation has no result, and the same rule of another owner is evaluated", () => {
  const texts = Array.from({ length: 40 }, (_, at) => `"w${at} w${at + 1} w${at}"~1`).join(" OR ")
  const rule = ruleOf(`-"zebra cow"~1 (${texts} OR zebra)`)
  const post = longPostOf(60)
  const alone = new RuleMatcher({ ownerStepsMax: 100 })
  alone.add(rule, 1)
  expect(alone.match(post)).toEqual([])
  expect(alone.skippedRules).toEqual([{ owner: 1, rules: 1 }])
  const enough = new RuleMatcher({ ownerStepsMax: 1_000_000 })
  enough.add(rule, 1)
  expect(enough.match(post)).toEqual(evaluate(rule, post) ? [0] : [])
})

test("the rules of other owners do not use the result of an aborted group", () => {
  // Phrases of which only the last one holds.
  const groupOf = (from: number) => {
    const phrases = Array.from({ length: 30 }, (_, at) => `"w${from + at} w${from + at} w0"`)
    return `(${phrases.join(" OR ")} OR "w0 w3 w24")`
  }
  const post = longPostOf(60)
  const both = ruleOf(`${groupOf(0)} ${groupOf(30)}`)
  const [first, second] = [ruleOf(`w1 ${groupOf(0)}`), ruleOf(`w1 ${groupOf(30)}`)]
  // Enough for one group, and not for both.
  const stepsMax = Math.floor(stepsOf([both], post) * 0.75)
  const matcher = new RuleMatcher({ ownerStepsMax: stepsMax })
  const numbers = [matcher.add(both, 1), matcher.add(first, 2), matcher.add(second, 3)]
  expect(matcher.match(post)).toEqual(expect.arrayContaining(numbers.slice(1)))
  expect(matcher.skippedRules).toEqual([{ owner: 1, rules: 1 }])
})

test("every part of a rule adds to its cost, and nothing else does", () => {
  expect(ruleCost(ruleOf("cat"))).toBe(5)
  expect(ruleCost(ruleOf("cat dog"))).toBe(7)
  expect(ruleCost(ruleOf('"hot dog"'))).toBe(41)
  expect(ruleCost(ruleOf('"hot dog"~6'))).toBe(389)
  expect(ruleCost(ruleOf("url_contains:cat"))).toBe(269)
})
