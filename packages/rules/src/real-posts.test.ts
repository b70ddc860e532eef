/*
 * Real rules over real posts, and what X itself returned for them. The data belongs to others and
 * lies next to the repository, so these tests are skipped where it is not, except in CI.
 */

import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { gunzipSync } from "node:zlib"
import { describe, expect, test } from "vitest"
import { part, share } from "../../../test/support/extent.testing.ts"
import { EarlierPosts } from "./post/earlier-posts.ts"
import { evaluate } from "./meaning/evaluate.ts"
import { explain } from "./meaning/explain.ts"
import { parseRule } from "./language/parse-rule.ts"
import { readPost } from "./post/post-facts.ts"
import type { RuleEnvelope } from "./post/post-objects.ts"
import { printRule } from "./language/print-rule.ts"
import { ruleCost } from "./meaning/rule-cost.ts"
import type { Rule } from "./language/rule.ts"
import { RuleMatcher } from "./matcher/rule-matcher.ts"
import { indexQuery, indexQueryHolds } from "./search/index-query.ts"
import { cutTerm, indexTerms } from "./search/index-terms.ts"
import { isSupported, walkFault } from "./testing/walked-lines.testing.ts"
import { WalkedPost } from "./walk/walked-post.ts"

const shared = process.env["SLUICE_SHARED"] ?? fileURLToPath(new URL("../../../../shared", import.meta.url))
const isThere = existsSync(join(shared, "data/x/posts.ndjson"))
const isSkipped = !isThere && process.env["CI"] === undefined
if (isSkipped) console.warn(`skipped: no real posts in ${shared}; set SLUICE_SHARED to the folder that holds data/`)

/** The members of a line, over all files: each file has some of them. */
type Line = RuleEnvelope & {
  readonly value: string
  readonly details: readonly string[]
  readonly query: string
  readonly matches: readonly string[]
  readonly non_matches?: readonly string[]
  readonly missed?: readonly string[]
}

function linesOf(file: string): readonly Line[] {
  return textsOf(file).map((line) => JSON.parse(line) as Line)
}

