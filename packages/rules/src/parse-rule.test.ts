import fc from "fast-check"
import { expect, test } from "vitest"
import { anyEnvelope, anyRule } from "./any-rule.testing.ts"
import { evaluate } from "./evaluate.ts"
import { parseRule } from "./parse-rule.ts"
import { readPost } from "./post-facts.ts"
import { printRule, wordsOf } from "./rule.ts"
import type { Rule } from "./rule.ts"

/** The parsed rule; fails the test when it is refused. */
function ruleOf(text: string): Rule {
  const parsed = parseRule(text)
  if (!parsed.ok) throw new Error(`${text}: ${parsed.problems[0]?.message}`)
  return parsed.rule
}

test("AND binds tighter than OR", () => {
  expect(parseRule("apple OR iphone ipad")).toEqual(parseRule("apple OR (iphone ipad)"))
  expect(parseRule("apple iphone OR ipad")).toEqual(parseRule("(apple iphone) OR ipad"))
  expect(parseRule("(apple OR iphone) ipad")).not.toEqual(parseRule("apple OR iphone ipad"))
})

test("a group around one clause or around the whole rule is not there", () => {
  expect(parseRule("((apple))")).toEqual(parseRule("apple"))
  expect(parseRule("(apple OR (ipad))")).toEqual(parseRule("apple OR ipad"))
})

test("a parenthesis or quotation mark ends a word as a space does", () => {
  expect(parseRule('cat(dog OR "hot dog")fox')).toEqual(parseRule('cat (dog OR "hot dog") fox'))
})

test("any white space separates, of any script", () => {
  expect(parseRule("cat\u3000dog\u00a0\n\tfox ")).toEqual(parseRule("cat dog fox"))
})

test.each<[string, Rule]>([
  ["cat", { kind: "keyword", value: "cat", words: wordsOf("cat") }],
  [
    "don't",
    {
      kind: "keyword",
      value: "don't",
      words: [
        { text: "don", glued: false },
        { text: "t", glued: false },
      ],
    },
  ],
  ["🍕", { kind: "keyword", value: "🍕", words: [{ text: "🍕", glued: false }] }],
  ["猫カフェ", { kind: "keyword", value: "猫カフェ", words: wordsOf("猫カフェ") }],
  [
    '"Hot Dog"',
    {
      kind: "phrase",
      value: "Hot Dog",
      words: [
        { text: "hot", glued: false },
        { text: "dog", glued: false },
      ],
    },
  ],
  [
    String.raw`"say \"hi\" \\ now"`,
    { kind: "phrase", value: String.raw`say "hi" \ now`, words: wordsOf("say hi now") },
  ],
  ['"or"', { kind: "phrase", value: "or", words: [{ text: "or", glued: false }] }],
  ["#Cat", { kind: "hashtag", value: "Cat" }],
  ["＃猫_1", { kind: "hashtag", value: "猫_1" }],
  ["@Nasa", { kind: "mention", value: "Nasa" }],
  ["@alice.example.com", { kind: "mention", value: "alice.example.com" }],
  ["$BTC", { kind: "cashtag", value: "BTC" }],
  ["$BRK.B", { kind: "cashtag", value: "BRK.B" }],
  ["from:nasa", { kind: "from", value: "nasa" }],
  ["From:@Nasa", { kind: "from", value: "Nasa" }],
  ["FROM:12", { kind: "from", value: "12" }],
  ['from:"nasa"', { kind: "from", value: "nasa" }],
  ["from:_We_Rate_Cats", { kind: "from", value: "_We_Rate_Cats" }],
  ["to:nasa", { kind: "to", value: "nasa" }],
  ["retweets_of:nasa", { kind: "retweets_of", value: "nasa" }],
  ["conversation_id:123", { kind: "conversation_id", value: "123" }],
  ["url:example.com", { kind: "url", value: "example.com", words: wordsOf("example com") }],
  ['url:"https://h.com/~bob"', { kind: "url", value: "https://h.com/~bob", words: wordsOf("h com bob") }],
  [
    "url:https://h.com/a:b?c=d",
    { kind: "url", value: "https://h.com/a:b?c=d", words: wordsOf("h com a b c d") },
  ],
])("%s is one operator", (text, rule) => {
  expect(parseRule(text)).toEqual({ ok: true, rule })
})

test.each<[string, Rule]>([
  ["lang:EN", { kind: "lang", value: "EN" }],
  ["lang:zh-TW", { kind: "lang", value: "zh-TW" }],
  ["lang:iw", { kind: "lang", value: "iw" }],
  ["is:retweet", { kind: "is", value: "retweet" }],
  ["is:reply", { kind: "is", value: "reply" }],
  ["is:quote", { kind: "is", value: "quote" }],
  ["Is:Verified", { kind: "is", value: "verified" }],
  ["has:hashtags", { kind: "has", value: "hashtags" }],
  ["has:cashtags", { kind: "has", value: "cashtags" }],
  ["has:links", { kind: "has", value: "links" }],
  ["has:mentions", { kind: "has", value: "mentions" }],
  ["HAS:Media", { kind: "has", value: "media" }],
  ["has:images", { kind: "has", value: "images" }],
])("%s is an operator beside a word", (text, rule) => {
  expect(parseRule(`cat ${text}`)).toEqual({ ok: true, rule: { kind: "all", rules: [ruleOf("cat"), rule] } })
  expect(parseRule(`-${text} cat`)).toEqual({
    ok: true,
    rule: { kind: "all", rules: [{ kind: "not", rule }, ruleOf("cat")] },
  })
})

