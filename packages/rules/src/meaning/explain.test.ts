import fc from "fast-check"
import { expect, test } from "vitest"
import { anyEnvelope, anyRule } from "../testing/any-rule.testing.ts"
import { evaluate } from "./evaluate.ts"
import { explain } from "./explain.ts"
import { clauseOf, postWith, ruleOf } from "../testing/matches.testing.ts"
import { readPost, type ReadOptions } from "../post/post-facts.ts"
import type { RuleEnvelope } from "../post/post-objects.ts"

function explained(rule: string, envelope: RuleEnvelope) {
  return explain(ruleOf(rule), readPost(envelope))
}

const post: RuleEnvelope = {
  data: {
    id: "1",
    text: "𝒳 &amp; Cat, hot dog cat #Cat",
    author_id: "10",
    lang: "en",
    entities: { hashtags: [{ start: 24, end: 28, tag: "Cat" }], urls: [{ expanded_url: "https://cat.com" }] },
    referenced_tweets: [{ type: "quoted", id: "2" }],
  },
  includes: { users: [{ id: "10", username: "ann" }], tweets: [{ id: "2", text: "a cat" }] },
}

test("spans say which operator held, and where in code points", () => {
  const { matches, spans } = explained('(cat OR zebra) "hot dog" #cat lang:en from:ann -fish', post)
  expect(matches).toBe(true)
  expect(spans).toEqual([
    { operator: "cat", where: "text", start: 8, end: 11 },
    { operator: "cat", where: "text", start: 21, end: 24 },
    { operator: "cat", where: "text", start: 26, end: 29 },
    { operator: "cat", where: "quoted", start: 2, end: 5 },
    { operator: "cat", where: "url" },
    { operator: '"hot dog"', where: "text", start: 13, end: 20 },
    { operator: "#cat", where: "text", start: 24, end: 28 },
    { operator: "lang:en", where: "post" },
    { operator: "from:ann", where: "author" },
  ])
})

test("a rule that does not match has no spans", () => {
  expect(explained("cat zebra", post)).toEqual({ matches: false, spans: [] })
})

test("a branch that does not hold, and a negated one, have no spans", () => {
  expect(explained("from:ann OR (cat zebra)", post).spans).toEqual([{ operator: "from:ann", where: "author" }])
  expect(explained("from:ann -zebra --cat", post).spans).toEqual([{ operator: "from:ann", where: "author" }])
})

/** A post of which every operator can hold. */
const full = postWith(
  "Zoë 🍕 social and other media #Cat @bob $BTC https://t.co/a",
  {
    author_id: "10",
    conversation_id: "70",
    in_reply_to_user_id: "20",
    lang: "en",
    source: "Web App",
    public_metrics: { like_count: 1, reply_count: 1, retweet_count: 1 },
    geo: { place_id: "p1" },
    context_annotations: [{ domain: { id: "1" }, entity: { id: "2", name: "Cats" } }],
    attachments: { media_keys: ["3_1", "7_1"] },
    referenced_tweets: [
      { type: "replied_to", id: "71" },
      { type: "quoted", id: "72" },
    ],
    entities: {
      hashtags: [{ start: 29, end: 33, tag: "Cat" }],
      mentions: [{ start: 34, end: 38, username: "bob" }],
      cashtags: [{ start: 39, end: 43, tag: "BTC" }],
      urls: [
        {
          url: "https://t.co/a",
          expanded_url: "https://example.com/x",
          title: "A title",
          description: "A description",
        },
      ],
    },
  },
  {
    users: [
      {
        id: "10",
        username: "ann",
        name: "🐈 Ann",
        description: "PhD, zoo",
        location: "New York",
        verified: true,
        affiliation: { user_id: ["99"] },
        public_metrics: { followers_count: 1, following_count: 1, tweet_count: 1, listed_count: 1 },
      },
      { id: "20", username: "bob", affiliation: { user_id: ["98"] } },
    ],
    places: [{ id: "p1", name: "Paris", country_code: "FR", geo: { bbox: [2.2, 48.8, 2.4, 48.9] } }],
    tweets: [{ id: "72", text: "quoted 猫 text #dog", entities: { hashtags: [{ start: 14, end: 18, tag: "dog" }] } }],
  },
)
const reading: ReadOptions = { similarity: () => 0.9 }

