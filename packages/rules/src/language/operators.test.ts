import { describe, expect, test } from "vitest"
import { clauseOf, messagesOf, ruleOf } from "../testing/matches.testing.ts"
import type { Mode } from "../text/mode.ts"
import { parseRule } from "./parse-rule.ts"
import { printRule } from "./print-rule.ts"
import {
  countNames,
  hasValues,
  isValues,
  keyNames,
  zones,
  type CountName,
  type KeyName,
  type Operator,
  type WordsName,
} from "./rule.ts"

/** An operator as text, what it is read as, and how it prints when not as it was written. */
type Row = [text: string, operator: Operator, printed?: string]

/** Words as they are kept: `+` before one that must touch the word before it. */
const words = (name: WordsName, value: string, ...texts: readonly string[]): Operator => ({
  kind: "words",
  name,
  value,
  words: texts.map(wordOf),
})
const wordOf = (text: string) => (text.startsWith("+") ? { text: text.slice(1), glued: true } : { text, glued: false })
const near = (value: string, distance: number, ...texts: readonly string[]): Operator => ({
  kind: "near",
  value,
  words: texts.map(wordOf),
  distance,
})
const key = (name: KeyName, value: string, folded = value.toLowerCase()): Operator => ({
  kind: "key",
  name,
  value,
  key: folded,
})
const count = (name: CountName, least: number, most?: number): Operator =>
  most === undefined ? { kind: "count", name, least } : { kind: "count", name, least, most }
const circle = (value: string, centre: readonly [number, number], radiusKm: number): Operator => ({
  kind: "area",
  value,
  area: { kind: "circle", centre, radiusKm },
})
const box = (value: string, ...sides: readonly [number, number, number, number]): Operator => ({
  kind: "area",
  value,
  area: { kind: "box", box: sides },
})

const longest = `${"a.".repeat(126)}a`

