/**
 * Rules and posts for property tests, made of few words, so that rules match.
 *
 * The words are difficult for a matcher: letters with unusual case folding, marks, scripts without spaces, emoji of
 * several code points, words that are parts of others.
 */

import fc from "fast-check"
import { readArea } from "../language/area-text.ts"
import { fold } from "../text/fold.ts"
import { foldFor } from "../text/mode.ts"
import { languageKey } from "../language/languages.ts"
import type { RuleEnvelope } from "../post/post-objects.ts"
import { countNames, hasValues, isValues, type KeyName, type Operator, type Rule } from "../language/rule.ts"
import { keyOfWords, wordsOf, wordsOfLink } from "../text/words.ts"

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
const longName = `${"long-name.".repeat(20)}example`
const names = ["Ann", "ann", "bob_1", "猫", "ann.bsky.social", "Ann@social.example", "a-b.c", longName]
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

const userNames: readonly KeyName[] = ["from", "to", "retweets_of", "from_affiliate_of", "to_affiliate_of"]
const references: readonly KeyName[] = [
  "conversation_id",
  "in_reply_to_tweet_id",
  "retweets_of_tweet_id",
  "quotes_of_tweet_id",
]
const places = ["Paris", "New York", "p1"]
const sources = ["Web App", "Twitter for Advertisers"]
const contexts = ["1.2", "1.*", "*.2", "44.3"]
const areas = ["[2.35 48.86 10km]", "[-73.99 40.73 25mi]", "[2.2 48.8 2.4 48.9]", "[179.9 0 -179.9 0.1]"]
const percents = [1, 30, 50, 100]
const bounds = [{ least: 0 }, { least: 10 }, { least: 10, most: 100 }, { least: 3, most: 3 }]
const cited = [`say "cat"`, String.raw`back\slash`, "cat, dog"]

const key = (name: KeyName, value: string, made = fold(value)): Operator => ({
  kind: "key",
  name,
  value,
  key: made,
})
const anyOf = <Value>(values: readonly Value[]): fc.Arbitrary<Value> => fc.constantFrom(...values)

function areaOf(value: string): Operator {
  const area = readArea(value.split(" ").length === 3 ? "circle" : "box", value)
  if (typeof area === "string") throw new Error(area)
  return { kind: "area", value, area }
}

/** An operator that parses, except `is:nullcast`, which must be negated, and `sample:`, which must not be. */
const anyOperator: fc.Arbitrary<Operator> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc
      .tuple(anyOf(["keyword", "phrase"] as const), someText)
      .map(([name, value]): Operator => ({ kind: "words", name, value, words: wordsOf(value) })),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.array(anyOf(texts), { minLength: 2, maxLength: 3 }), fc.integer({ min: 1, max: 6 }))
      .map(([some, distance]) => ({ value: some.join(" "), distance }))
      .map(({ value, distance }): Operator => ({ kind: "near", value, words: wordsOf(value), distance })),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(
        anyOf(["url_title", "url_description", "bio", "bio_name", "bio_location"] as const),
        fc.oneof(anyOf(texts), anyOf(cited)),
      )
      .map(([name, value]): Operator => ({ kind: "words", name, value, words: wordsOf(value) })),
  },
  anyOf(links).map((value): Operator => ({ kind: "words", name: "url", value, words: wordsOfLink(value) })),
  anyOf(["CAT", "example.com/c", "/a?"]).map((value): Operator => ({
    kind: "contains",
    value,
    text: fold(value),
  })),
  anyOf(tags).map((value) => key("hashtag", value)),
  anyOf([...names, ...ids]).map((value) => key("mention", value)),
  anyOf(cashtags).map((value) => key("cashtag", value)),
  fc.tuple(anyOf(userNames), anyOf([...names, ...ids])).map(([name, value]) => key(name, value)),
  fc.tuple(anyOf(references), anyOf(ids)).map(([name, value]) => key(name, value)),
  anyOf(languages).map((value) => key("lang", value, languageKey(value))),
  anyOf(isValues).map((value) => key("is", value)),
  anyOf(hasValues).map((value) => key("has", value)),
  anyOf(contexts).map((value) => key("context", value)),
  anyOf(["Michael Jordan", "猫", "cat"]).map((value) => key("entity", value, keyOfWords(value, "stream"))),
  anyOf(places).map((value) => key("place", value, keyOfWords(value, "stream"))),
  anyOf(["FR", "us"]).map((value) => key("place_country", value)),
  anyOf(sources).map((value) => key("source", value, keyOfWords(value, "stream"))),
  anyOf(areas).map(areaOf),
  anyOf(percents).map((percent): Operator => ({ kind: "sample", percent })),
  fc
    .tuple(anyOf(countNames), anyOf(bounds))
    .map(([name, { least, most }]): Operator =>
      most === undefined || name.startsWith("min_")
        ? { kind: "count", name, least }
        : { kind: "count", name, least, most },
    ),
  fc
    .tuple(anyOf(["cats", "a dog"]), anyOf([0.5, 0.2]))
    .map(([value, threshold]): Operator => ({ kind: "embedding", value, threshold })),
)

