import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { anyEnvelope, anyRule } from "../testing/any-rule.testing.ts"
import { evaluate, holds } from "./evaluate.ts"
import { clauseOf, matches, postWith, ruleOf } from "../testing/matches.testing.ts"
import { readPost } from "../post/post-facts.ts"
import type { Rule } from "../language/rule.ts"
import { RuleMatcher } from "../matcher/rule-matcher.ts"

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
  ])("%s matches “%s”: %j", (rule, text, expected) => {
    expect(matches(rule, postWith(text))).toBe(expected)
  })

  test("keywords find the destinations of links and not their short forms", () => {
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
    for (const rule of ["cats", "bit", "x1", '"big cats"', '"example com"']) expect(matches(rule, post)).toBe(true)
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
  ])("a repost matches %s through its original: %j", (rule, expected) => {
    expect(matches(rule, repost)).toBe(expected)
  })

  test("a repost without its original matches by its own text", () => {
    const alone = { data: repost.data }
    expect(matches("whole", alone)).toBe(true)
    expect(matches("cat", alone)).toBe(false)
    expect(matches("retweets_of:bob_1", alone)).toBe(true)
  })

  test("a repost of a quote post matches by the quoted post too", () => {
    const quoting = { ...original, referenced_tweets: [{ type: "quoted", id: "3" }] }
    const post = { ...repost, includes: { users, tweets: [quoting, { id: "3", text: "a zebra" }] } }
    expect(matches("zebra cat", post)).toBe(true)
    expect(matches("is:quote", post)).toBe(true)
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
    // The link is that of the quoted post's media, not the one that quotes it.
    ["has:links", true],
    ["from:bob_1", false],
    ["retweets_of:bob_1", false],
  ])("a quote post matches %s in either post: %j", (rule, expected) => {
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
  ])("%s holds: %j", (rule, expected) => {
    expect(matches(rule, reply)).toBe(expected)
  })

  test("to: finds the name in the mentions if the user is not included", () => {
    const entities = { mentions: [{ start: 0, end: 6, username: "bob_1", id: "20" }] }
    expect(matches("to:bob_1", postWith("@bob_1 hi", { in_reply_to_user_id: "20", entities }))).toBe(true)
  })

  test("a post by an unknown author has no author name and is not verified", () => {
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
    ["@2244994945", { mentions: [{ username: "XDevelopers", id: "2244994945" }] }, "", true],
    ["@xdevelopers", { mentions: [{ username: "XDevelopers", id: "2244994945" }] }, "", true],
    ["@224499494", { mentions: [{ username: "XDevelopers", id: "2244994945" }] }, "", false],
    ["@2244994945", { mentions: [{ username: "XDevelopers", id: 2244994945 }] }, "", false],
    ["@2244994945", { hashtags: [{ tag: "x", id: "2244994945" }] }, "", false],
    ["#2244994945a", { mentions: [{ username: "x", id: "2244994945a" }] }, "", false],
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
    ["has:links", undefined, "see example.com", true],
    ["has:links", undefined, "see readme.txt", false],
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
      true,
    ],
    [
      "has:links",
      {
        urls: [{ url: "https://t.co/a", expanded_url: "https://x.com/a/status/1/video/1", media_key: "7_1" }],
      },
      "",
      true,
    ],
  ])("%s with entities %j in “%s” holds: %j", (rule, entities, text, expected) => {
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
    ["has:video_link", ["7_1"], undefined, true],
    ["has:videos", ["13_1"], undefined, true],
    ["has:videos", ["16_1"], undefined, false],
    ["has:videos", ["3_1", "7_2"], undefined, true],
    ["has:videos", ["x"], [{ media_key: "x", type: "video" }], true],
    ["has:videos", ["7_1"], [{ media_key: "7_1", type: "animated_gif" }], false],
    ["has:media", ["x"], undefined, true],
    // X's documents: "links and media".
    ["has:links", ["3_1"], undefined, true],
    ["has:links", [], [{ media_key: "3_1", type: "photo" }], false],
    ["has:media", [], undefined, false],
  ])("%s with media keys %j and media %j holds: %j", (rule, keys, media, expected) => {
    expect(matches(rule, postWith("", { attachments: { media_keys: keys } }, { media }))).toBe(expected)
  })
})

