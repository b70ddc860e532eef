import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { anyEnvelope, anyRule } from "./any-rule.testing.ts"
import { evaluate } from "./evaluate.ts"
import { fold } from "./fold.ts"
import { matches, postWith } from "./matches.testing.ts"
import { foldFor } from "./mode.ts"
import { readPost } from "./post-facts.ts"
import type { RuleEnvelope } from "./post-facts.ts"

/** Whether the rule holds on a stream, and in a search. */
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

test("folding for a mode twice is folding once, and case never matters", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: "grapheme", maxLength: 20 }),
      fc.constantFrom("stream", "search"),
      (text, mode) => {
        const folded = foldFor(mode, text)
        expect(foldFor(mode, folded)).toBe(folded)
        expect(foldFor(mode, fold(text))).toBe(folded)
      },
    ),
    { numRuns: 1000 },
  )
})

describe("diacritics count on a stream, and not in a search:", () => {
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
  ])("%s holds in both when the letters are the same", (rule, envelope) => {
    expect(both(rule, envelope)).toEqual([true, true])
  })

  test.each<[string, RuleEnvelope]>([
    ["か", postWith("が")],
    ["ø", postWith("o")],
    ["สวสด", postWith("สวัสดี")],
  ])("%s holds in neither when other letters stand there", (rule, envelope) => {
    expect(both(rule, envelope)).toEqual([false, false])
  })
})

describe("what is quoted counts on a stream, and not in a search:", () => {
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

  test.each(["true", "is:quote", "quotes_of_tweet_id:3", "from:10"])(
    "%s holds of the post itself",
    (rule) => {
      expect(both(rule, quote)).toEqual([true, true])
    },
  )

  test("a repost counts as its original in both, and as what that quotes on a stream alone", () => {
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

test("a post of plain letters that quotes nothing means the same in both modes", () => {
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

test("a post knows the mode that it was read in, a stream's when nothing is said", () => {
  expect(readPost(postWith("")).mode).toBe("stream")
  expect(readPost(postWith(""), { mode: "search" }).mode).toBe("search")
})