const rows: Readonly<Record<string, readonly Row[]>> = {
  keywords: [
    ["cat", words("keyword", "cat", "cat")],
    ["CAT", words("keyword", "CAT", "cat")],
    ["don't", words("keyword", "don't", "don", "t")],
    ["gpt-3", words("keyword", "gpt-3", "gpt", "3")],
    ["STRASSE", words("keyword", "STRASSE", "strasse")],
    ["猫", words("keyword", "猫", "猫")],
    ["猫カフェ", words("keyword", "猫カフェ", "猫", "+カ", "+フ", "+ェ")],
    ["iPhoneケース", words("keyword", "iPhoneケース", "iphone", "ケ", "+ー", "+ス")],
    ["🍕", words("keyword", "🍕", "🍕")],
    ["the", words("keyword", "the", "the")],
  ],
  phrases: [
    ['"Hot Dog"', words("phrase", "Hot Dog", "hot", "dog")],
    ['"or"', words("phrase", "or", "or")],
    ['"trick OR treat"', words("phrase", "trick OR treat", "trick", "or", "treat")],
    [String.raw`"say \"hi\" \\ now"`, words("phrase", String.raw`say "hi" \ now`, "say", "hi", "now")],
    ['"from:nasa"', words("phrase", "from:nasa", "from", "nasa")],
  ],
  proximities: [
    ['"social media"~5', near("social media", 5, "social", "media")],
    ['"zebra cat dog"~1', near("zebra cat dog", 1, "zebra", "cat", "dog")],
    ['"a b"~06', near("a b", 6, "a", "b"), '"a b"~6'],
    ['"東京 タワー"~2', near("東京 タワー", 2, "東", "+京", "タ", "+ワ", "+ー")],
  ],
  marks: [
    ["#Cat", key("hashtag", "Cat")],
    ["＃猫_1", key("hashtag", "猫_1"), "#猫_1"],
    ["#1day", key("hashtag", "1day")],
    ["@Nasa", key("mention", "Nasa")],
    ["＠Nasa", key("mention", "Nasa"), "@Nasa"],
    ["@alice.example.com", key("mention", "alice.example.com")],
    ["@alice@social.example", key("mention", "alice@social.example")],
    ["＠Alice.B-c_d@Social.example", key("mention", "Alice.B-c_d@Social.example"), "@Alice.B-c_d@Social.example"],
    [`@${longest}@${longest}`, key("mention", `${longest}@${longest}`)],
    ["@猫", key("mention", "猫")],
    ["$BTC", key("cashtag", "BTC")],
    ["＄BTC", key("cashtag", "BTC"), "$BTC"],
    ["$BRK.B", key("cashtag", "BRK.B")],
  ],
  people: [
    ["from:nasa", key("from", "nasa")],
    ["From:@Nasa", key("from", "Nasa"), "from:Nasa"],
    ["FROM:12", key("from", "12"), "from:12"],
    ['from:"nasa"', key("from", "nasa"), "from:nasa"],
    ["from:_We_Rate_Cats", key("from", "_We_Rate_Cats")],
    ["from:did-not.bsky.social", key("from", "did-not.bsky.social")],
    ["to:Alice@social.example", key("to", "Alice@social.example")],
    ["to:@alice@social.example", key("to", "alice@social.example"), "to:alice@social.example"],
    ['retweets_of:"alice.bsky.social"', key("retweets_of", "alice.bsky.social"), "retweets_of:alice.bsky.social"],
    [`retweets_of_user:${longest}`, key("retweets_of", longest), `retweets_of:${longest}`],
    ["from_affiliate_of:a.b@c-d", key("from_affiliate_of", "a.b@c-d")],
    ["to_affiliate_of:a-b", key("to_affiliate_of", "a-b")],
    ["to:nasa", key("to", "nasa")],
    ["retweets_of_user:nasa", key("retweets_of", "nasa"), "retweets_of:nasa"],
    ["retweets_of:nasa", key("retweets_of", "nasa")],
    ["from_affiliate_of:X", key("from_affiliate_of", "X")],
    ["to_affiliate_of:@X", key("to_affiliate_of", "X"), "to_affiliate_of:X"],
  ],
  posts: [
    ["conversation_id:1334987486343299072", key("conversation_id", "1334987486343299072")],
    ["in_reply_to_tweet_id:12", key("in_reply_to_tweet_id", "12")],
    ["in_reply_to_status_id:12", key("in_reply_to_tweet_id", "12"), "in_reply_to_tweet_id:12"],
    ["retweets_of_tweet_id:12", key("retweets_of_tweet_id", "12")],
    ["retweets_of_status_id:12", key("retweets_of_tweet_id", "12"), "retweets_of_tweet_id:12"],
    ["quotes_of_tweet_id:0", key("quotes_of_tweet_id", "0")],
    ["quotes_of_status_id:12", key("quotes_of_tweet_id", "12"), "quotes_of_tweet_id:12"],
  ],
  links: [
    ["url:example.com", words("url", "example.com", "example", "com")],
    ['url:"https://h.com/~bob"', words("url", "https://h.com/~bob", "h", "com", "bob"), "url:https://h.com/~bob"],
    ["url:https://h.com/a:b?c=d", words("url", "https://h.com/a:b?c=d", "h", "com", "a", "b", "c", "d")],
    ["url:HTTP://H.com", words("url", "HTTP://H.com", "h", "com")],
    ['url:"a b"', words("url", "a b", "a", "b")],
    ["url:東京.jp", words("url", "東京.jp", "東", "+京", "jp")],
    ["within_url_title:snow", words("url_title", "snow", "snow"), "url_title:snow"],
    ["within_url_description:snow", words("url_description", "snow", "snow"), "url_description:snow"],
    ["url_title:snow", words("url_title", "snow", "snow")],
    ['url_title:"Fresh Snow"', words("url_title", "Fresh Snow", "fresh", "snow")],
    ["url_description:snow", words("url_description", "snow", "snow")],
    ["url_contains:Photos/", { kind: "contains", value: "Photos/", text: "photos/" }],
    ['url_contains:"a b"', { kind: "contains", value: "a b", text: "a b" }],
    ["url_contains:?", { kind: "contains", value: "?", text: "?" }],
  ],
  annotations: [
    ["context:66.961961812492148736", key("context", "66.961961812492148736")],
    ["context:66.*", key("context", "66.*")],
    ["context:*.961961812492148736", key("context", "*.961961812492148736")],
    ['entity:"Michael Jordan"', key("entity", "Michael Jordan", "michael jordan")],
    ["entity:Pelé", key("entity", "Pelé", "pelé")],
    ["entity:Coca-Cola", key("entity", "Coca-Cola", "coca cola")],
  ],
  places: [
    ["place:Paris", key("place", "Paris")],
    ['place:"New York, NY"', key("place", "New York, NY", "new york ny")],
    ["place:fd70c22040963ac7", key("place", "fd70c22040963ac7")],
    ["place_country:us", key("place_country", "us")],
    ["place_country:GB", key("place_country", "GB")],
    ["point_radius:[2.355128 48.861118 16km]", circle("[2.355128 48.861118 16km]", [2.355128, 48.861118], 16)],
    ["point_radius:[-105 40 10mi]", circle("[-105 40 10mi]", [-105, 40], 16.09344)],
    ['point_radius:"[1 2 3km]"', circle("[1 2 3km]", [1, 2], 3), "point_radius:[1 2 3km]"],
    [
      "bounding_box:[-105.301758 39.964069 -105.178505 40.09455]",
      box("[-105.301758 39.964069 -105.178505 40.09455]", -105.301758, 39.964069, -105.178505, 40.09455),
    ],
    ["geo_bounding_box:[0 0 0.1 0.1]", box("[0 0 0.1 0.1]", 0, 0, 0.1, 0.1), "bounding_box:[0 0 0.1 0.1]"],
  ],
  numbers: [
    ["followers_count:500", count("followers_count", 500)],
    ["followers_count:1000..10000", count("followers_count", 1000, 10_000)],
    ["followers_count:0..0", count("followers_count", 0, 0)],
    ["min_followers:100", count("followers_count", 100), "followers_count:100"],
    ["following_count:5", count("following_count", 5)],
    ["friends_count:5..6", count("following_count", 5, 6), "following_count:5..6"],
    ["tweets_count:1..2", count("tweets_count", 1, 2)],
    ["statuses_count:7", count("tweets_count", 7), "tweets_count:7"],
    ["listed_count:10", count("listed_count", 10)],
    ["user_in_lists_count:10..20", count("listed_count", 10, 20), "listed_count:10..20"],
    ["min_likes:10", count("min_likes", 10)],
    ["min_replies:0", count("min_replies", 0)],
    ["min_reposts:999999999999999", count("min_reposts", 999_999_999_999_999)],
  ],
  "of posts that are narrowed down": [
    ["lang:EN", key("lang", "EN")],
    ["lang:zh-TW", key("lang", "zh-TW")],
    ["lang:iw", key("lang", "iw")],
    ["lang:he", key("lang", "he", "iw")],
    ["is:retweet", key("is", "retweet")],
    ["is:reply", key("is", "reply")],
    ["is:quote", key("is", "quote")],
    ["Is:Verified", key("is", "verified"), "is:verified"],
    ["has:hashtags", key("has", "hashtags")],
    ["has:cashtags", key("has", "cashtags")],
    ["has:links", key("has", "links")],
    ["has:mentions", key("has", "mentions")],
    ["HAS:Media", key("has", "media"), "has:media"],
    ["has:media_link", key("has", "media"), "has:media"],
    ["has:images", key("has", "images")],
    ["has:video_link", key("has", "video_link")],
    ["has:videos", key("has", "video_link"), "has:video_link"],
    ["has:geo", key("has", "geo")],
    ['source:"Twitter for iPhone"', key("source", "Twitter for iPhone", "twitter for iphone")],
    ["source:IFTTT", key("source", "IFTTT")],
  ],
}