describe("posts of other networks, which have a source_uri", () => {
  const foreign = { source_uri: "at://did:plc:a/app.bsky.feed.post/3" }
  const mentions = [
    { username: "Alice.bsky.social", id: "70" },
    { username: "bob-b@Social.example", id: "71" },
  ]
  const text = "@ann and @alice.bsky.social, hi @carol@social.example. #cat $btc see https://example.com"

  test.each<[string, unknown, boolean]>([
    ["@alice.bsky.social", { mentions }, true],
    ["@ALICE.bsky.Social", { mentions }, true],
    ["@bob-b@social.example", { mentions }, true],
    ["@71", { mentions }, true],
    ["@alice", { mentions }, false],
    ["@bob-b", { mentions }, false],
    ["@ann", { mentions }, false],
    ["@carol@social.example", { mentions }, false],
    ["has:mentions", { mentions }, true],
    ["has:mentions", { mentions: [] }, false],
    ["has:mentions", { hashtags: [] }, false],
    ["has:mentions", undefined, false],
    ["@ann", undefined, false],
    ["@ann", "none", false],
    ["@alice.bsky.social", undefined, false],
    // The text says the rest, as that of any post.
    ["#cat", undefined, true],
    ["$btc", undefined, true],
    ["has:links", undefined, true],
    ["ann", undefined, true],
  ])("%s with entities %j holds: %j", (rule, entities, expected) => {
    const post = postWith(text, { ...foreign, ...(entities !== undefined && { entities }) })
    expect(matches(rule, post)).toBe(expected)
    expect(matches(rule, post, { mode: "search" })).toBe(expected)
  })

  test("without a source_uri, or with one that is no text, the text of a post without entities says whom it mentions", () => {
    for (const members of [{}, { source_uri: "" }, { source_uri: 7 }, { source_uri: null }]) {
      expect(matches("@ann", postWith(text, members))).toBe(true)
      expect(matches("has:mentions", postWith(text, { ...members, entities: {} }), { mode: "search" })).toBe(true)
      expect(matches("@alice.bsky.social", postWith(text, members))).toBe(false)
      expect(matches("@alice", postWith(text, members))).toBe(true)
    }
    // A list of mentions decides for every post.
    expect(matches("@alice.bsky.social", postWith(text, { entities: { mentions } }))).toBe(true)
    expect(matches("@ann", postWith(text, { entities: { mentions } }))).toBe(false)
  })

  test("the names of users who came with the post are compared without case, whole", () => {
    const members = [
      { id: "10", username: "Alice.Bsky.social" },
      { id: "20", username: "bob@social.example" },
    ]
    const post = postWith("hi", { ...foreign, author_id: "10", in_reply_to_user_id: "20" }, { users: members })
    for (const rule of ["from:alice.bsky.SOCIAL", "to:BOB@social.example", "from:10", "to:@bob@social.example"])
      expect(matches(rule, post)).toBe(true)
    for (const rule of ["from:alice", "from:alice.bsky", "to:bob", "to:bob@social"])
      expect(matches(rule, post)).toBe(false)
  })

  test.each(["alice.bsky.social", "bob-b@social.example", "ann"])(
    "a repost of %s names its author in its text, and counts the mentions of its original's entities alone",
    (name) => {
      const reposted = { referenced_tweets: [{ type: "retweeted", id: "3" }] }
      const original = { id: "3", text: "hi @ann", author_id: "20", entities: { hashtags: [] } }
      const post = postWith(`RT @${name}: hi @zed`, { ...foreign, ...reposted }, { tweets: [original] })
      expect(matches(`retweets_of:${name}`, post)).toBe(true)
      expect(matches(`"RT ${name}"`, post)).toBe(true)
      expect(matches("has:mentions", post)).toBe(false)
      expect(matches("has:mentions", post, { mode: "search" })).toBe(false)
      const ofX = postWith(`RT @${name}: hi @zed`, reposted, { tweets: [original] })
      expect(matches(`retweets_of:${name}`, ofX)).toBe(name === "ann")
    },
  )

  test("a quoted post's text does not say whom it mentions either", () => {
    const quoting = { referenced_tweets: [{ type: "quoted", id: "3" }] }
    const tweets = [{ id: "3", text: "hi @ann" }]
    expect(matches("@ann", postWith("x", quoting, { tweets }))).toBe(true)
    expect(matches("@ann", postWith("x", { ...foreign, ...quoting }, { tweets }))).toBe(false)
  })
})

