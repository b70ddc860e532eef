import { describe, expect, test } from "vitest"
import { evaluate } from "./evaluate.ts"
import { parseRule } from "./parse-rule.ts"
import { readPost } from "./post-facts.ts"
import type { RuleEnvelope } from "./post-facts.ts"

/** Whether the rule matches; rules that cannot stand alone are tried beside what every post here lacks. */
function matches(rule: string, envelope: RuleEnvelope): boolean {
  const parsed = parseRule(rule)
  if (parsed.ok) return evaluate(parsed.rule, readPost(envelope))
  const beside = parseRule(`nowhere (${rule})`)
  if (!beside.ok || beside.rule.kind !== "all") throw new Error(`${rule}: ${parsed.problems[0]?.message}`)
  return beside.rule.rules.slice(1).every((one) => evaluate(one, readPost(envelope)))
}

/** A post with this text and these members. */
function postWith(text: string, members: Record<string, unknown> = {}, includes?: unknown): RuleEnvelope {
  return { data: { id: "1", text, ...members }, includes }
}

const users = [
  { id: "10", username: "Ann", verified: true },
  { id: "20", username: "bob_1", verified: false },
]

describe("keywords and phrases", () => {
  test.each<[string, string, boolean]>([
    ["cat", "A Cat!", true],
    ["CAT", "a cat", true],
    ["cat", "catalog", false],
    ["cat", "#cat @cat $cat", true],
    ["happy", "@happy_yed", true],
    ["don't", "I don’t know", true],
    ["don't", "don knew t", false],
    ["gpt-3", "GPT 3 or GPT-3", true],
    ["gpt-3", "3 gpt", false],
    ["gpt3", "gpt-3", false],
    ['"zebra cat"', "zebra catalog", false],
    ['"zebra cat"', "a zebra, cat", true],
    ['"cat zebra"', "zebra cat", false],
    ['"cat cat dog"', "cat cat cat dog", true],
    ["resume", "résumé", false],
    ["résumé", "RE\u0301SUME\u0301", true],
    ["straße", "STRASSE", true],
    ["猫", "うちの猫が好き", true],
    ["東京", "今日は東京です", true],
    ["東京", "東 京", false],
    ["東京", "京東", false],
    ['"東 京"', "東京", true],
    ["ケース", "iPhoneケース", true],
    ["iphone", "iPhoneケース", true],
    ["สวัสดี", "พูดสวัสดีครับ", true],
    ["고양이", "고양이가", false],
    ["🍕", "love🍕", true],
    ["🍕", "🍔🍕🍟", true],
    ["🍕", "🍔", false],
    ["❤", "I ❤️ it", true],
    ["❤️", "I ❤ it", true],
    ["👍", "ok 👍🏽", true],
    ["👍🏽", "ok 👍", false],
    ["👍🏽", "ok 👍🏽", true],
    ["👩", "👩‍💻", false],
    ["👩‍💻", "👩🏽‍💻", true],
    ["🇫🇷", "🇩🇪🇫🇷", true],
    ["🇪🇫", "🇩🇪🇫🇷", false],
    ["1️⃣", "1 2", false],
    ["🍕🍔", "🍕🍔", true],
    ["amp", "AT&amp;T", false],
    ["AT&T", "AT&amp;T", true],
    ["https", "see https://t.co/abc", false],
    ["abc", "see https://t.co/abc", false],
    ['"see now"', "see https://t.co/abc now", false],
    ['"and"', "cat and dog", true],
    ["-dog cat", "cat", true],
    ["-dog cat", "cat dog", false],
    ["cat -(dog OR fox)", "cat fox", false],
    ["cat -(dog fox)", "cat fox", true],
    ["cat --fox", "cat fox", true],
    ["cat OR dog fox", "dog", false],
    ["cat OR dog fox", "cat", true],
  ])("%s in “%s”: %j", (rule, text, expected) => {
    expect(matches(rule, postWith(text))).toBe(expected)
  })

  test("search where links lead, not what stands for them", () => {
    const entities = {
      urls: [
        {
          url: "https://t.co/a",
          expanded_url: "https://bit.ly/x1",
          unwound_url: "https://example.com/Big_Cats",
          display_url: "shown.io/…",
        },
      ],
    }
    const post = postWith("look https://t.co/a", { entities })
    for (const rule of ["cats", "bit", "x1", '"big cats"', '"example com"'])
      expect(matches(rule, post)).toBe(true)
    for (const rule of ["shown", "https", "a1", '"x1 example"']) expect(matches(rule, post)).toBe(false)
  })
})

