/*
 * Work is bounded by the length of the rule times the length of the post: counted, since time is rough. Rules and
 * posts are untrusted, and one pair of them must not delay the stream.
 */

import { expect, test } from "vitest"
import { counted } from "../testing/counted.testing.ts"
import { cpuMs } from "../testing/cpu-time.testing.ts"
import { evaluate } from "../meaning/evaluate.ts"
import { explain } from "../meaning/explain.ts"
import { postWith, ruleOf } from "../testing/matches.testing.ts"
import { nearDistanceMax } from "../text/near.ts"
import { PostFacts, readPost } from "../post/post-facts.ts"
import type { Passage } from "../post/field-values.ts"
import { RuleMatcher } from "./rule-matcher.ts"
import type { Rule, Zone } from "../language/rule.ts"

/** A post that counts how often one of its words is looked at. */
class CountedPost extends PostFacts {
  readonly #counted = new Map<Zone, readonly Passage[]>()
  readonly #counts: (() => number)[] = []

  constructor(text: string) {
    super(postWith(text, { entities: {} }), {})
  }

  override passages(zone: Zone): readonly Passage[] {
    const known = this.#counted.get(zone)
    if (known) return known
    const passages = super.passages(zone).map(({ where, tokens }) => {
      const { list, reads } = counted(tokens)
      this.#counts.push(reads)
      return { where, tokens: list }
    })
    this.#counted.set(zone, passages)
    return passages
  }

  /** Words of the text. */
  get length(): number {
    return super.passages("text").reduce((sum, { tokens }) => sum + tokens.length, 0)
  }

  reads(): number {
    return this.#counts.reduce((sum, reads) => sum + reads(), 0)
  }
}

/** Maximum reads of words for the rule, for each word of the post. */
function budgetOf(rule: Rule): number {
  switch (rule.kind) {
    case "any":
    case "all":
      return rule.rules.reduce((sum, one) => sum + budgetOf(one), 0)
    case "not":
      return budgetOf(rule.rule)
    case "words":
      // Longer phrases are found by bits, and read each word of the post once.
      return rule.words.length <= 32 ? rule.words.length : 1
    case "near":
      return rule.words.length * (nearDistanceMax + 1)
    default:
      return 0
  }
}

/** Characters of a post at most. */
const postLength = 25_000
const textOf = (piece: string, length: number) => piece.repeat(Math.floor(length / piece.length))
const numbered = (count: number, separator: string) =>
  Array.from({ length: count }, (_, index) => `w${index}`).join(separator)

const rules: readonly (readonly [string, string])[] = [
  ["four hundred keywords of which none is there", numbered(400, " OR ")],
  ["keywords that are all there but the last", `${"a b ".repeat(200)} zebra`],
  ["negations", `zebra OR (b ${Array.from({ length: 100 }, (_, index) => `-w${index}`).join(" ")})`],
  ["a phrase of 32 words", `"${"a ".repeat(31)}b"`],
  ["a phrase of 33 words", `"${"a ".repeat(32)}b"`],
  ["a phrase of a thousand words", `"${"a ".repeat(999)}b"`],
  ["thirty phrases", Array.from({ length: 30 }, (_, index) => `"a a a a w${index}"`).join(" OR ")],
  ["32 words near each other", `"${"a ".repeat(31)}b"~6`],
  ["ten times words near each other", Array.from({ length: 10 }, (_, index) => `"a a a w${index}"~6`).join(" OR ")],
  ["letters of a script without spaces", "猫".repeat(500)],
  ["such letters near each other", `"${"猫".repeat(30)} b"~6`],
  ["emoji with tones", `"${"👍👍🏽".repeat(15)}b"~6`],
]
const pieces = ["a ", "a b ", "a a a a a a a b ", "猫", "👍🏽", "w0 "]

