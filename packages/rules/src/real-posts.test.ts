/*
 * Real rules over real posts, and what X itself returned for them. The data belongs to others and
 * lies beside the repository, so these tests are skipped where it is not, except in CI.
 */

import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, test } from "vitest"
import { evaluate } from "./evaluate.ts"
import { parseRule } from "./parse-rule.ts"
import { readPost } from "./post-facts.ts"
import type { PostFacts, RuleEnvelope } from "./post-facts.ts"
import { printRule } from "./rule.ts"
import type { Rule } from "./rule.ts"
import { RuleMatcher } from "./rule-matcher.ts"

const shared = process.env["SLUICE_SHARED"] ?? fileURLToPath(new URL("../../../../shared", import.meta.url))
const isThere = existsSync(join(shared, "data/x/posts.ndjson"))
const isSkipped = !isThere && process.env["CI"] === undefined
if (isSkipped)
  console.warn(`skipped: no real posts in ${shared}; set SLUICE_SHARED to the folder that holds data/`)

/** What the lines of the files hold, taken together: each file has a part of it. */
type Line = RuleEnvelope & {
  readonly value: string
  readonly details: readonly string[]
  readonly query: string
  readonly matches: readonly string[]
  readonly non_matches?: readonly string[]
}

function linesOf(file: string): readonly Line[] {
  const text = readFileSync(join(shared, "data", file), "utf8")
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Line)
}

const ids = (count: number, total: number) => `${count} of ${total} (${((100 * count) / total).toFixed(2)} %)`

describe.skipIf(isSkipped)("real data", () => {
  const envelopes = () => linesOf("x/posts.ndjson")

  test("the matcher finds what evaluating every real rule finds, over every real post", () => {
    const rules = new Map<string, Rule>()
    for (const { value } of linesOf("rules/rules.ndjson")) {
      const parsed = parseRule(value)
      if (parsed.ok) rules.set(value, parsed.rule)
    }
    const matcher = new RuleMatcher<string>()
    for (const [value, rule] of rules) matcher.add(value, rule)
    expect(rules.size).toBeGreaterThan(150)
    expect(matcher.scanListLength).toBe(0)
    let matches = 0
    for (const envelope of envelopes()) {
      const post = readPost(envelope)
      const expected = Array.from(rules)
        .filter(([, rule]) => evaluate(rule, post))
        .map(([value]) => value)
      expect(matcher.match(post).toSorted()).toEqual(expected.toSorted())
      matches += expected.length
    }
    expect(matches).toBeGreaterThan(1000)
    expect(matcher.candidatesTotal).toBeLessThan((rules.size * 2281) / 20)
  })

  test("every real rule parses and prints as what it says, or is refused for a reason that is in it", () => {
    const reasons = [
      // Operators that are not to be had yet.
      /(?<![a-z_])(?:has:(?:geo|videos?|video_link|symbols)|is:nullcast|-is:nullcast)/,
      /(?<![a-z_])(?:place|place_country|point_radius|bounding_box|profile_region|country_code|context|entity|sample|bio|bio_name|bio_location|url_title|url_contains|url_description|contains|embedding|followers_count|tweets_count|in_reply_to_status_id|in_reply_to_tweet_id|retweets_of_status_id):/,
      // Operators of other dialects, and program text.
      /prefix:|bufferingPolicy/,
      // An `or` that should be `OR`.
      / Or /,
      // Nothing that may stand alone.
      /^\(?(?:\s*-?(?:is|has|lang|sample):[\w.]+|\s*OR|\s*-url:\w+)+\)?$/,
    ]
    let parsedRules = 0
    const rules = linesOf("rules/rules.ndjson")
    for (const { value } of rules) {
      const parsed = parseRule(value)
      if (parsed.ok) {
        parsedRules++
        expect(parseRule(printRule(parsed.rule))).toEqual(parsed)
      } else {
        expect(
          reasons.some((reason) => reason.test(value)),
          `${value}: ${parsed.problems[0]?.message}`,
        ).toBe(true)
      }
    }
    console.info(`real rules accepted: ${ids(parsedRules, rules.length)}`)
  })

  test("rules are refused in X's own words", () => {
    for (const { value, details } of linesOf("rules/rule-errors.ndjson")) {
      // The text names an operator and is not the rule that was refused.
      if (value.startsWith("(place_country on")) continue
      const parsed = parseRule(value)
      const messages = parsed.ok ? [] : parsed.problems.map((problem) => problem.message)
      for (const detail of details) {
        expect(
          messages.some((message) => message.startsWith(detail)),
          `${value}: ${detail}\n${messages.join("\n")}`,
        ).toBe(true)
      }
    }
  })

  test("search operators of the web are refused", () => {
    for (const { value } of linesOf("rules/web-search-dialect.ndjson"))
      expect(parseRule(value).ok).toBe(false)
  })

  test("posts match as X matched them, at least 98.5 % of the pairs", () => {
    const facts = new Map<string, PostFacts>()
    for (const envelope of envelopes()) facts.set(envelope.data.id, readPost(envelope))
    let agreed = 0
    let total = 0
    for (const { query, matches, non_matches: others = [] } of linesOf("x/query-oracle.ndjson")) {
      const parsed = parseRule(query)
      if (!parsed.ok) continue
      const holds = (id: string) => {
        const post = facts.get(id)
        return post !== undefined && evaluate(parsed.rule, post)
      }
      const right = matches.filter(holds).length + others.filter((id) => !holds(id)).length
      console.info(`  ${query}: ${ids(right, matches.length + others.length)}`)
      agreed += right
      total += matches.length + others.length
    }
    console.info(`agreement with X: ${ids(agreed, total)}`)
    expect(total).toBeGreaterThan(800)
    // What is missing are links shortened by others, of which X knew the end and the post does not.
    expect(agreed / total).toBeGreaterThan(0.985)
  })

  test("mutated real rules never make the parser throw, and what is accepted prints and parses", () => {
    const values = linesOf("rules/rules.ndjson").map(({ value }) => Array.from(value))
    const inserted = ["(", ")", '"', "-", ":", " ", "OR", "\u0000", "\ud800", "[", "'", "🍕", "\u200b", "\\"]
    let seed = 1
    const next = (below: number) => {
      seed = (seed * 48_271) % 2_147_483_647
      return seed % below
    }
    for (let round = 0; round < 4000; round++) {
      const points = [...(values[next(values.length)] ?? [])].slice(0, 400)
      for (let change = 0; change <= next(3); change++) {
        points.splice(next(points.length + 1), next(3), inserted[next(inserted.length)] ?? "")
      }
      const parsed = parseRule(points.join(""))
      if (!parsed.ok) continue
      const printed = printRule(parsed.rule)
      const again = parseRule(printed)
      expect(again.ok && printRule(again.rule)).toBe(printed)
    }
  })
})