describe("reposts", () => {
  const original = {
    id: "2",
    text: "The whole story about a cat",
    author_id: "20",
    entities: {
      hashtags: [{ start: 0, end: 3, tag: "Story" }],
      urls: [{ expanded_url: "https://example.com" }],
    },
    attachments: { media_keys: ["3_1"] },
  }
  const repost = postWith(
    "RT @bob_1: The whole sto…",
    { author_id: "10", in_reply_to_user_id: "20", referenced_tweets: [{ type: "retweeted", id: "2" }] },
    { users, tweets: [original], media: [{ media_key: "3_1", type: "photo" }] },
  )

  test.each([
    ["cat", true],
    ["sto", false],
    ["bob", true],
    ["@bob_1", true],
    ["has:mentions", true],
    ["#story", true],
    ["url:example.com", true],
    ["has:images", true],
    ["has:links", true],
    ["is:retweet", true],
    ["is:reply", false],
    ["is:verified", true],
    ["from:ann", true],
    ["from:bob_1", false],
    ["retweets_of:bob_1", true],
    ["retweets_of:@BOB_1", true],
    ["retweets_of:20", true],
    ["retweets_of:ann", false],
    ["to:bob_1", false],
  ])("match %s through the original: %j", (rule, expected) => {
    expect(matches(rule, repost)).toBe(expected)
  })

  test("without the original match their own text", () => {
    const alone = { data: repost.data }
    expect(matches("whole", alone)).toBe(true)
    expect(matches("cat", alone)).toBe(false)
    expect(matches("retweets_of:bob_1", alone)).toBe(true)
  })

  test("of a quote post reach the post quoted", () => {
    const quoting = { ...original, referenced_tweets: [{ type: "quoted", id: "3" }] }
    const post = { ...repost, includes: { users, tweets: [quoting, { id: "3", text: "a zebra" }] } }
    expect(matches("zebra cat", post)).toBe(true)
    expect(matches("is:quote", post)).toBe(false)
  })
})

describe("quote posts", () => {
  const quote = postWith(
    "so true https://t.co/q",
    {
      author_id: "10",
      referenced_tweets: [{ type: "quoted", id: "3" }],
      entities: { urls: [{ url: "https://t.co/q", expanded_url: "https://twitter.com/bob_1/status/3" }] },
    },
    {
      users,
      tweets: [
        {
          id: "3",
          text: "zebra $BTC",
          author_id: "20",
          entities: { cashtags: [{ tag: "BTC" }] },
          attachments: { media_keys: ["7_1"] },
        },
      ],
    },
  )

  test.each([
    ["true", true],
    ["zebra", true],
    ['"true zebra"', false],
    ["$btc", true],
    ["-zebra true", false],
    ["is:quote", true],
    ["has:media", true],
    ["has:images", false],
    ["has:cashtags", true],
    ["has:links", false],
    ["from:bob_1", false],
    ["retweets_of:bob_1", false],
  ])("match %s in either post: %j", (rule, expected) => {
    expect(matches(rule, quote)).toBe(expected)
  })
})

describe("people", () => {
  const reply = postWith(
    "@bob_1 hi",
    { author_id: "10", in_reply_to_user_id: "20", conversation_id: "77", lang: "iw" },
    { users },
  )

  test.each([
    ["from:Ann", true],
    ["from:@ann", true],
    ["from:10", true],
    ["from:20", false],
    ["to:BOB_1", true],
    ["to:20", true],
    ["to:ann", false],
    ["is:reply", true],
    ["is:retweet", false],
    ["is:verified", true],
    ["conversation_id:77", true],
    ["conversation_id:7", false],
    ["lang:iw", true],
    ["lang:HE", true],
    ["lang:en", false],
    ["@bob_1", true],
    ["has:mentions", true],
  ])("%s: %j", (rule, expected) => {
    expect(matches(rule, reply)).toBe(expected)
  })

  test("to: finds the name in the mentions when the user is not included", () => {
    const entities = { mentions: [{ start: 0, end: 6, username: "bob_1", id: "20" }] }
    expect(matches("to:bob_1", postWith("@bob_1 hi", { in_reply_to_user_id: "20", entities }))).toBe(true)
  })

  test("a post of unknown author is from nobody and not verified", () => {
    expect(matches("from:ann", postWith("hi", {}, { users }))).toBe(false)
    expect(matches("is:verified", postWith("hi", {}, { users: [{ verified: true }] }))).toBe(false)
  })
})

