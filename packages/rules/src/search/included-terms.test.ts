import fc from "fast-check"
import { expect, test } from "vitest"
import type { RuleEnvelope } from "../post/post-objects.ts"
import { anyEnvelope } from "../testing/any-rule.testing.ts"
import { postWith } from "../testing/matches.testing.ts"
import {
  includedPostIds,
  includedTerm,
  quotedByOriginal,
  repostedQuoteTerm,
  termsOfIncluded,
} from "./included-terms.ts"
import { cutTerm, indexTermsMax, indexTermsOf } from "./index-terms.ts"

const included = (...tweets: readonly unknown[]): RuleEnvelope => postWith("a note", {}, { tweets })

test("the posts in includes have a term each, and no other post does", () => {
  const quote = { id: "7", text: "seven" }
  expect(termsOfIncluded(included(quote, { id: "9", text: "nine" }, quote))).toEqual(["in:7", "in:9"])
  expect(termsOfIncluded(postWith("a note", { referenced_tweets: [{ type: "quoted", id: "7" }] }))).toEqual([])
  expect(indexTermsOf(included(quote))).toContain(includedTerm("7"))
})

test.each([
  ["an id that is no text", { id: 7, text: "seven" }],
  ["an id with a sign", { id: "-7", text: "seven" }],
  ["an id with a leading zero", { id: "07", text: "seven" }],
  ["an id of twenty digits", { id: "12345678901234567890", text: "long" }],
  ["no text", { id: "7" }],
  ["no object", "7"],
])("a post in includes with %s has no term", (_what, post) => {
  expect(includedPostIds(included(post, { id: "8", text: "eight" }))).toEqual(new Set(["8"]))
})

test("the first hundred posts in includes have a term", () => {
  const posts = Array.from({ length: 150 }, (_, at) => ({ id: String(at), text: "one of many" }))
  expect([...includedPostIds(included(...posts))]).toEqual(posts.slice(0, 100).map(({ id }) => id))
})

test("a repost of a quote has a term of the quoted post, if its original came with it", () => {
  const references = (type: string, id: string) => ({ referenced_tweets: [{ type, id }] })
  const repost = (tweets: readonly object[], more = references("retweeted", "7")): RuleEnvelope =>
    postWith("RT @wren: look", more, { tweets })
  const quote = { id: "7", text: "look", ...references("quoted", "3") }
  expect(quotedByOriginal(repost([{ id: "6", text: "x", ...references("quoted", "2") }, quote]))).toBe("3")
  expect(termsOfIncluded(repost([quote]))).toEqual(["in:7", repostedQuoteTerm("3")])
  for (const [what, envelope] of [
    ["without its original", repost([])],
    ["of a reply", repost([{ id: "7", text: "yes", ...references("replied_to", "3") }])],
    ["a quote of a quote", repost([quote], references("quoted", "7"))],
    ["of a post that quotes no id", repost([{ id: "7", text: "look", ...references("quoted", "x") }])],
  ] as const)
    expect(quotedByOriginal(envelope), what).toBeUndefined()
})

test("a post with more terms than the bound keeps those of its includes", () => {
  const text = Array.from({ length: indexTermsMax + 1 }, (_, at) => `w${at}`).join(" ")
  expect(indexTermsOf(postWith(text, {}, { tweets: [{ id: "7", text: "seven" }] }))).toEqual([cutTerm, "in:7"])
})

test("any envelope has terms of its includes, whatever the types of their members", () => {
  const anything = fc.record({ data: fc.jsonValue(), includes: fc.jsonValue() })
  fc.assert(
    fc.property(fc.oneof(anyEnvelope, anything), (envelope) => {
      for (const term of termsOfIncluded(envelope as RuleEnvelope)) expect(term).toMatch(/^(in|rq):\d{1,19}$/)
    }),
  )
})