test("@ finds an id in a quoted post on the stream, in a repost's original, and in the matcher", () => {
  const mentioning = { id: "3", text: "hi @ann", entities: { mentions: [{ username: "ann", id: "77" }] } }
  const of = (type: string) =>
    postWith("x", { id: "4", referenced_tweets: [{ type, id: "3" }] }, { tweets: [mentioning] })
  for (const [envelope, mode, expected] of [
    [of("quoted"), "stream", true],
    [of("quoted"), "search", false],
    [of("retweeted"), "stream", true],
    [of("retweeted"), "search", true],
  ] as const) {
    expect(matches("@77", envelope, { mode })).toBe(expected)
    const matcher = new RuleMatcher()
    matcher.add(ruleOf("@77", { mode }))
    expect(matcher.match(readPost(envelope, { mode }))).toHaveLength(expected ? 1 : 0)
  }
})

test("has:links does not find a link that only quotes, and does find another one next to it", () => {
  const quotation = { url: "https://t.co/q", expanded_url: "https://x.com/bob_1/status/3" }
  const another = { url: "https://t.co/r", expanded_url: "https://x.com/bob_1/status/4" }
  const quoting = (...urls: readonly object[]) =>
    postWith("see", { referenced_tweets: [{ type: "quoted", id: "3" }], entities: { urls } })
  expect(matches("has:links", quoting(quotation))).toBe(false)
  expect(matches("has:links", quoting(quotation, another))).toBe(true)
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
    // The short link too, as X writes it.
    ["url:t.co", true],
    ["url:t.co/a", true],
    ["url:t.co/b", false],
    ["url:example.org", false],
    ["url:com.example", false],
    ['url:"page example"', false],
    ["-url:h.com see", false],
  ])("%s holds: %j", (rule, expected) => {
    expect(matches(rule, post)).toBe(expected)
  })

  test("the whole words of a displayed link count", () => {
    const displayed = (display_url: string) =>
      postWith("", { entities: { urls: [{ url: "https://t.co/a", display_url }] } })
    expect(matches("url:short.io/page", displayed("short.io/page"))).toBe(true)
    expect(matches("url:short.io", displayed("short.io/pa…"))).toBe(true)
    expect(matches("url:pa", displayed("short.io/pa…"))).toBe(false)
    expect(matches("url:short.io", displayed("short.io/…"))).toBe(true)
  })

  test("url:example.com does not match every link", () => {
    expect(matches("url:example.com", postWith("https://other.com/example"))).toBe(false)
    expect(matches("url:other.com", postWith("https://other.com/example"))).toBe(true)
  })
})

describe("pages and authors", () => {
  const post = postWith(
    "look https://t.co/a",
    {
      author_id: "10",
      entities: {
        urls: [
          {
            url: "https://t.co/a",
            expanded_url: "https://example.com/2026/Photos?id=7",
            display_url: "example.com/2026/Pho…",
            title: "Fresh snow &amp; cats",
            description: "It snowed all night in the Alps",
          },
          { url: "https://t.co/b", expanded_url: "https://other.example", title: "Second page" },
        ],
      },
    },
    {
      users: [
        {
          id: "10",
          username: "ann",
          name: "Dr. Ann 猫",
          description: "PhD, data scientist",
          location: "New York",
        },
        { id: "20", username: "bob", description: "zebra keeper" },
      ],
    },
  )

  test.each([
    ["url_title:snow", true],
    ['url_title:"fresh snow"', true],
    ['url_title:"snow cats"', true],
    ["url_title:amp", false],
    ["url_title:alps", false],
    ['url_title:"cats second"', false],
    ["url_title:second", true],
    ["url_description:alps", true],
    ['url_description:"all night"', true],
    ["url_description:fresh", false],
    ["snow", false],
    ["url_contains:PHOTOS?id", true],
    ["url_contains:e.com/2026", true],
    ["url_contains:https://", true],
    ["url_contains:other.example", true],
    ["url_contains:photos/", false],
    ["url_contains:t.co/a", true],
    ["url:photos", true],
    ["url:photo", false],
    ["bio:phd", true],
    ['bio:"data scientist"', true],
    ['bio:"scientist data"', false],
    ["bio:zebra", false],
    ["bio:ann", false],
    ["bio_name:ANN", true],
    ["bio_name:猫", true],
    ["bio_name:phd", false],
    ['bio_location:"new york"', true],
    ["bio_location:york", true],
    ["bio_location:yor", false],
    ["phd", false],
  ])("%s holds: %j", (rule, expected) => {
    expect(matches(rule, post)).toBe(expected)
  })

  test("an author who is not included has no bio", () => {
    for (const rule of ["bio:phd", "bio_name:ann", "bio_location:york"])
      expect(matches(rule, { data: post.data })).toBe(false)
  })

  test("a repost has its own author and the links of its original", () => {
    const repost = postWith(
      "RT @ann: look",
      { id: "2", author_id: "20", referenced_tweets: [{ type: "retweeted", id: "1" }] },
      { users: (post.includes as { users: unknown }).users, tweets: [post.data] },
    )
    expect(matches("bio:zebra", repost)).toBe(true)
    expect(matches("bio:phd", repost)).toBe(false)
    expect(matches("url_title:snow", repost)).toBe(true)
    expect(matches("url_contains:photos", repost)).toBe(true)
  })
})