test.each<[string, object]>([
  ["media", { where: "text", start: 23, end: 28 }],
  ["🍕", { where: "text", start: 4, end: 5 }],
  ['"other media"', { where: "text", start: 17, end: 28 }],
  // From the first of the words to the last of them.
  ['"media social"~4', { where: "text", start: 6, end: 28 }],
  ["猫", { where: "quoted", start: 7, end: 8 }],
  ["example", { where: "url" }],
  ["#cat", { where: "text", start: 29, end: 33 }],
  ["#dog", { where: "quoted", start: 14, end: 18 }],
  ["@bob", { where: "text", start: 34, end: 38 }],
  ["$btc", { where: "text", start: 39, end: 43 }],
  ["has:mentions", { where: "text", start: 34, end: 38 }],
  ["has:cashtags", { where: "text", start: 39, end: 43 }],
  ["has:links", { where: "url" }],
  ["has:media", { where: "media" }],
  ["has:images", { where: "media" }],
  ["has:video_link", { where: "media" }],
  ["has:geo", { where: "place" }],
  ["from:ann", { where: "author" }],
  ["from_affiliate_of:99", { where: "author" }],
  ["is:verified", { where: "author" }],
  ["followers_count:1", { where: "author" }],
  ["following_count:1", { where: "author" }],
  ["tweets_count:1..2", { where: "author" }],
  ["listed_count:1", { where: "author" }],
  ["bio:zoo", { where: "bio", start: 5, end: 8 }],
  ["bio_name:ann", { where: "bio_name", start: 2, end: 5 }],
  ['bio_location:"new york"', { where: "bio_location", start: 0, end: 8 }],
  ["to:bob", { where: "reply" }],
  ["to_affiliate_of:98", { where: "reply" }],
  ["is:reply", { where: "reply" }],
  ["in_reply_to_tweet_id:71", { where: "reply" }],
  ["quotes_of_tweet_id:72", { where: "quoted" }],
  ["is:quote", { where: "post" }],
  ["conversation_id:70", { where: "post" }],
  ["lang:en", { where: "post" }],
  ['source:"Web App"', { where: "post" }],
  ["min_likes:1", { where: "post" }],
  ["min_replies:1", { where: "post" }],
  ["min_reposts:1", { where: "post" }],
  ["sample:100", { where: "post" }],
  ["url:example.com", { where: "url" }],
  ["url_contains:/x", { where: "url" }],
  ["url_title:title", { where: "url_title" }],
  ["url_description:description", { where: "url_description" }],
  ["context:1.*", { where: "context" }],
  ["entity:cats", { where: "context" }],
  ["place:paris", { where: "place" }],
  ["place_country:FR", { where: "place" }],
  ["point_radius:[2.3 48.85 1km]", { where: "place" }],
  ["bounding_box:[2.29 48.84 2.31 48.86]", { where: "place" }],
  ['embedding:"cats"', { where: "text" }],
])("the span of %s says where it held, with code points if there is a text", (text, place) => {
  const rule = clauseOf(text, { embeddings: true })
  expect(explain(rule, readPost(full, reading))).toEqual({
    matches: true,
    spans: [{ operator: text, ...place }],
  })
})

test("every mark that has:hashtags counts is shown", () => {
  expect(explain(clauseOf("has:hashtags"), readPost(full)).spans).toEqual([
    { operator: "has:hashtags", where: "text", start: 29, end: 33 },
    { operator: "has:hashtags", where: "quoted", start: 14, end: 18 },
  ])
})

test("the spans of a repost are in the original, except for the mention in its prefix", () => {
  const repost = postWith(
    "RT @ann: a cat, lon…",
    {
      id: "2",
      entities: { mentions: [{ start: 3, end: 7, username: "ann" }] },
      referenced_tweets: [{ type: "retweeted", id: "1" }],
    },
    {
      tweets: [{ id: "1", text: "a cat, long ago", author_id: "10" }],
      users: [{ id: "10", username: "ann" }],
    },
  )
  expect(explained("long", repost).spans).toEqual([{ operator: "long", where: "original", start: 7, end: 11 }])
  expect(explained("@ann", repost).spans).toEqual([{ operator: "@ann", where: "text", start: 3, end: 7 }])
  expect(explained("ann", repost).spans).toEqual([{ operator: "ann", where: "text", start: 4, end: 7 }])
  expect(explained("retweets_of:ann", repost).spans).toEqual([{ operator: "retweets_of:ann", where: "original" }])
})

test("a search explains what a search matches", () => {
  const spans = explain(ruleOf("zoe", { mode: "search" }), readPost(full, { mode: "search" })).spans
  expect(spans).toEqual([{ operator: "zoe", where: "text", start: 0, end: 3 }])
  expect(explain(ruleOf("猫", { mode: "search" }), readPost(full, { mode: "search" })).matches).toBe(false)
})

test("words that occur several times have one span for each occurrence", () => {
  expect(explained('"a b"~2', postWith("a b, x x x, a x b")).spans).toEqual([
    { operator: '"a b"~2', where: "text", start: 0, end: 3 },
    { operator: '"a b"~2', where: "text", start: 12, end: 17 },
  ])
})

test("an explanation agrees with the rule, and its spans are within a text", () => {
  fc.assert(
    fc.property(anyRule, anyEnvelope, (rule, envelope) => {
      const facts = readPost(envelope, reading)
      const { matches, spans } = explain(rule, facts)
      expect(matches).toBe(evaluate(rule, facts))
      if (!matches) expect(spans).toEqual([])
      // A rule of negations alone holds without a place to show.
      if (matches && rule.kind !== "not" && rule.kind !== "any" && rule.kind !== "all")
        expect(spans.length).toBeGreaterThan(0)
      for (const { start, end } of spans) expect((start ?? 0) <= (end ?? 0)).toBe(true)
    }),
    { numRuns: 1500 },
  )
})

test("an explanation has at most twenty spans of one operator and a hundred in all", () => {
  const crowded: RuleEnvelope = { data: { id: "1", text: "xq ".repeat(25_000), entities: {} } }
  const { spans } = explained(`xq "xq xq"~2 OR zebra`, crowded)
  expect(spans.filter(({ operator }) => operator === "xq")).toHaveLength(20)
  expect(spans.filter(({ operator }) => operator === '"xq xq"~2')).toHaveLength(20)
  expect(spans[19]).toEqual({ operator: "xq", where: "text", start: 57, end: 59 })

  const nested = Array.from({ length: 199 }).reduce((inner: string) => `(${inner} xq)`, "xq")
  const reads = { count: 0 }
  const counted = readPost(crowded)
  const passages = counted.passages.bind(counted)
  Object.assign(counted, {
    passages: (zone: Parameters<typeof passages>[0]) => (reads.count++, passages(zone)),
  })
  expect(explain(ruleOf(nested), counted).spans).toHaveLength(100)
  // Once to know that the rule holds; once each for whether and where an operator does.
  expect(reads.count).toBe(3 * 200)
})