/** A tree of operators, also one that the language does not allow. */
export const anyRule: fc.Arbitrary<Rule> = fc.letrec<{ rule: Rule }>((tie) => ({
  rule: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    { weight: 3, arbitrary: anyOperator },
    { weight: 1, arbitrary: tie("rule").map((rule) => ({ kind: "not", rule }) as const) },
    { weight: 2, arbitrary: groupOf("all", tie("rule")) },
    { weight: 2, arbitrary: groupOf("any", tie("rule")) },
  ),
})).rule

/** The same for searches: what operators compare is folded for them. */
export const anySearch: fc.Arbitrary<Rule> = anyRule.map(foldedForSearch)

function foldedForSearch(rule: Rule): Rule {
  const folded = (text: string) => foldFor("search", text)
  switch (rule.kind) {
    case "any":
    case "all":
      return { kind: rule.kind, rules: rule.rules.map(foldedForSearch) }
    case "not":
      return { kind: "not", rule: foldedForSearch(rule.rule) }
    case "words":
    case "near":
      return { ...rule, words: rule.words.map(({ text, glued }) => ({ text: folded(text), glued })) }
    case "key":
      return { ...rule, key: folded(rule.key) }
    case "contains":
      return { ...rule, text: folded(rule.text) }
    default:
      return rule
  }
}

function groupOf(kind: "all" | "any", rule: fc.Arbitrary<Rule>): fc.Arbitrary<Rule> {
  return fc.array(rule, { minLength: 1, maxLength: 3 }).map((rules) => ({ kind, rules }))
}

const glue = fc.constantFrom(" ", " ", " ", "", ", ", "_", " &amp; ", "\n", " https://t.co/Xcat1 ", " #", " @", " $")
const postText = fc
  .tuple(
    fc.oneof(
      { weight: 7, arbitrary: fc.constant("") },
      anyOf(names).map((name) => `RT @${name}: `),
    ),
    fc.array(fc.tuple(fc.constantFrom(...texts, ...tags, ...names), glue), { maxLength: 8 }),
  )
  .map(([beginning, parts]) => beginning + parts.flat().join(""))

const offsets = fc.record({ start: fc.nat(20), end: fc.nat(20) })
const mark = (member: string, values: readonly string[]) =>
  fc.array(
    fc.tuple(offsets, fc.constantFrom(...values)).map(([at, value]) => ({ ...at, [member]: value })),
    { maxLength: 2 },
  )
const entities = fc.record(
  {
    hashtags: mark("tag", tags),
    mentions: fc.array(
      fc
        .tuple(offsets, anyOf(names), fc.constantFrom(undefined, ...ids))
        .map(([at, username, id]) => ({ ...at, username, ...(id !== undefined && { id }) })),
      { maxLength: 2 },
    ),
    cashtags: mark("tag", cashtags),
    annotations: mark("normalized_text", ["Michael Jordan", "Cat"]),
    urls: fc.array(
      fc.record(
        {
          url: fc.constant("https://t.co/x"),
          expanded_url: fc.constantFrom(...links),
          unwound_url: fc.constantFrom(...links),
          display_url: fc.constantFrom("example.com/ca…", "pic.twitter.com/x"),
          title: anyOf(texts),
          description: anyOf(texts),
        },
        { requiredKeys: ["url"] },
      ),
      { maxLength: 2 },
    ),
  },
  { requiredKeys: [] },
)

const count = anyOf([0, 3, 10, 5000])

const post = fc.record(
  {
    id: fc.constantFrom(...ids),
    text: postText,
    author_id: fc.constantFrom(...ids),
    conversation_id: fc.constantFrom(...ids),
    in_reply_to_user_id: fc.constantFrom(...ids),
    lang: fc.constantFrom(...languages),
    source: anyOf(sources),
    source_uri: anyOf(["at://did:plc:a/app.bsky.feed.post/3", ""]),
    public_metrics: fc.record({
      like_count: count,
      retweet_count: count,
      reply_count: count,
      quote_count: count,
    }),
    context_annotations: fc.array(
      fc.record({
        domain: fc.record({ id: anyOf(ids) }),
        entity: fc.record({ id: anyOf(ids), name: anyOf(texts) }),
      }),
      { maxLength: 2 },
    ),
    geo: fc.record(
      {
        place_id: anyOf(["p1", "p2"]),
        coordinates: fc.constant({ type: "Point", coordinates: [2.35, 48.87] }),
      },
      { requiredKeys: [] },
    ),
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
          fc.record(
            {
              id: anyOf(ids),
              username: anyOf(names),
              name: anyOf(texts),
              description: postText,
              location: anyOf(texts),
              verified: fc.boolean(),
              affiliation: fc.record({ user_id: fc.array(anyOf(ids), { maxLength: 2 }) }),
              public_metrics: fc.record({
                followers_count: count,
                following_count: count,
                tweet_count: count,
                listed_count: count,
              }),
            },
            { requiredKeys: ["id", "username"] },
          ),
          { maxLength: 4 },
        ),
        places: fc.array(
          fc.record({
            id: anyOf(["p1", "p2"]),
            name: anyOf(places),
            full_name: fc.constant("Paris, France"),
            country_code: anyOf(["FR", "US"]),
            geo: fc.record({
              bbox: fc.constantFrom(
                [2.2, 48.8, 2.5, 48.9],
                [2.3, 48.8, 3.5, 50],
                [-74.02, 40.7, -73.9, 40.8],
                [179.8, 0, -179.8, 0.1],
              ),
            }),
          }),
          { maxLength: 2 },
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