describe("affiliates", () => {
  const members = [
    { id: "10", username: "ann", affiliation: { user_id: ["99"], url: "https://x.com/TheZoo" } },
    { id: "20", username: "bob", affiliation: { user_id: ["98", "97"] } },
    { id: "98", username: "Park" },
  ]
  const post = postWith("hi", { author_id: "10", in_reply_to_user_id: "20" }, { users: members })

  test.each([
    ["from_affiliate_of:thezoo", true],
    ["from_affiliate_of:@TheZoo", true],
    ["from_affiliate_of:99", true],
    ["from_affiliate_of:park", false],
    ["from_affiliate_of:ann", false],
    ["to_affiliate_of:park", true],
    ["to_affiliate_of:98", true],
    ["to_affiliate_of:97", true],
    ["to_affiliate_of:99", false],
    ["to_affiliate_of:bob", false],
  ])("%s holds: %j", (rule, expected) => {
    expect(matches(rule, post)).toBe(expected)
  })

  test("a repost of an affiliate's post is no reply to an affiliate", () => {
    const data = { ...post.data, referenced_tweets: [{ type: "retweeted", id: "5" }] }
    expect(matches("to_affiliate_of:park", { ...post, data })).toBe(false)
    expect(matches("to_affiliate_of:park", postWith("hi", { author_id: "10" }, { users: members }))).toBe(false)
  })

  test("a link to another site names no affiliated account", () => {
    for (const url of ["https://example.com/zoo", "https://x.com/zoo/status/1", "zoo", 5])
      expect(
        matches(
          "from_affiliate_of:zoo",
          postWith("", { author_id: "1" }, { users: [{ id: "1", affiliation: { url } }] }),
        ),
      ).toBe(false)
  })
})

describe("posts that refer to others", () => {
  const post = postWith("x", {
    conversation_id: "70",
    referenced_tweets: [
      { type: "replied_to", id: "71" },
      { type: "quoted", id: "72" },
    ],
  })
  const repost = postWith("RT @a: x", { referenced_tweets: [{ type: "retweeted", id: "73" }] })

  test.each([
    ["in_reply_to_tweet_id:71", [true, false]],
    ["in_reply_to_status_id:71", [true, false]],
    ["in_reply_to_tweet_id:72", [false, false]],
    ["quotes_of_tweet_id:72", [true, false]],
    ["quotes_of_tweet_id:71", [false, false]],
    ["retweets_of_tweet_id:73", [false, true]],
    ["retweets_of_status_id:73", [false, true]],
    ["retweets_of_tweet_id:7", [false, false]],
    ["conversation_id:70", [true, false]],
  ])("%s holds: %j", (rule, expected) => {
    expect([matches(rule, post), matches(rule, repost)]).toEqual(expected)
  })

  test("an original is not replied to by its repost", () => {
    const original = { id: "73", text: "x", referenced_tweets: [{ type: "replied_to", id: "71" }] }
    expect(matches("in_reply_to_tweet_id:71", { ...repost, includes: { tweets: [original] } })).toBe(false)
  })
})

