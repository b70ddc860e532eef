/**
 * Rules and posts for property tests, made of few words, so that they meet.
 *
 * The words are those that a matcher gets wrong: letters that fold oddly, marks, scripts without
 * spaces, emoji of several code points, words that are parts of others.
 */

import fc from "fast-check"
import type { RuleEnvelope } from "./post-facts.ts"
import { hasValues, isValues, wordsOf, wordsOfLink } from "./rule.ts"
import type { Operator, Rule } from "./rule.ts"

const texts = [
  "cat",
  "CAT",
  "catalog",
  "dog",
  "zebra",
  "don't",
  "gpt-3",
  "straße",
  "STRASSE",
  "ΟΔΟΣ",
  "οδος",
  "é",
  "e\u0301",
  "ıi",
  "猫",
  "東京",
  "東京タワー",
  "สวัสดี",
  "iPhoneケース",
  "👍",
  "👍🏽",
  "❤️",
  "🇫🇷",
  "👩‍💻",
  "1️⃣",
  "happy_day",
  "or",
  "3",
]
const tags = ["Cat", "cat", "猫", "happy_day", "ÉTÉ"]
const names = ["Ann", "ann", "bob_1", "猫"]
const cashtags = ["BTC", "btc", "BRK.B"]
const ids = ["1", "2", "3", "44"]
const languages = ["en", "EN", "ja", "he", "iw", "zh-TW"]
const links = [
  "example.com/cat",
  "https://h.com/~bob",
  "https://www.example.com/a?b=cat",
  "https://t.co/cat",
  "東京.jp",
]

const someText = fc.oneof(
  fc.constantFrom(...texts),
  fc.array(fc.constantFrom(...texts), { minLength: 1, maxLength: 3 }).map((some) => some.join(" ")),
  fc.tuple(fc.constantFrom(...texts), fc.constantFrom(...texts)).map(([left, right]) => left + right),
  fc.constantFrom('say "cat"', "back\\slash", "cat, dog"),
)

/** An operator that parses. */
const anyOperator: fc.Arbitrary<Operator> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(fc.constantFrom("keyword", "phrase"), someText)
      .map(([kind, value]) => ({ kind, value, words: wordsOf(value) })),
  },
  fc.constantFrom(...links).map((value) => ({ kind: "url", value, words: wordsOfLink(value) }) as const),
  fc.constantFrom(...tags).map((value) => ({ kind: "hashtag", value }) as const),
  fc.constantFrom(...names).map((value) => ({ kind: "mention", value }) as const),
  fc.constantFrom(...cashtags).map((value) => ({ kind: "cashtag", value }) as const),
  fc
    .tuple(fc.constantFrom("from", "to", "retweets_of"), fc.constantFrom(...names, ...ids))
    .map(([kind, value]) => ({ kind, value })),
  fc.constantFrom(...ids).map((value) => ({ kind: "conversation_id", value }) as const),
  fc.constantFrom(...languages).map((value) => ({ kind: "lang", value }) as const),
  fc.constantFrom(...isValues).map((value) => ({ kind: "is", value }) as const),
  fc.constantFrom(...hasValues).map((value) => ({ kind: "has", value }) as const),
)

/** A tree of operators, also one that the language could not say. */
export const anyRule: fc.Arbitrary<Rule> = fc.letrec<{ rule: Rule }>((tie) => ({
  rule: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    { weight: 3, arbitrary: anyOperator },
    { weight: 1, arbitrary: tie("rule").map((rule) => ({ kind: "not", rule }) as const) },
    { weight: 2, arbitrary: groupOf("all", tie("rule")) },
    { weight: 2, arbitrary: groupOf("any", tie("rule")) },
  ),
})).rule

function groupOf(kind: "all" | "any", rule: fc.Arbitrary<Rule>): fc.Arbitrary<Rule> {
  return fc.array(rule, { minLength: 1, maxLength: 3 }).map((rules) => ({ kind, rules }))
}

const glue = fc.constantFrom(
  " ",
  " ",
  " ",
  "",
  ", ",
  "_",
  " &amp; ",
  "\n",
  " https://t.co/Xcat1 ",
  " #",
  " @",
  " $",
)
const postText = fc
  .array(fc.tuple(fc.constantFrom(...texts, ...tags, ...names), glue), { maxLength: 8 })
  .map((parts) => parts.flat().join(""))

const offsets = fc.record({ start: fc.nat(20), end: fc.nat(20) })
const mark = (member: string, values: readonly string[]) =>
  fc.array(
    fc.tuple(offsets, fc.constantFrom(...values)).map(([at, value]) => ({ ...at, [member]: value })),
    { maxLength: 2 },
  )
const entities = fc.record(
  {
    hashtags: mark("tag", tags),
    mentions: mark("username", names),
    cashtags: mark("tag", cashtags),
    urls: fc.array(
      fc.record(
        {
          url: fc.constant("https://t.co/x"),
          expanded_url: fc.constantFrom(...links),
          unwound_url: fc.constantFrom(...links),
          display_url: fc.constantFrom("example.com/ca…", "pic.twitter.com/x"),
        },
        { requiredKeys: ["url"] },
      ),
      { maxLength: 2 },
    ),
  },
  { requiredKeys: [] },
)

const post = fc.record(
  {
    id: fc.constantFrom(...ids),
    text: postText,
    author_id: fc.constantFrom(...ids),
    conversation_id: fc.constantFrom(...ids),
    in_reply_to_user_id: fc.constantFrom(...ids),
    lang: fc.constantFrom(...languages),
    entities,
    attachments: fc.record({ media_keys: fc.array(fc.constantFrom("3_1", "7_1", "16_1"), { maxLength: 2 }) }),
    referenced_tweets: fc.array(
      fc.record({ type: fc.constantFrom("retweeted", "quoted", "replied_to"), id: fc.constantFrom(...ids) }),
      { maxLength: 2 },
    ),
  },
  { requiredKeys: ["id", "text"] },
)

/** An envelope as X writes them. */
export const anyEnvelope: fc.Arbitrary<RuleEnvelope> = fc.record(
  {
    data: post,
    includes: fc.record(
      {
        users: fc.array(
          fc.record({
            id: fc.constantFrom(...ids),
            username: fc.constantFrom(...names),
            verified: fc.boolean(),
          }),
          { maxLength: 4 },
        ),
        tweets: fc.array(post, { maxLength: 3 }),
        media: fc.array(
          fc.record({
            media_key: fc.constantFrom("3_1", "7_1", "16_1"),
            type: fc.constantFrom("photo", "video", "animated_gif"),
          }),
          { maxLength: 2 },
        ),
      },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: ["data"] },
)
