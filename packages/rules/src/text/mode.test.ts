import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { anyEnvelope, anyRule } from "../testing/any-rule.testing.ts"
import { evaluate } from "../meaning/evaluate.ts"
import { explain } from "../meaning/explain.ts"
import { fold } from "./fold.ts"
import { clauseOf, matches, postWith } from "../testing/matches.testing.ts"
import { foldFor } from "./mode.ts"
import { readPost } from "../post/post-facts.ts"
import type { RuleEnvelope } from "../post/post-objects.ts"
import { RuleMatcher } from "../matcher/rule-matcher.ts"

/** True if the rule holds on a stream, and in a search. */
const both = (rule: string, envelope: RuleEnvelope) => [
  matches(rule, envelope, { mode: "stream" }),
  matches(rule, envelope, { mode: "search" }),
]

test.each([
  ["Résumé", "résumé", "resume"],
  ["RE\u0301SUME\u0301", "résumé", "resume"],
  ["ÑANDÚ", "ñandú", "nandu"],
  ["Straße", "strasse", "strasse"],
  ["Ångström", "ångström", "angstrom"],
  ["Việt Nam", "việt nam", "viet nam"],
  ["Ά", "ά", "α"],
  ["Ёлка", "ёлка", "елка"],
  ["ı", "ı", "ı"],
  // Letters of their own, which no accent makes.
  ["ØłđŦ", "øłđŧ", "øłđŧ"],
  ["が", "が", "が"],
  ["สวัสดี", "สวัสดี", "สวัสดี"],
  ["हिन्दी", "हिन्दी", "हिन्दी"],
  ["한국어", "한국어", "한국어"],
  ["", "", ""],
])("%s is %s on a stream and %s in a search", (text, stream, search) => {
  expect(foldFor("stream", text)).toBe(stream)
  expect(foldFor("search", text)).toBe(search)
})

test("folding for a mode is idempotent and ignores case", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 20 }), fc.constantFrom("stream", "search"), (text, mode) => {
      const folded = foldFor(mode, text)
      expect(foldFor(mode, folded)).toBe(folded)
      expect(foldFor(mode, fold(text))).toBe(folded)
    }),
    { numRuns: 1000 },
  )
})

describe("diacritics matter on a stream and not in a search:", () => {
  const entities = (name: string, member: string, value: string) => ({
    entities: { [name]: [{ [member]: value }] },
  })
  const linked = (members: object) => ({ entities: { urls: [{ url: "https://t.co/1", ...members }] } })
  const place = { id: "p", name: "São Paulo", full_name: "São Paulo, Brasil", country_code: "BR" }

  test.each<[string, RuleEnvelope]>([
    ["resume", postWith("my résumé")],
    ["résumé", postWith("my resume")],
    ["resumé", postWith("my re\u0301sume")],
    ['"my resume"', postWith("My RÉSUMÉ!")],
    ['"my resume"~3', postWith("résumé of my")],
    ["#nandu", postWith("", entities("hashtags", "tag", "ñandú"))],
    ["#ñandú", postWith("", entities("hashtags", "tag", "nandu"))],
    ["#ñandú", postWith("see #nandu")],
    ["#nandu", postWith("see #Ñandú")],
    ["url:cafe", postWith("", linked({ expanded_url: "https://example.com/café" }))],
    ["url_contains:/café", postWith("", linked({ expanded_url: "https://example.com/cafe" }))],
    ["url_title:cafe", postWith("", linked({ title: "Un café" }))],
    ["url_description:café", postWith("", linked({ description: "the cafe" }))],
    ['place:"sao paulo"', postWith("", { geo: { place_id: "p" } }, { places: [place] })],
    ['entity:"Beyonce"', postWith("", { context_annotations: [{ entity: { id: "1", name: "Beyoncé" } }] })],
  ])("%s %#", (rule, envelope) => {
    expect(both(rule, envelope)).toEqual([false, true])
  })

  test.each<[string, RuleEnvelope]>([
    ["résumé", postWith("RÉSUMÉ")],
    ["#ñandú", postWith("#ÑANDÚ")],
    ["か", postWith("か")],
  ])("%s holds in both modes if the letters are the same", (rule, envelope) => {
    expect(both(rule, envelope)).toEqual([true, true])
  })

  test.each<[string, RuleEnvelope]>([
    ["か", postWith("が")],
    ["ø", postWith("o")],
    ["สวสด", postWith("สวัสดี")],
  ])("%s holds in neither mode if the letters differ", (rule, envelope) => {
    expect(both(rule, envelope)).toEqual([false, false])
  })
})