describe("annotations", () => {
  const post = postWith("", {
    context_annotations: [
      {
        domain: { id: "66", name: "Interests" },
        entity: { id: "961961812492148736", name: "Michael Jordan" },
      },
      { domain: { id: "45" }, entity: { id: "7", name: "Coca-Cola" } },
    ],
    entities: { annotations: [{ start: 0, end: 3, type: "Place", normalized_text: "San Marino" }] },
  })

  test.each([
    ["context:66.961961812492148736", true],
    ["context:66.*", true],
    ["context:*.961961812492148736", true],
    ["context:45.7", true],
    // Domain and entity of one annotation, not of two.
    ["context:66.7", false],
    ["context:6.*", false],
    ["context:*.66", false],
    ['entity:"michael jordan"', true],
    ["entity:Michael", false],
    ["entity:coca-cola", true],
    ['entity:"coca cola"', true],
    ['entity:"San Marino"', true],
    ["entity:interests", false],
  ])("%s holds: %j", (rule, expected) => {
    expect(matches(rule, post)).toBe(expected)
  })

  test("a repost has the annotations of its original, and a quote post only its own", () => {
    const refer = (type: string) =>
      postWith("", { id: "2", referenced_tweets: [{ type, id: "1" }] }, { tweets: [post.data] })
    for (const rule of ["context:66.*", "entity:Coca-Cola", 'entity:"San Marino"']) {
      expect(matches(rule, refer("retweeted"))).toBe(true)
      expect(matches(rule, refer("quoted"))).toBe(false)
    }
  })
})

describe("places", () => {
  const places = [
    {
      id: "p1",
      name: "Paris",
      full_name: "Paris, France",
      country_code: "FR",
      geo: { type: "Feature", bbox: [2.224, 48.815, 2.47, 48.902] },
    },
    {
      id: "p2",
      name: "Fiji",
      full_name: "Fiji",
      country_code: "FJ",
      geo: { bbox: [176.8, -20.7, -178.2, -12.4] },
    },
  ]
  const inParis = postWith("bonjour", { geo: { place_id: "p1" } }, { places })
  const atTheLouvre = postWith("bonjour", {
    geo: { coordinates: { type: "Point", coordinates: [2.3376, 48.8606] } },
  })
  const inFiji = postWith("bula", { geo: { place_id: "p2" } }, { places })
  const nowhere = postWith("hi", {}, { places })

  test.each([
    ["place:paris", [true, false, false, false]],
    ['place:"Paris, France"', [true, false, false, false]],
    ['place:"paris france"', [true, false, false, false]],
    ["place:p1", [true, false, false, false]],
    ["place:France", [false, false, false, false]],
    ["place:par", [false, false, false, false]],
    ["place_country:fr", [true, false, false, false]],
    ["place_country:FJ", [false, false, true, false]],
    ["has:geo", [true, true, true, false]],
    // Only the centre of the place counts, not its size.
    ["point_radius:[2.3376 48.8606 0.5km]", [false, true, false, false]],
    ["point_radius:[2.347 48.8585 0.1km]", [true, false, false, false]],
    ["point_radius:[2.46 48.82 1mi]", [false, false, false, false]],
    ["point_radius:[2.43 48.8585 6km]", [false, false, false, false]],
    ["point_radius:[2.43 48.8585 7km]", [true, true, false, false]],
    ["point_radius:[179.3 -16.55 1km]", [false, false, true, false]],
    ["point_radius:[-179.9 -17 25mi]", [false, false, false, false]],
    ["bounding_box:[2.33 48.85 2.34 48.87]", [false, true, false, false]],
    ["bounding_box:[2.33 48.85 2.35 48.87]", [true, true, false, false]],
    ["bounding_box:[2.224 48.815 2.3 48.902]", [false, false, false, false]],
    ["bounding_box:[179.2 -16.6 179.4 -16.5]", [false, false, true, false]],
    ["bounding_box:[179.9 -17 -179.9 -16.9]", [false, false, false, false]],
    ["-has:geo", [false, false, false, true]],
  ])("%s holds: %j", (rule, expected) => {
    const posts = [inParis, atTheLouvre, inFiji, nowhere]
    expect(posts.map((post) => matches(rule, post))).toEqual(expected)
  })

  test("a point takes precedence over the place around it", () => {
    const geo = { place_id: "p1", coordinates: { type: "Point", coordinates: [2.3376, 48.8606] } }
    const both = postWith("x", { geo }, { places })
    expect(matches("point_radius:[2.347 48.8585 0.1km]", both)).toBe(false)
    expect(matches("point_radius:[2.3376 48.8606 0.1km]", both)).toBe(true)
    expect(matches("place:paris", both)).toBe(true)
  })

  test("a repost does not have the location of its original, but the name of its place", () => {
    const repost = postWith(
      "RT @a: bonjour",
      { id: "2", referenced_tweets: [{ type: "retweeted", id: "1" }] },
      { places, tweets: [inParis.data] },
    )
    for (const rule of ["has:geo", "point_radius:[2.347 48.8585 1km]", "bounding_box:[2.33 48.85 2.36 48.87]"])
      expect(matches(rule, repost)).toBe(false)
    expect(matches("place:paris", repost)).toBe(true)
    expect(matches("place_country:FR", repost)).toBe(true)
  })

  test("a quote post does not have the location of the quoted post", () => {
    const quote = postWith(
      "so true",
      { id: "2", referenced_tweets: [{ type: "quoted", id: "1" }] },
      { places, tweets: [inParis.data] },
    )
    for (const rule of ["place:paris", "place_country:FR", "has:geo", "point_radius:[2.347 48.8585 1km]"])
      expect(matches(rule, quote)).toBe(false)
  })

  test.each<[string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["a text", "2.3,48.8"],
    ["an empty object", {}],
    ["coordinates that are null", { coordinates: null }],
    ["coordinates that are a number", { coordinates: 5 }],
    ["coordinates without numbers", { coordinates: { coordinates: ["2.3", "48.8"] } }],
    ["a place id that is no text", { place_id: 5 }],
    ["a place id that is empty", { place_id: "" }],
  ])("%s as geo gives no place", (_, geo) => {
    const post = postWith("x", { geo }, { places })
    for (const rule of ["has:geo", "point_radius:[2.3 48.8 40km]", "place:paris", "place_country:FR"])
      expect(matches(rule, post), rule).toBe(false)
  })

  test("a place that no post describes has only an id", () => {
    const post = postWith("x", { geo: { place_id: "p9" } }, { places })
    expect(matches("place:p9", post)).toBe(true)
    expect(matches("has:geo", post)).toBe(true)
    expect(matches("place_country:FR", post)).toBe(false)
    expect(matches("point_radius:[2.3 48.8 40km]", post)).toBe(false)
  })
})