/** Operators of streams alone. */
const streamRows: readonly Row[] = [
  ["bio:phd", words("bio", "phd", "phd")],
  ['bio:"data scientist"', words("bio", "data scientist", "data", "scientist")],
  ["bio_name:Ann", words("bio_name", "Ann", "ann")],
  ["bio_location:NYC", words("bio_location", "NYC", "nyc")],
  ["user_bio:phd", words("bio", "phd", "phd"), "bio:phd"],
  ["user_bio_location:NYC", words("bio_location", "NYC", "nyc"), "bio_location:NYC"],
]

/** Operators that must not be negated. */
const positiveRows: readonly Row[] = [
  ["sample:1", { kind: "sample", percent: 1 }],
  ["sample:100", { kind: "sample", percent: 100 }],
  ["Sample:007", { kind: "sample", percent: 7 }, "sample:7"],
]

/** Options of a server with embeddings. */
const embeddingRows: readonly Row[] = [
  ['embedding:"cats that play"', { kind: "embedding", value: "cats that play", threshold: 0.3 }],
  ["embedding:cats", { kind: "embedding", value: "cats", threshold: 0.3 }, 'embedding:"cats"'],
  [String.raw`embedding:"say \"hi\""`, { kind: "embedding", value: 'say "hi"', threshold: 0.3 }],
]