describe("entities", () => {
  test.each<[string, unknown, string, boolean]>([
    ["#cat", { hashtags: [{ tag: "CAT" }] }, "", true],
    ["#cat", { hashtags: [{ tag: "cats" }] }, "", false],
    ["#cat", { urls: [] }, "#cat", false],
    ["#cat", undefined, "#Cat", true],
    ["#cat", undefined, "#cats a#cat &#cat", false],
    ["#猫_1", undefined, "（#猫_1）", true],
    ["#straße", undefined, "#STRASSE", true],
    ["@ann", { mentions: [{ username: "Ann" }] }, "", true],
    ["@ann", undefined, "hi @Ann!", true],
    ["@ann", undefined, "mail x@ann.com", false],
    ["$btc", { cashtags: [{ tag: "BTC" }] }, "", true],
    ["$btc", undefined, "buy $BTC now", true],
    ["$btc", undefined, "US$BTC $BTCX", false],
    ["has:hashtags", undefined, "#cat", true],
    ["has:hashtags", undefined, "#1", false],
    ["has:mentions", { mentions: [] }, "@ann", false],
    ["has:cashtags", undefined, "$5", false],
    ["has:links", undefined, "see https://example.com/x", true],
    ["has:links", undefined, "see example.com", false],
    ["has:links", { urls: [{ url: "https://t.co/a", expanded_url: "https://example.com" }] }, "", true],
    [
      "has:links",
      {
        urls: [
          {
            url: "https://t.co/a",
            expanded_url: "https://x.com/a/status/1/photo/1",
            display_url: "pic.x.com/a",
          },
        ],
      },
      "",
      false,
    ],
    [
      "has:links",
      {
        urls: [{ url: "https://t.co/a", expanded_url: "https://x.com/a/status/1/video/1", media_key: "7_1" }],
      },
      "",
      false,
    ],
  ])("%s with %j in “%s”: %j", (rule, entities, text, expected) => {
    expect(matches(rule, postWith(text, entities === undefined ? {} : { entities }))).toBe(expected)
  })

  test.each<[string, readonly string[], unknown, boolean]>([
    ["has:media", ["7_1"], [], true],
    ["has:media", [], [{ media_key: "3_1", type: "photo" }], false],
    ["has:images", ["3_1"], undefined, true],
    ["has:images", ["16_1"], undefined, true],
    ["has:images", ["7_1"], undefined, false],
    ["has:images", ["13_1"], undefined, false],
    ["has:images", ["x"], [{ media_key: "x", type: "animated_gif" }], true],
    ["has:images", ["3_1"], [{ media_key: "3_1", type: "video" }], false],
  ])("%s with media keys %j and media %j: %j", (rule, keys, media, expected) => {
    expect(matches(rule, postWith("", { attachments: { media_keys: keys } }, { media }))).toBe(expected)
  })
})

describe("url:", () => {
  const post = postWith("see https://t.co/a", {
    entities: {
      urls: [
        {
          url: "https://t.co/a",
          expanded_url: "https://h.com/~Bob/Page",
          unwound_url: "http://www.Example.com/a-b?c=d",
          display_url: "short.io/pa…",
        },
      ],
    },
  })
  test.each([
    ["url:h.com", true],
    ['url:"https://h.com/~bob"', true],
    ["url:bob", true],
    ["url:example.com", true],
    ["url:EXAMPLE.com/a-b", true],
    ["url:a_b", true],
    ["url:short.io", true],
    ["url:short.io/pa", false],
    ["url:exam", false],
    ["url:https", false],
    ["url:t.co", false],
    ["url:example.org", false],
    ["url:com.example", false],
    ['url:"page example"', false],
    ["-url:h.com see", false],
  ])("%s: %j", (rule, expected) => {
    expect(matches(rule, post)).toBe(expected)
  })

  test("example.com does not match every link", () => {
    expect(matches("url:example.com", postWith("https://other.com/example"))).toBe(false)
    expect(matches("url:other.com", postWith("https://other.com/example"))).toBe(true)
  })
})