describe("numbers", () => {
  const post = postWith(
    "x",
    {
      author_id: "10",
      public_metrics: { like_count: 10, reply_count: 0, retweet_count: 3 },
    },
    {
      users: [
        {
          id: "10",
          username: "ann",
          public_metrics: { followers_count: 500, following_count: 20, tweet_count: 1000, listed_count: 0 },
        },
      ],
    },
  )

  test.each([
    ["followers_count:500", true],
    ["followers_count:501", false],
    ["followers_count:100..500", true],
    ["followers_count:500..500", true],
    ["followers_count:501..1000", false],
    ["followers_count:0..499", false],
    ["min_followers:500", true],
    ["min_followers:501", false],
    ["following_count:20..30", true],
    ["friends_count:21", false],
    ["tweets_count:1000", true],
    ["statuses_count:1001", false],
    ["listed_count:0", true],
    ["listed_count:1", false],
    ["min_likes:10", true],
    ["min_likes:11", false],
    ["min_replies:0", true],
    ["min_replies:1", false],
    ["min_reposts:3", true],
    ["min_reposts:4", false],
  ])("%s holds: %j", (rule, expected) => {
    expect(matches(rule, post)).toBe(expected)
  })

  test("an unknown number is within no bounds", () => {
    for (const rule of ["followers_count:0", "followers_count:0..9", "min_likes:0", "listed_count:0"]) {
      expect(matches(rule, postWith("x"))).toBe(false)
      expect(matches(`-${rule}`, postWith("x"))).toBe(true)
    }
    for (const like_count of ["10", null, Number.NaN, Infinity, {}])
      expect(matches("min_likes:0", postWith("x", { public_metrics: { like_count } }))).toBe(false)
  })

  test("a repost has its own author's numbers, and its original's numbers of the post", () => {
    const repost = postWith(
      "RT @ann: x",
      {
        id: "2",
        author_id: "20",
        public_metrics: { like_count: 0 },
        referenced_tweets: [{ type: "retweeted", id: "1" }],
      },
      { tweets: [post.data], users: (post.includes as { users: unknown }).users },
    )
    expect(matches("min_likes:10", repost)).toBe(true)
    expect(matches("followers_count:0", repost)).toBe(false)
  })
})

