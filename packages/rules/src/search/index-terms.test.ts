import { createHash } from "node:crypto"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { evaluate } from "../meaning/evaluate.ts"
import { readPost, type PostFacts } from "../post/post-facts.ts"
import type { RuleEnvelope } from "../post/post-objects.ts"
import { anyEnvelope } from "../testing/any-rule.testing.ts"
import { clauseOf, postWith } from "../testing/matches.testing.ts"
import { writtenPosts } from "../testing/written-posts.testing.ts"
import { indexQuery, indexQueryHolds } from "./index-query.ts"
import { cutTerm, indexTerms, indexTermsMax, indexTermsOf, indexTermsVersion, openPlaceTerm } from "./index-terms.ts"

const search = (envelope: RuleEnvelope): PostFacts => readPost(envelope, { mode: "search" })

test("the terms of a post are its tokens and keys, each with a short name of its field, once", () => {
  const post = postWith("Café, CAFÉ 👍🏽 #Owl @wren https://t.co/x", {
    author_id: "12",
    lang: "en",
    entities: {
      hashtags: [{ tag: "Owl" }],
      mentions: [{ username: "wren", id: "7" }],
      urls: [{ url: "https://t.co/x", expanded_url: "https://h.com/owl", display_url: "h.com/owl" }],
    },
    context_annotations: [{ domain: { id: "1", name: "D" }, entity: { id: "2", name: "Oat Fell" } }],
  })
  const words = ["t:cafe", "t:👍🏽", "t:👍", "t:owl", "t:wren", "t:h", "t:com"]
  const links = ["l:t", "l:co", "l:x"]
  const marks = ["#:owl", "@:wren", "@:7"]
  const flags = ["has:hashtags", "has:mentions", "has:links"]
  const others = ["f:12", "la:en", "x:1.2", "x:1.*", "x:*.2", "e:oat fell"]
  const expected = [...words, ...links, ...marks, ...flags, ...others]
  expect(indexTerms(search(post)).toSorted()).toEqual(expected.toSorted())
})

test("the fields of a term are distinct: a text has another term in each", () => {
  const texts = ["cat", "#cat", "@cat", "$cat", "from:cat", "to:cat", "url_title:cat", "url_description:cat"]
  const names = ["retweets_of:cat", "from_affiliate_of:cat", "to_affiliate_of:cat", "entity:cat", "place:cat"]
  const ids = ["source:cat", "conversation_id:1", "place_country:de"]
  const references = ["in_reply_to_tweet_id:1", "retweets_of_tweet_id:1", "quotes_of_tweet_id:1", "context:1.2"]
  const flags = ["is:reply", "has:links", "lang:de"]
  const queries = [...texts, ...names, ...ids, ...references, ...flags].map((text) => indexQuery(clauseOf(text)))
  const fields = queries.map(({ query }) => /"([^"]+:)(?:cat|1|1\.2|de|reply|links)"/.exec(JSON.stringify(query))?.[1])
  expect(new Set(fields).size).toBe(queries.length)
  expect(fields).not.toContain(undefined)
})

test("a post of X's greatest length has all of its terms", () => {
  const english = Array.from({ length: 4_000 }, (_, index) => `w${index % 3_000}`).join(" ")
  const japanese = Array.from({ length: 25_000 }, (_, index) => String.fromCodePoint(0x4e00 + (index % 3_000))).join("")
  for (const text of [english, japanese]) {
    const terms = indexTerms(search(postWith(text)))
    expect(terms).toHaveLength(3_000)
    expect(terms).not.toContain(cutTerm)
  }
})

describe("a post with more terms than the bound", () => {
  const post = search(postWith(Array.from({ length: indexTermsMax + 1 }, (_, index) => `w${index}`).join(" ")))

  test("has one term, and every query proposes it", () => {
    expect(indexTerms(post)).toEqual([cutTerm])
    for (const text of ["w7", "owl", "w7 -owl", '"w7 w8"', "url_contains:owl", "from:wren lang:en"]) {
      const { query } = indexQuery(clauseOf(`(${text})`, { mode: "search" }))
      expect(indexQueryHolds(query, new Set([cutTerm])), text).toBe(true)
    }
  })

  test("no other post has this term", () => {
    fc.assert(
      fc.property(anyEnvelope, (envelope) => {
        expect(indexTerms(search(envelope))).not.toContain(cutTerm)
      }),
    )
  })
})

test("a post that has only the id of its place is proposed to every query for a place", () => {
  const geo = { place_id: "p1" }
  const places = [{ id: "p1", name: "Berlin", country_code: "DE" }]
  const [known, open] = [postWith("cat", { geo }, { places }), postWith("cat", { geo })]
  expect(indexTermsOf(known)).not.toContain(openPlaceTerm)
  expect(indexTermsOf(open)).toContain(openPlaceTerm)
  for (const text of ["place:Berlin", "place_country:DE", "cat place:Rome", "cat -place:Berlin"]) {
    const { query, isExact } = indexQuery(clauseOf(`(${text})`, { mode: "search" }))
    expect(isExact).toBe(false)
    expect(indexQueryHolds(query, new Set(indexTermsOf(open))), text).toBe(true)
  }
})

describe("texts that are not whole in their term", () => {
  const long = "a".repeat(80)

  test.each([
    ["a word of 64 letters", "a".repeat(64), false],
    ["a word of 63 letters", "a".repeat(63), true],
    ["a word that continues after 64 letters", `${"a".repeat(64)}b`, false],
    ["an emoji of 30 joined ones, the bound within a surrogate pair", Array(30).fill("👨").join("\u200D"), false],
  ])("%s", (_what, text, isExact) => {
    const rule = clauseOf(text, { mode: "search" })
    const indexed = indexQuery(rule)
    expect(indexed.isExact).toBe(isExact)
    const post = search(postWith(text))
    expect(evaluate(rule, post)).toBe(true)
    expect(indexQueryHolds(indexed.query, new Set(indexTerms(post)))).toBe(true)
  })

  test("a long word proposes posts with another one that begins alike, so the query is inexact, and its negation requires nothing", () => {
    const terms = new Set(indexTerms(search(postWith(`${long}b`))))
    expect(indexQueryHolds(indexQuery(clauseOf(long)).query, terms)).toBe(true)
    expect(indexQuery(clauseOf(`(cat -${long})`)).query).toEqual(indexQuery(clauseOf("cat")).query)
  })

  test("terms have at most 68 UTF-16 units, no control characters and no halves of surrogate pairs", () => {
    const texts = [`${"a".repeat(63)}😀`, "nul\u0000", "half\uD83D", "\uDE00", "line\nfeed", "😀".repeat(50), long]
    const tags = texts.map((tag) => ({ tag }))
    const post = postWith(texts.join(" "), { lang: long, entities: { hashtags: tags } })
    const terms = indexTerms(search(post))
    for (const term of terms) {
      expect(term.length).toBeLessThanOrEqual(68)
      expect(term.isWellFormed()).toBe(true)
      expect(term).not.toMatch(/\p{Cc}/u)
    }
    expect(terms).toContain("#:nul\uFFFD")
  })
})

test("an index of other terms has another version", () => {
  const hash = createHash("sha256")
  for (const envelope of writtenPosts) hash.update(`${JSON.stringify(indexTermsOf(envelope).toSorted())}\n`)
  // If this fails on purpose, count the version up: indexes that are stored are then built again.
  expect([indexTermsVersion, hash.digest("hex").slice(0, 16)]).toEqual([4, "6d6fe996e6f3a79a"])
})