const withoutNegation = [...positiveRows, ...embeddingRows]
const allRows = Object.values(rows).flat()

/** Which names of operators and values some row is about. */
function namesIn(some: readonly Row[]): ReadonlySet<string> {
  return new Set(
    some.flatMap(([, operator]) => {
      if (operator.kind === "key" && (operator.name === "is" || operator.name === "has"))
        return [operator.name, `${operator.name}:${operator.key}`]
      return "name" in operator ? [operator.name] : [operator.kind]
    }),
  )
}

test("every operator is covered by these tests", () => {
  const known = namesIn([...allRows, ...streamRows, ...withoutNegation])
  const all = [...Object.keys(zones), ...keyNames, ...countNames, "near", "contains", "area", "sample", "embedding"]
  expect(all.filter((name) => !known.has(name))).toEqual([])
  expect(hasValues.filter((value) => !known.has(`has:${value}`))).toEqual([])
  // It must be negated, and has tests of its own.
  expect(isValues.filter((value) => !known.has(`is:${value}`))).toEqual(["nullcast"])
})

describe.each(Object.entries(rows))("%s", (_what, some) => {
  describe.each<Mode>(["stream", "search"])("on a %s", (mode) => {
    test.each<Row>(some)("%s is one operator", (text, operator) => {
      // Letters with and without diacritics are one to a search: mode.test.ts has those.
      const expected = text === "entity:Pelé" && mode === "search" ? { ...operator, key: "pele" } : operator
      expect(clauseOf(text, { mode })).toEqual(expected)
      expect(clauseOf(`-${text}`, { mode })).toEqual({ kind: "not", rule: expected })
    })

    test.each<Row>(some)("%s prints, and parses to the same operator", (text, _, printed = text) => {
      const operator = clauseOf(text, { mode })
      expect(printRule(operator)).toBe(printed)
      expect(clauseOf(printed, { mode })).toEqual(operator)
    })
  })
})

describe("operators of streams only", () => {
  test.each<Row>([...streamRows, ...positiveRows])(
    "%s is one operator, prints and parses",
    (text, operator, printed = text) => {
      expect(clauseOf(text)).toEqual(operator)
      expect(printRule(operator)).toBe(printed)
      expect(clauseOf(printed)).toEqual(operator)
    },
  )

  test.each<Row>([...streamRows, ...positiveRows])("%s is rejected in a strict search alone", (text, operator) => {
    expect(clauseOf(text, { mode: "search" })).toEqual(operator)
    const [message] = messagesOf(`cat ${text}`, { mode: "search", strict: true })
    expect(message).toContain("Operator is not available in current product or product packaging.")
  })

  test.each<Row>(streamRows)("%s can be negated", (text, operator) => {
    expect(clauseOf(`-${text}`)).toEqual({ kind: "not", rule: operator })
  })
})