function textsOf(file: string): readonly string[] {
  const bytes = readFileSync(join(shared, "data", file))
  const text = (file.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("utf8")
  return text.trim().split("\n")
}

const ids = (count: number, total: number) => `${count} of ${total} (${((100 * count) / total).toFixed(2)} %)`

/** Rules that parse, by their text. */
function realRules(): ReadonlyMap<string, Rule> {
  const rules = new Map<string, Rule>()
  for (const { value } of linesOf("rules/rules.ndjson")) {
    const parsed = parseRule(value, { embeddings: true })
    if (parsed.ok) rules.set(value, parsed.rule)
  }
  return rules
}

/** A deterministic substitute for the similarity of two texts. */
const similarity = (text: string) => (text.length % 10) / 10

describe.skipIf(isSkipped)("real rules and posts", () => {
  test("25,000 rules that resemble the real ones cost less than a tenth of an app's limit", () => {
    const costs = Array.from(realRules().values(), ruleCost)
    const mean = costs.reduce((sum, cost) => sum + cost, 0) / costs.length
    expect(25_000 * mean).toBeLessThan(10_000_000 / 10)
    expect(mean).toBeGreaterThan(5)
  })

  test("the matcher finds what evaluating every real rule finds, over every real post", () => {
    const rules = realRules()
    const numbers = new Map<number, string>()
    const [matcher, walkedMatcher] = [new RuleMatcher(), new RuleMatcher()]
    for (const [value, rule] of rules) {
      numbers.set(matcher.add(rule), value)
      walkedMatcher.add(rule)
    }
    const walked = new WalkedPost()
    let matches = 0
    let posts = 0
    for (const line of part(textsOf("x/posts-full.ndjson.gz"), 4)) {
      const envelope = JSON.parse(line) as Line
      posts++
      const post = readPost(envelope, { similarity })
      const expected = Array.from(rules)
        .filter(([, rule]) => evaluate(rule, post))
        .map(([value]) => value)
      const found = matcher.match(readPost(envelope, { similarity })).map((number) => numbers.get(number) ?? "")
      expect(found.toSorted()).toEqual(expected.toSorted())
      expect(walked.read(Buffer.from(line), { similarity })).toBe(true)
      const walkedTo = walkedMatcher.matchWalked(walked).map((number) => numbers.get(number) ?? "")
      expect(walkedTo.toSorted()).toEqual(expected.toSorted())
      matches += expected.length
    }
    console.info(`real rules over real posts: ${rules.size} rules, ${posts} posts, ${matches} matches`)
    expect(rules.size).toBeGreaterThan(190)
    expect(matches).toBeGreaterThan(10_000 * share(4))
    expect(matcher.candidatesTotal).toBeLessThan((rules.size * posts) / 10)
  })

  test("nearly every real post is walked, and has the terms that it has when it is parsed", () => {
    const lines = ["x/posts-full.ndjson.gz", "x/posts.ndjson", "x/posts-from-v1.1.ndjson"].flatMap(textsOf)
    let taken = 0
    for (const line of lines) if (isSupported(Buffer.from(line))) taken++
    // A comparison takes ten times as long.
    for (const line of part(lines, 12)) expect(walkFault(Buffer.from(line)), line).toBeUndefined()
    console.info(`real posts that are walked: ${ids(taken, lines.length)}`)
    expect(taken / lines.length).toBeGreaterThan(0.98)
  })

  test("every real rule survives parsing and printing, or is rejected for a reason that X gives too", () => {
    const reasons = [
      // PowerTrack has these operators, the filtered stream does not.
      /(?<![a-z_])(?:has:symbols|profile_region:|country_code:|contains:)/,
      // Operators of other dialects, and program text.
      /prefix:|bufferingPolicy|sample:N|has:videos\./,
      // An `or` that should be `OR`.
      / Or /,
      // No standalone clause, in the rule or in a branch of an OR.
      /^\(?(?:\s*-?(?:is|has|lang|sample):[\w.]+|\s*OR|\s*-url:\w+)+\)?$/,
      /OR (?:lang:de\) OR )?-\(lang:en\)/,
      /^-\(point_radius:/,
    ]
    let parsedRules = 0
    const rules = linesOf("rules/rules.ndjson")
    for (const { value } of rules) {
      const parsed = parseRule(value, { embeddings: true })
      if (parsed.ok) {
        parsedRules++
        expect(parseRule(printRule(parsed.rule), { embeddings: true })).toEqual(parsed)
      } else {
        expect(
          reasons.some((reason) => reason.test(value)),
          `${value}: ${parsed.problems[0]?.message}`,
        ).toBe(true)
      }
    }
    console.info(`real rules accepted: ${ids(parsedRules, rules.length)}`)
    expect(parsedRules).toBeGreaterThan(190)
  })

  test("rules are rejected in X's own words", () => {
    for (const { value, details } of linesOf("rules/rule-errors.ndjson")) {
      // The texts are X's of a product that lacks the operator; the first is no rule at all.
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

  test("queries of X's search on the web are rejected, except for operators that X documents for its API", () => {
    const rejections = linesOf("rules/web-search-dialect.ndjson").map(({ value }) => {
      const parsed = parseRule(value, { mode: "search" })
      const messages = parsed.ok ? [] : parsed.problems.map((problem) => problem.message)
      return [value, messages.some((message) => message.includes("not available in current product"))] as const
    })
    expect(rejections).toHaveLength(3)
    for (const [value, isRejected] of rejections) expect(isRejected, value).toBe(!value.includes("min_replies:"))
  })

  test("X's own queries are searches of the strict dialect", () => {
    const queries = ["x/query-oracle.ndjson", "x/query-implied.ndjson"].flatMap(linesOf).map(({ query }) => query)
    for (const query of queries) expect(parseRule(query, { mode: "search", strict: true }).ok, query).toBe(true)
    expect(queries.length).toBeGreaterThan(10)
  })

  test("posts match as X's search matched them, but for those that no data can decide", () => {
    const { posts, earlier, found: find } = recorded()
    const judged = (file: string) => {
      let pairs = 0
      const missed: string[] = []
      const found: string[] = []
      for (const { query, matches, non_matches: others = [] } of linesOf(file)) {
        const holds = find(query)
        const own = matches.filter((id) => !holds(id))
        missed.push(...own.map((id) => pairOf(query, id)))
        found.push(...others.filter(holds).map((id) => pairOf(query, id)))
        pairs += matches.length + others.length
        console.info(`  ${query}: ${ids(matches.length - own.length, matches.length)}`)
      }
      return { pairs, missed, found }
    }
    const search = judged("x/query-oracle.ndjson")
    const undecided = linesOf("x/query-undecided.ndjson").flatMap(({ query, missed = [] }) =>
      missed.map((id) => pairOf(query, id)),
    )
    expect(search.found).toEqual([])
    expect(search.missed.toSorted()).toEqual(undecided.toSorted())

    // X followed a shortened link to its end. No recorded post gives the end of one link, which another shortener made.
    const powerTrack = judged("x/powertrack-oracle.ndjson")
    expect(powerTrack.found).toEqual([])
    expect(powerTrack.missed).toHaveLength(1)
    for (const pair of powerTrack.missed) {
      const [id = "", query] = pair.split(" ")
      expect(query).toMatch(/^url:/)
      expect(endsUnknown(posts.get(id), earlier), pair).toBe(true)
    }
    expect(search.pairs + powerTrack.pairs).toBe(1_175)
  })

  test("a post that X left out, between the first and the last that it returned, is not found", () => {
    const { found: find } = recorded()
    let total = 0
    const wrong: string[] = []
    for (const { query, non_matches: others = [] } of linesOf("x/query-implied.ndjson")) {
      total += others.length
      for (const id of others.filter(find(query))) wrong.push(pairOf(query, id))
    }
    expect(wrong).toEqual([])
    expect(total).toBe(18_944)
  })

  test("the index proposes every real post that a recorded query or a real rule matches, and only these to exact ones", () => {
    const { posts, earlier } = recorded()
    const files = [
      "x/query-oracle.ndjson",
      "x/query-implied.ndjson",
      "x/powertrack-oracle.ndjson",
      "rules/rules.ndjson",
    ]
    const texts = new Set(files.flatMap(linesOf).map(({ query, value }) => query ?? value))
    const rules = Array.from(texts, (text) => parseRule(text, { mode: "search", embeddings: true })).flatMap((parsed) =>
      parsed.ok ? [{ rule: parsed.rule, ...indexQuery(parsed.rule) }] : [],
    )
    let [matches, proposed, exactMatches, terms, cut] = [0, 0, 0, 0, 0]
    const wrong: string[] = []
    const read = part([...posts], 3)
    for (const [id, envelope] of read) {
      const post = readPost(envelope, { mode: "search", earlier, similarity })
      const its = new Set(indexTerms(post))
      terms += its.size
      if (its.has(cutTerm)) cut++
      for (const { rule, query, isExact } of rules) {
        const isMatch = evaluate(rule, post)
        const isProposed = indexQueryHolds(query, its)
        if (isExact ? isMatch !== isProposed : isMatch && !isProposed) wrong.push(pairOf(printRule(rule), id))
        if (isMatch) matches++
        if (isMatch && isExact) exactMatches++
        if (isProposed && query.kind !== "everything") proposed++
      }
    }
    const exact = rules.filter(({ isExact }) => isExact).length
    console.info(
      `indexed: ${read.length} posts of ${(terms / read.length).toFixed(1)} terms, ${rules.length} rules, ${exact} exact; ` +
        `${proposed} proposed, ${matches} matches, ${exactMatches} of exact rules`,
    )
    expect(wrong).toEqual([])
    expect(cut).toBe(0)
    expect(exact).toBeGreaterThan(rules.length / 4)
    expect(matches).toBeGreaterThan(10_000 * share(3))
  })

  test("the match of a real post is explained by spans that contain the operator's words", () => {
    const rules = realRules()
    let spansSeen = 0
    for (const envelope of linesOf("x/posts.ndjson").filter((_, index) => index % 20 === 0)) {
      const post = readPost(envelope, { similarity })
      const texts: Readonly<Record<string, unknown>> = { text: envelope.data.text }
      for (const rule of rules.values()) {
        for (const { where, start, end, operator } of explain(rule, post).spans) {
          const text = texts[where]
          if (start === undefined || typeof text !== "string" || !/^[a-z]+$/.test(operator)) continue
          const repost = /^RT @\w+:/.exec(text)?.[0]
          const points = Array.from(repost ?? text)
          expect(points.slice(start, end).join("").toLowerCase()).toBe(operator)
          spansSeen++
        }
      }
    }
    expect(spansSeen).toBeGreaterThan(10)
  })
})

/** A post and a query, as one text. */
function pairOf(query: string, id: string): string {
  return `${id} ${query}`
}

/** The posts of the recorded results, and whether a query finds one of them as a search. */
function recorded() {
  const posts = new Map<string, Line>()
  const earlier = new EarlierPosts()
  for (const file of ["x/posts-full.ndjson.gz", "x/posts-from-v1.1.ndjson"]) {
    for (const envelope of linesOf(file)) {
      posts.set(envelope.data.id, envelope)
      earlier.learn(envelope)
    }
  }
  const found = (query: string) => {
    const parsed = parseRule(query, { mode: "search" })
    if (!parsed.ok) throw new Error(`${query}: ${parsed.problems[0]?.message}`)
    const matcher = new RuleMatcher()
    matcher.add(parsed.rule)
    return (id: string): boolean => {
      const envelope = posts.get(id)
      if (envelope === undefined) throw new Error(`${query}: no post ${id}`)
      const post = readPost(envelope, { mode: "search", earlier })
      const isFound = evaluate(parsed.rule, post)
      if (matcher.match(post).length > 0 !== isFound) throw new Error(`${query}: the matcher differs: ${id}`)
      return isFound
    }
  }
  return { posts, earlier, found }
}

/** True if the post has a link whose destination is in no post. */
function endsUnknown(envelope: Line | undefined, earlier: EarlierPosts): boolean {
  const shorteners = /^https?:\/\/(?:bit\.ly|dlvr\.it|go\.usa\.gov|htn\.to|tinyurl\.com)\//
  const links = JSON.stringify(envelope).matchAll(/"expanded_url":"([^"]+)"(,"unwound_url")?/g)
  return Array.from(links).some(
    ([, expanded = "", unwound]) =>
      shorteners.test(expanded) && unwound === undefined && earlier.destinationOf(expanded) === undefined,
  )
}