describe("applications", () => {
  test.each([
    ['source:"Twitter Web App"', "Twitter Web App", true],
    ['source:"twitter web app"', "Twitter Web App", true],
    ["source:twitter-web-app", "Twitter Web App", true],
    ["source:twitter", "Twitter Web App", false],
    ["is:nullcast", "Twitter for Advertisers", true],
    ["is:nullcast", "Twitter for Advertisers (legacy)", true],
    ["is:nullcast", "Twitter for Advertisers.", false],
    ["is:nullcast", "Twitter Web App", false],
  ])("%s of a post from %s holds: %j", (rule, source, expected) => {
    // `is:nullcast` must be negated.
    const negated = clauseOf(`-(${rule})`)
    expect(evaluate(negated, readPost(postWith("x", { source })))).toBe(!expected)
  })
})

describe("samples and similarities", () => {
  test("a sample is chosen by the post's id, and not by its original's", () => {
    const ids = Array.from({ length: 200 }, (_, index) => String(1000 + index))
    const taken = (members: object) => ids.filter((id) => matches("sample:50", { data: { id, text: "x", ...members } }))
    const reposts = taken({ referenced_tweets: [{ type: "retweeted", id: "1000" }] })
    expect(reposts).toEqual(taken({}))
    expect(reposts.length).toBeGreaterThan(60)
    expect(reposts.length).toBeLessThan(140)
  })

  test.each([
    ['embedding:"cats"', 0.3, true],
    ['embedding:"cats"', 0.299, false],
    ['embedding:"cats" embedding_threshold:0.9', 0.9, true],
    ['embedding:"cats" embedding_threshold:0.9', 0.8, false],
    ['embedding:"cats" embedding_threshold:0', -0.1, false],
    ['embedding:"cats" embedding_threshold:0', 0, true],
    ['embedding:"dogs"', 0.9, false],
    ['embedding:"dogs" OR embedding:"cats"', 0.9, true],
  ])("%s at a similarity of %d holds: %j", (rule, cosine, expected) => {
    const similarity = (text: string) => (text === "cats" ? cosine : undefined)
    expect(matches(rule, postWith("x"), { similarity })).toBe(expected)
  })

  test("without a known similarity no post is similar, and NaN is no similarity", () => {
    expect(matches('embedding:"cats" embedding_threshold:0', postWith("cats"))).toBe(false)
    const options = { similarity: () => Number.NaN }
    expect(matches('embedding:"cats" embedding_threshold:0', postWith("cats"), options)).toBe(false)
  })
})

describe("the tree", () => {
  const cat = ruleOf("cat")
  const dog = ruleOf("dog")
  const posts = ["x", "cat", "dog", "cat dog"].map((text) => readPost(postWith(text)))
  const truth = (rule: Rule) => posts.map((post) => evaluate(rule, post))

  test("any, all and not are the logical operators OR, AND and NOT", () => {
    expect(truth({ kind: "any", rules: [cat, dog] })).toEqual([false, true, true, true])
    expect(truth({ kind: "all", rules: [cat, dog] })).toEqual([false, false, false, true])
    expect(truth({ kind: "not", rule: cat })).toEqual([true, false, true, false])
    expect(truth({ kind: "any", rules: [] })).toEqual([false, false, false, false])
    expect(truth({ kind: "all", rules: [] })).toEqual([true, true, true, true])
  })

  test("De Morgan's laws hold of any two rules, and a double negation has no effect", () => {
    const not = (rule: Rule): Rule => ({ kind: "not", rule })
    fc.assert(
      fc.property(anyRule, anyRule, anyEnvelope, (left, right, envelope) => {
        const post = readPost(envelope)
        const either: Rule = { kind: "any", rules: [left, right] }
        const neither: Rule = { kind: "all", rules: [not(left), not(right)] }
        expect(evaluate(not(either), post)).toBe(evaluate(neither, post))
        expect(evaluate(not(not(left)), post)).toBe(evaluate(left, post))
        if (left.kind !== "any" && left.kind !== "all" && left.kind !== "not")
          expect(evaluate(left, post)).toBe(holds(left, post))
      }),
      { numRuns: 500 },
    )
  })
})
