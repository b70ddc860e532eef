import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { hasSharedData, sharedLines } from "../../../../test/support/shared-data.testing.ts"
import {
  evaluate,
  examplePost,
  parseRule,
  printRule,
  readPost,
  type Mode,
  type Rule,
  type RuleEnvelope,
} from "../index.ts"
import { anyRule } from "../testing/any-rule.testing.ts"
import { writtenRules } from "../testing/written-rules.testing.ts"

const id = "2010000000000000000"

function ruleOf(value: string, mode: Mode = "stream"): Rule {
  const parsed = parseRule(value, { mode, embeddings: true, lengthMax: 100_000 })
  if (!parsed.ok) throw new Error(`${value}: ${parsed.problems.map(({ message }) => message).join(", ")}`)
  return parsed.rule
}

/** The post that is made of the rule, after comparing it with the rule. */
function made(value: string, mode: Mode = "stream"): RuleEnvelope {
  const rule = ruleOf(value, mode)
  const example = examplePost(rule, { id, mode })
  if (!example.ok) throw new Error(`${value}: ${example.reason}`)
  expect(evaluate(rule, readPost(example.envelope, { mode })), value).toBe(true)
  return example.envelope
}

function reason(value: string): string | undefined {
  const example = examplePost(ruleOf(value), { id })
  return example.ok ? undefined : example.reason
}

describe("a post is made for", () => {
  test.each(
    [
      "cat",
      "#Cat -is:retweet",
      '"say \\"cat\\" & <dog>"',
      "東京タワー",
      '"social media"~3',
      "@ann $BTC #猫",
      "@ann@example.social",
      "from:ann from:44 to:bob retweets_of:x OR from:ann",
      "from:ann.bsky.social to:@bob-b@social.example @a.b has:mentions",
      "retweets_of:ann.bsky.social -@ann",
      "to:12 to:bob",
      "retweets_of:ann retweets_of:12 cat has:images",
      "retweets_of_tweet_id:77 is:quote",
      "quotes_of_tweet_id:78 in_reply_to_tweet_id:79 conversation_id:80",
      "from_affiliate_of:x from_affiliate_of:12",
      "to_affiliate_of:x",
      "context:12.34 context:*.56 context:78.*",
      'entity:"Michael Jordan"',
      'place:"New York" place:"New York City" place:p1 place_country:us',
      "point_radius:[2.35 48.86 10km] bounding_box:[2.2 48.8 2.4 48.9]",
      "bounding_box:[179.9 0 -179.9 0.1]",
      "cat sample:1",
      "followers_count:10..100 -followers_count:10..99 min_likes:5",
      "min_replies:1 min_reposts:2 following_count:3 tweets_count:4 listed_count:5",
      "url:example.com/cat url:dog",
      'url:"https://www.example.com/a?b=cat" url_title:cats url_description:"a dog"',
      'url_contains:"/a?" url_contains:example.com/c',
      'bio:"a cat" bio_name:Ann bio_location:"Köln"',
      'cat lang:iw source:"Web App"',
      "cat is:reply is:retweet is:quote is:verified -is:nullcast",
      "cat has:hashtags has:cashtags has:links has:mentions has:media has:video_link has:geo",
      'new york -"new york"',
      'new york -"york new" -"new york"',
      "(a OR b) (c OR d) -a -c",
      "-(a b) c",
      "#cat -cat",
      "is:retweet -has:mentions cat",
      "sluice -#sluice has:hashtags -@heron has:mentions",
      'a "don\'t" gpt-3 👍🏽 ❤️',
      '"AT&amp;T"',
      "t.co/abc",
    ].map((value) => [value]),
  )("%s", (value) => {
    expect(made(value).data.text).not.toBe("")
  })
})

test("a post reads as a person would write it", () => {
  expect(made('"big cat" #Heron @ann has:images lang:en')).toMatchObject({
    data: {
      id,
      text: "big cat #Heron @ann",
      lang: "en",
      entities: {
        hashtags: [{ start: 8, end: 14, tag: "Heron" }],
        mentions: [{ start: 15, end: 19, username: "ann" }],
      },
      attachments: { media_keys: ["3_22"] },
    },
    includes: { media: [{ media_key: "3_22", type: "photo" }] },
  })
})

test("the result says why no post is made", () => {
  expect(reason("cat -cat")).toBe("The rule requires cat and excludes it, so it matches no post.")
  expect(reason("(cat OR dog) -cat -dog")).toContain("requires cat and excludes it")
  expect(reason('embedding:"about birds"')).toContain("embedding: compares meanings")
  expect(reason('embedding:"about birds" OR heron')).toBeUndefined()
  expect(reason("cat lang:en lang:de")).toBe(
    "No post was found that fulfils lang:de together with the rest of the rule.",
  )
  expect(reason('"big cat" -cat')).toContain("-cat")
  expect(reason("from:ann from:bob")).toContain("from:bob")
})

test("a rule with very many branches does not take long", () => {
  const pairs = Array.from({ length: 40 }, (_, index) => `(a${String(index)} OR b${String(index)})`).join(" ")
  made(pairs)
  const startedMs = performance.now()
  expect(reason(`(cat OR dog) ${pairs} -a39 -b39`)).toBeDefined()
  expect(performance.now() - startedMs).toBeLessThan(10_000)
})

test("any rule gets a post that it matches, or a reason why there is none", () => {
  fc.assert(
    fc.property(anyRule, fc.constantFrom<Mode>("stream", "search"), (rule, mode) => {
      const example = examplePost(rule, { id, mode })
      if (example.ok) expect(evaluate(rule, readPost(example.envelope, { mode })), printRule(rule)).toBe(true)
      else expect(example.reason).toMatch(/\.$/)
    }),
    { numRuns: 200 },
  )
})

test("every written rule that parses gets a post, unless two of its parts cannot both hold", () => {
  const failed: string[] = []
  for (const value of writtenRules) {
    const parsed = parseRule(value, { embeddings: true })
    const example = parsed.ok ? examplePost(parsed.rule, { id }) : undefined
    if (example?.ok === false) failed.push(`${value}: ${example.reason}`)
    if (parsed.ok && example?.ok === true) expect(evaluate(parsed.rule, readPost(example.envelope)), value).toBe(true)
  }
  expect(failed).toEqual([
    "point_radius:[-105.27346 40.01924 10.0mi] -has:geo: " +
      "No post was found that fulfils -has:geo together with the rest of the rule.",
    'embedding:"cats that sleep" embedding_threshold:0.5: ' +
      "embedding: compares meanings, so no post can be made of it. Give a text of your own.",
  ])
})

test.runIf(hasSharedData)("every recorded rule that is not contradictory gets a post", () => {
  const values = [
    ...sharedLines("data/rules/rules.ndjson").map((line) => (JSON.parse(line) as { value: string }).value),
    ...sharedLines("data/rules/rules-scale-from.txt").slice(0, 300),
  ]
  const failed: string[] = []
  let count = 0
  for (const value of values) {
    const parsed = parseRule(value, { embeddings: true })
    if (!parsed.ok) continue
    count += 1
    const example = examplePost(parsed.rule, { id })
    if (!example.ok && value.includes("embedding:")) expect(example.reason).toContain("embedding: compares meanings")
    else if (!example.ok) failed.push(`${value}: ${example.reason}`)
    else expect(evaluate(parsed.rule, readPost(example.envelope)), value).toBe(true)
  }
  expect(count).toBeGreaterThan(300)
  expect(failed).toEqual([])
})