test.each(rules)("%s read the words of a long post no more often than the rule has words", (_, text) => {
  const rule = ruleOf(text, { lengthMax: 100_000 })
  for (const piece of pieces) {
    // A tenth of the longest post, since counting takes a hundred times as long as looking.
    const post = new CountedPost(textOf(piece, postLength / 10))
    evaluate(rule, post)
    // A word more for the place behind the last one, where a phrase finds that the post ends.
    expect(post.reads(), piece).toBeLessThanOrEqual(budgetOf(rule) * (post.length + 32))
  }
})

test("the step counter counts the reads of a list", () => {
  const post = new CountedPost(textOf("a ", 1000))
  expect(evaluate(ruleOf("zebra"), post)).toBe(false)
  expect(post.length).toBe(500)
  expect(post.reads()).toBe(post.length)
})

test.each(rules)("%s over a post sixteen times as long cost less than 96 times the time", (_, text) => {
  const rule = ruleOf(text, { lengthMax: 100_000 })
  for (const piece of ["a ", "a a a a a a a b "]) {
    const timeOf = (length: number) => {
      const posts = Array.from({ length: 3 }, () => readPost(postWith(textOf(piece, length))))
      for (const post of posts) post.passages("text")
      return Math.min(...posts.map((post) => cpuMs(() => evaluate(rule, post))))
    }
    timeOf(postLength / 16)
    // Below a millisecond the clock is too rough to compare.
    expect(timeOf(postLength)).toBeLessThan(96 * Math.max(timeOf(postLength / 16), 1))
  }
})

test("the time of matching and explaining a hostile post depends on the number of rules only", () => {
  const matcher = new RuleMatcher()
  const trees = rules.map(([, text]) => ruleOf(text, { lengthMax: 100_000 }))
  for (const tree of trees) matcher.add(tree)
  for (const piece of ["a ", "a a a a a a a b ", "猫"]) {
    const post = readPost(postWith(textOf(piece, postLength)))
    // Ten times the worst seen for all these rules together; anything quadratic takes minutes.
    expect(
      cpuMs(() => matcher.match(post)),
      piece,
    ).toBeLessThan(2000)
    for (const tree of trees)
      expect(
        cpuMs(() => explain(tree, post)),
        piece,
      ).toBeLessThan(2000)
  }
})

const many = 16_000
const numbers = Array.from({ length: many }, (_, at) => String(at))

/** Envelopes of nearly a megabyte, of which a list is long instead of the text. */
test.each<[string, string, PostFacts]>([
  [
    "links",
    "url:zebra",
    readPost(
      postWith("a", {
        entities: {
          urls: numbers.map((n) => ({ expanded_url: `https://e.com/${n}`, display_url: `d.com/${n}` })),
        },
      }),
    ),
  ],
  [
    "affiliations",
    "from_affiliate_of:zebra",
    readPost(
      postWith(
        "a",
        { author_id: "a" },
        {
          users: [{ id: "a", affiliation: { user_id: numbers } }, ...numbers.map((id) => ({ id, username: id }))],
        },
      ),
    ),
  ],
  [
    "annotations",
    Array.from({ length: 100 }, (_, at) => `entity:zebra${at}`).join(" OR "),
    readPost(
      postWith("a", {
        context_annotations: numbers.map((id) => ({
          domain: { id: "1" },
          entity: { id, name: `entity ${id}` },
        })),
      }),
    ),
  ],
])("the cost of %s is linear and not quadratic", (_, rule, post) => {
  const parsed = ruleOf(rule)
  expect(cpuMs(() => expect(evaluate(parsed, post)).toBe(false))).toBeLessThan(600)
})

test("an author with more affiliations than a call may have arguments is read", () => {
  const ids = Array.from({ length: 200_000 }, (_, at) => String(at))
  const post = readPost(postWith("a", { author_id: "a" }, { users: [{ id: "a", affiliation: { user_id: ids } }] }))
  expect(evaluate(ruleOf("from_affiliate_of:199999"), post)).toBe(true)
})