test.each([
  "cat (lang:en OR has:media)",
  "(cat has:media) OR (dog lang:en)",
  "cat -(dog OR fox)",
  "cat --dog",
  "cat (dog OR -fox)",
  "a cat",
  "-cat dog",
  'the "to be"',
  '"the"',
  "not cat",
  "cat's OR dogs’",
  "AT&T",
  "bun.sh",
  "covid-19",
  "C++",
  "#️⃣ OR *️⃣ OR 1️⃣",
  "🏴󠁧󠁢󠁥󠁮󠁧󠁿 👩‍👩‍👧‍👦 👍🏽",
  "می‌خواهم",
  "oregon android",
])("%s is accepted", (text) => {
  expect(parseRule(text)).toMatchObject({ ok: true })
})

test("dashes are counted", () => {
  expect(parseRule("cat ---dog")).toEqual(parseRule("cat -dog"))
  expect(parseRule("cat ----dog")).toEqual(parseRule("cat --dog"))
})

test("a rule means the same after printing and parsing", () => {
  const anchor: Rule = { kind: "keyword", value: "cat", words: wordsOf("cat") }
  fc.assert(
    fc.property(anyRule, fc.array(anyEnvelope, { minLength: 1, maxLength: 8 }), (tree, envelopes) => {
      const rule: Rule = { kind: "all", rules: [tree, anchor] }
      const again = ruleOf(printRule(rule))
      for (const envelope of envelopes) {
        const post = readPost(envelope)
        expect(evaluate(again, post)).toBe(evaluate(rule, post))
      }
      for (const envelope of envelopes) {
        // The anchor alone must not decide: this post has it.
        const post = readPost({ ...envelope, data: { ...envelope.data, text: `${envelope.data.text} cat` } })
        expect(evaluate(again, post)).toBe(evaluate(rule, post))
      }
      expect(printRule(again)).toBe(printRule(ruleOf(printRule(again))))
    }),
    { numRuns: 2000 },
  )
})

test("printing gives back what was written, up to spaces and needless parentheses", () => {
  for (const text of [
    'cat (dog OR "hot dog") -fish',
    "cat OR dog fox OR cow -(pig OR hen)",
    "#Cat @Nasa $BTC from:Nasa to:12 retweets_of:x conversation_id:1 url:example.com/a",
    String.raw`"say \"hi\"" -(-don't) lang:en is:reply has:media`,
    '🍕 猫 url:"a b"',
  ]) {
    expect(printRule(ruleOf(text))).toBe(text)
  }
})

test("no string makes the parser throw", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => {
      expect(typeof parseRule(text).ok).toBe("boolean")
    }),
    { numRuns: 2000 },
  )
})

const pieces = [
  "cat",
  " ",
  "(",
  ")",
  "-",
  "OR",
  '"',
  "\\",
  "#",
  "@",
  "$",
  ":",
  "from:",
  "is:",
  "has:media",
  "url:",
  "lang:",
  "[",
  "]",
  "~",
  "a",
  "\u0000",
  "\ud800",
  "🍕",
  "\u200d",
  "\ufe0f",
  "'",
  "and",
]

test("no string of the language's own pieces makes it throw, and every refusal has a reason", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 30 }), (some) => {
      const text = some.join("")
      const parsed = parseRule(text)
      if (parsed.ok) expect(parseRule(printRule(parsed.rule))).toMatchObject({ ok: true })
      else expect(parsed.problems.length).toBeGreaterThan(0)
    }),
    { numRuns: 5000 },
  )
})

const large = 100_000
const repeated = [
  "(",
  "()",
  ")",
  "-",
  "-(",
  '"',
  "'",
  "a",
  "a:",
  "#",
  "@a.",
  "OR ",
  "cat OR ",
  "is:x ",
  "\\",
  "point_radius:[",
  "\u0301",
  "[\ufe0f",
  "👩\u200d",
  "猫",
  "-a OR ",
  "(a OR ",
  "(a OR -b ",
  "cat (",
  'cat "dog" ',
  "url:",
  "a\u0301",
]

test.each(repeated)("100,000 characters of %j… take the time of reading them", (piece) => {
  const text = piece.repeat(large / piece.length)
  const start = performance.now()
  parseRule(text, { lengthMax: 2 * large })
  // Ten times the worst seen; anything quadratic takes minutes.
  expect(performance.now() - start).toBeLessThan(3000)
})

test("an over-long rule of a megabyte is refused within 50 ms", () => {
  const text = "(".repeat(1_000_000)
  parseRule(text)
  const start = performance.now()
  expect(parseRule(text).ok).toBe(false)
  expect(performance.now() - start).toBeLessThan(50)
})