describe("similarities", () => {
  test.each<Row>(embeddingRows)(
    "%s is one operator where embeddings are available, prints and parses",
    (text, operator, printed = text) => {
      for (const mode of ["stream", "search"] as const) {
        expect(ruleOf(text, { embeddings: true, mode })).toEqual(operator)
        expect(ruleOf(printed, { embeddings: true, mode })).toEqual(operator)
      }
      expect(printRule(operator)).toBe(printed)
    },
  )

  const embedding = (value: string, threshold: number) => ({ kind: "embedding", value, threshold })

  test.each<[string, unknown, string?]>([
    ['embedding:"cats" embedding_threshold:0.45', embedding("cats", 0.45)],
    ['embedding_threshold:0.45 embedding:"cats"', embedding("cats", 0.45), 'embedding:"cats" embedding_threshold:0.45'],
    ['embedding:"cats" embedding_threshold:0', embedding("cats", 0)],
    ['embedding:"cats" embedding_threshold:0.000000001', embedding("cats", 1e-9)],
    ['embedding:"cats" embedding_threshold:1.0', embedding("cats", 1), 'embedding:"cats" embedding_threshold:1'],
    ['embedding:"cats" embedding_threshold:0.3', embedding("cats", 0.3), 'embedding:"cats"'],
    ['embedding:"cats" (embedding_threshold:0.4)', embedding("cats", 0.4), 'embedding:"cats" embedding_threshold:0.4'],
    [
      'embedding:"cats" lang:en embedding_threshold:0.7',
      { kind: "all", rules: [embedding("cats", 0.7), key("lang", "en")] },
      '(embedding:"cats" embedding_threshold:0.7) lang:en',
    ],
    [
      '(embedding:"cats" OR embedding:"dogs") embedding_threshold:0.7',
      { kind: "any", rules: [embedding("cats", 0.7), embedding("dogs", 0.7)] },
      'embedding:"cats" embedding_threshold:0.7 OR embedding:"dogs" embedding_threshold:0.7',
    ],
    [
      'embedding:"cats" embedding_threshold:0.7 OR embedding:"dogs"',
      { kind: "any", rules: [embedding("cats", 0.7), embedding("dogs", 0.3)] },
    ],
    [
      '(embedding:"cats" embedding_threshold:0.4) (embedding:"dogs" embedding_threshold:0.7)',
      { kind: "all", rules: [embedding("cats", 0.4), embedding("dogs", 0.7)] },
    ],
    [
      '(embedding:"cats" embedding_threshold:0.4) embedding:"dogs" embedding_threshold:0.7',
      { kind: "all", rules: [embedding("cats", 0.4), embedding("dogs", 0.7)] },
      '(embedding:"cats" embedding_threshold:0.4) (embedding:"dogs" embedding_threshold:0.7)',
    ],
    // A threshold that is written counts, also the one that would hold without it.
    [
      '(embedding:"cats" embedding_threshold:0.3) embedding:"dogs" embedding_threshold:0.7',
      { kind: "all", rules: [embedding("cats", 0.3), embedding("dogs", 0.7)] },
      'embedding:"cats" (embedding:"dogs" embedding_threshold:0.7)',
    ],
  ])("%s has the threshold that is written next to it", (text, rule, printed = text) => {
    const parsed = ruleOf(text, { embeddings: true })
    expect(parsed).toEqual(rule)
    expect(printRule(parsed)).toBe(printed)
    expect(ruleOf(printed, { embeddings: true })).toEqual(rule)
  })
})

describe("operators that must, or must not, be negated", () => {
  const nullcast = { kind: "not", rule: key("is", "nullcast") }

  test.each([
    ["cat -is:nullcast", nullcast],
    ["cat ---is:nullcast", nullcast],
    ["cat -(is:nullcast)", nullcast],
    ["cat (-is:nullcast)", nullcast],
    ["cat --(-is:nullcast)", { kind: "not", rule: { kind: "not", rule: nullcast } }],
  ])("%s excludes promoted posts", (text, clause) => {
    expect(ruleOf(text)).toEqual({ kind: "all", rules: [words("keyword", "cat", "cat"), clause] })
  })

  test.each(["cat --sample:10", "cat -(-sample:10)", "cat -(dog -sample:10)"])("%s takes a sample", (text) => {
    expect(parseRule(text).ok).toBe(true)
  })

  test("sample: and source: need another operator; counts, areas and similarities are standalone", () => {
    for (const text of ["cat sample:10", "sample:10 from:nasa", "cat source:web"])
      expect(parseRule(text).ok, text).toBe(true)
    for (const text of ["followers_count:5", "min_likes:3", "point_radius:[1 2 3km]", "place_country:FR", "bio:x"])
      expect(parseRule(text).ok, text).toBe(true)
    expect(parseRule("embedding:x", { embeddings: true }).ok).toBe(true)
  })

  test.each([
    "(cat OR dog) sample:1",
    "sample:1 (cat OR dog)",
    "(cat OR dog) (cow OR fox) sample:1",
    "((cat OR dog) sample:1)",
    "(cat OR dog) (cow sample:1)",
    "cow ((cat OR (dog OR fox)) sample:1)",
    "cat -(dog OR fox) sample:1",
  ])("%s is a sample of a whole rule with its ORs in parentheses", (text) => {
    expect(parseRule(text).ok).toBe(true)
  })
})