describe("the quoted post is read on a stream and not in a search:", () => {
  const quote = postWith(
    "so true https://t.co/q",
    {
      author_id: "10",
      referenced_tweets: [{ type: "quoted", id: "3" }],
      entities: { urls: [{ url: "https://t.co/q", expanded_url: "https://x.com/bob/status/3" }] },
    },
    {
      tweets: [
        {
          id: "3",
          text: "zebra crossing",
          author_id: "20",
          in_reply_to_user_id: "30",
          entities: {
            hashtags: [{ tag: "Zoo" }],
            mentions: [{ username: "ann" }],
            cashtags: [{ tag: "BTC" }],
            urls: [{ url: "https://t.co/z", expanded_url: "https://example.com/zebra", title: "Zebras" }],
          },
          attachments: { media_keys: ["3_1"] },
        },
      ],
    },
  )

  test.each([
    "zebra",
    '"zebra crossing"',
    '"crossing zebra"~3',
    "#zoo",
    "@ann",
    "$btc",
    "url:example.com",
    "url_contains:/zebra",
    "url_title:zebras",
    "has:hashtags",
    "has:mentions",
    "has:cashtags",
    "has:links",
    "has:media",
    "has:images",
    "is:reply",
  ])("%s", (rule) => {
    expect(both(rule, quote)).toEqual([true, false])
  })

  test.each(["true", "is:quote", "quotes_of_tweet_id:3", "from:10"])("%s holds of the post itself", (rule) => {
    expect(both(rule, quote)).toEqual([true, true])
  })

  test("a repost is read as its original in both modes, and with the post that this quotes on a stream only", () => {
    const repost = postWith(
      "RT @ann: so true",
      { id: "9", referenced_tweets: [{ type: "retweeted", id: "1" }] },
      { tweets: [quote.data, ...((quote.includes as { tweets: object[] }).tweets ?? [])] },
    )
    expect(both("true", repost)).toEqual([true, true])
    expect(both("zebra", repost)).toEqual([true, false])
    expect(both("is:quote", repost)).toEqual([true, false])
    expect(both("is:reply", repost)).toEqual([true, false])
    expect(both("is:retweet", repost)).toEqual([true, true])
  })
})

describe("mentions that X does not list count in a search, for has:mentions only:", () => {
  const unmarked = { entities: { hashtags: [{ tag: "cat" }] } }
  const repost = (entities: object, text = "happy") =>
    postWith(
      "RT @gone: happy",
      { id: "9", referenced_tweets: [{ type: "retweeted", id: "1" }], entities: {} },
      { tweets: [{ id: "1", text, entities }] },
    )

  test.each<[string, RuleEnvelope, readonly [boolean, boolean]]>([
    ["a name of nobody, beside a hashtag that is marked", postWith("hi @gone #cat", unmarked), [false, true]],
    ["an empty list of mentions", postWith("hi @gone", { entities: { mentions: [] } }), [false, true]],
    ["a name in a repost's beginning", repost({}), [false, true]],
    ["a name that is marked", postWith("hi", { entities: { mentions: [{ username: "ann" }] } }), [true, true]],
    ["a name without entities", postWith("hi @ann"), [true, true]],
    ["an address of mail", postWith("ann@example.com #cat", unmarked), [false, false]],
    ["no name", postWith("hi #cat", unmarked), [false, false]],
  ])("%s", (_, envelope, expected) => {
    expect(both("has:mentions", envelope)).toEqual(expected)
    expect(both("-has:mentions", envelope)).toEqual(expected.map((isFound) => !isFound))
    expect(both("@gone", envelope)).toEqual([false, false])
    const matcher = new RuleMatcher()
    const number = matcher.add(clauseOf("has:mentions", { mode: "search" }))
    expect(matcher.match(readPost(envelope, { mode: "search" }))).toEqual(expected[1] ? [number] : [])
  })

  test("an explanation shows the position of a mention that X does not list", () => {
    const post = readPost(postWith("hi @gone #cat", unmarked), { mode: "search" })
    expect(explain(clauseOf("has:mentions", { mode: "search" }), post).spans).toContainEqual({
      operator: "has:mentions",
      where: "text",
      start: 3,
      end: 8,
    })
  })
})

test("a post without diacritics and quotes matches the same rules in both modes", () => {
  const plain = fc.constantFrom("cat", "dog zebra", "CAT, #cat", "@ann $btc", "猫 東京", "👍🏽 cat", "don't")
  fc.assert(
    fc.property(anyRule, plain, anyEnvelope, (rule, text, { data: { lang } }) => {
      const envelope = postWith(text, { lang })
      const ofStream = evaluate(rule, readPost(envelope))
      // The rule's own words are folded for the stream: those with diacritics mean nothing to a search.
      if (/[^\p{ASCII}\p{Lo}\p{So}\p{Sk}]/u.test(JSON.stringify(rule))) return
      expect(evaluate(rule, readPost(envelope, { mode: "search" }))).toBe(ofStream)
    }),
    { numRuns: 1000 },
  )
})

test("a post has the mode that it was read in, `stream` by default", () => {
  expect(readPost(postWith("")).mode).toBe("stream")
  expect(readPost(postWith(""), { mode: "search" }).mode).toBe("search")
})
