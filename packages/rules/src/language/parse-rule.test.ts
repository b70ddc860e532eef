import fc from "fast-check"
import { expect, test } from "vitest"
import { anyEnvelope, anyRule } from "../testing/any-rule.testing.ts"
import { cpuMs } from "../testing/cpu-time.testing.ts"
import { evaluate } from "../meaning/evaluate.ts"
import { messagesOf, ruleOf } from "../testing/matches.testing.ts"
import { parseRule } from "./parse-rule.ts"
import { readPost } from "../post/post-facts.ts"
import { printRule } from "./print-rule.ts"
import type { Operator, Rule } from "./rule.ts"
import { wordsOf } from "../text/words.ts"

test("AND binds tighter than OR", () => {
  expect(parseRule("apple OR iphone ipad")).toEqual(parseRule("apple OR (iphone ipad)"))
  expect(parseRule("apple iphone OR ipad")).toEqual(parseRule("(apple iphone) OR ipad"))
  expect(parseRule("(apple OR iphone) ipad")).not.toEqual(parseRule("apple OR iphone ipad"))
})

test("a group around one clause or around the whole rule has no effect", () => {
  expect(parseRule("((apple))")).toEqual(parseRule("apple"))
  expect(parseRule("(apple OR (ipad))")).toEqual(parseRule("apple OR ipad"))
})

test("a parenthesis or quotation mark ends a word as a space does", () => {
  expect(parseRule('cat(dog OR "hot dog")fox')).toEqual(parseRule('cat (dog OR "hot dog") fox'))
})

test("white space of any script separates clauses", () => {
  expect(parseRule("cat\u3000dog\u00a0\n\tfox ")).toEqual(parseRule("cat dog fox"))
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

test("a new clause begins after a quoted or bracketed value", () => {
  expect(parseRule('url:"a b"cat')).toEqual(parseRule('url:"a b" cat'))
  expect(parseRule("bounding_box:[0 0 0.1 0.1]cat")).toEqual(parseRule("bounding_box:[0 0 0.1 0.1] cat"))
  expect(parseRule('"a b"~3cat')).toEqual(parseRule('"a b"~3 cat'))
  expect(parseRule('"a b"~3"c d"')).toEqual(parseRule('"a b"~3 "c d"'))
})

test("text in quotes is no operator, and neither is a name without a colon", () => {
  expect(printRule(ruleOf('"from:nasa" sample lang'))).toBe('"from:nasa" sample lang')
  expect(messagesOf("12:30 cat")).toHaveLength(1)
})

test("an even number of dashes is no negation", () => {
  expect(parseRule("cat ---dog")).toEqual(parseRule("cat -dog"))
  expect(parseRule("cat ----dog")).toEqual(parseRule("cat --dog"))
})

/** The tree with a negation around what must be negated, and without samples below an OR. */
function withValidNegations(rule: Rule, isNegated = false, isWithinOr = false): Rule {
  switch (rule.kind) {
    case "any":
      return { kind: "any", rules: rule.rules.map((one) => withValidNegations(one, isNegated, true)) }
    case "all":
      return { kind: "all", rules: rule.rules.map((one) => withValidNegations(one, isNegated, isWithinOr)) }
    case "not":
      return { kind: "not", rule: withValidNegations(rule.rule, !isNegated, isWithinOr) }
    default:
      if (rule.kind === "sample" && isWithinOr) return anchor
      return isValidNegation(rule, isNegated) ? rule : { kind: "not", rule }
  }
}

const anchor: Operator = { kind: "words", name: "keyword", value: "cat", words: wordsOf("cat") }

function isValidNegation(operator: Operator, isNegated: boolean): boolean {
  if (operator.kind === "sample" || operator.kind === "embedding") return !isNegated
  return operator.kind === "key" && operator.key === "nullcast" ? isNegated : true
}

const similarity = (text: string) => (text === "cats" ? 0.6 : 0.3)

test("a rule means the same after printing and parsing", () => {
  fc.assert(
    fc.property(anyRule, fc.array(anyEnvelope, { minLength: 1, maxLength: 8 }), (tree, envelopes) => {
      const rule: Rule = { kind: "all", rules: [withValidNegations(tree), anchor] }
      const again = ruleOf(printRule(rule), { embeddings: true })
      for (const envelope of envelopes) {
        const post = readPost(envelope, { similarity })
        expect(evaluate(again, post)).toBe(evaluate(rule, post))
      }
      for (const envelope of envelopes) {
        // The anchor alone must not decide: this post has it.
        const data = { ...envelope.data, text: `${envelope.data.text} cat` }
        const post = readPost({ ...envelope, data }, { similarity })
        expect(evaluate(again, post)).toBe(evaluate(rule, post))
      }
      expect(ruleOf(printRule(again), { embeddings: true })).toEqual(again)
    }),
    { numRuns: 1500 },
  )
})

test("printing returns the original text, except for spaces and needless parentheses", () => {
  for (const text of [
    'cat (dog OR "hot dog") -fish',
    "cat OR dog fox OR cow -(pig OR hen)",
    "#Cat @Nasa $BTC from:Nasa to:12 retweets_of:x conversation_id:1 url:example.com/a",
    '"hot dog"~3 place:"New York" place_country:us point_radius:[1 2 3km] bounding_box:[0 0 0.1 0.1]',
    'context:1.* entity:"Michael Jordan" followers_count:1..9 min_likes:3 sample:10 -is:nullcast has:geo',
    'bio:"a b" bio_name:x url_title:"say \\"hi\\"" url_contains:/a?b=c source:"Web App" -(cat OR dog -is:reply) -(-fox)',
    String.raw`"say \"hi\"" -(-don't) lang:en is:reply has:media`,
    '🍕 猫 url:"a b"',
  ]) {
    expect(printRule(ruleOf(text))).toBe(text)
  }
})

test("no string makes the parser throw an error", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => {
      expect(typeof parseRule(text).ok).toBe("boolean")
    }),
    { numRuns: 500 },
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
  "[1 2 3km]",
  "~",
  "~3",
  "bounding_box:",
  "point_radius:",
  "sample:",
  "is:nullcast",
  "embedding:",
  "embedding_threshold:",
  "0.4",
  "..",
  "5",
  "context:",
  "followers_count:",
  "*",
  ".",
  "a",
  "b",
  "\u0000",
  "\ud800",
  "🍕",
  "\u200d",
  "\ufe0f",
  "'",
  "and",
]

test("no string of the language's own parts throws an error, and every rejection has a reason", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 30 }), (some) => {
      const text = some.join("")
      for (const options of [{}, { embeddings: true }, { mode: "search" }] as const) {
        const parsed = parseRule(text, options)
        if (parsed.ok) {
          const printed = printRule(parsed.rule)
          expect(printRule(ruleOf(printed, options))).toBe(printed)
        } else {
          expect(parsed.problems.length).toBeGreaterThan(0)
        }
      }
    }),
    { numRuns: 2000 },
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
  "-(a OR ",
  "(a OR -b ",
  '"a b"~3 ',
  '"a b"~3',
  "~",
  "sample:1 -",
  "bounding_box:[1 2 3 4] ",
  "followers_count:1..",
  "embedding:a embedding_threshold:0.1 ",
  "embedding:a embedding_threshold:0.1 (",
  "(embedding:a OR ",
  "cat (",
  'cat "dog" ',
  "url:",
  "a\u0301",
]

test.each(repeated)("100,000 characters of %j… take the time of reading them", (piece) => {
  const text = piece.repeat(large / piece.length)
  // Ten times the worst seen; anything quadratic takes minutes.
  expect(cpuMs(() => parseRule(text, { lengthMax: 2 * large, embeddings: true }))).toBeLessThan(3000)
})

test("an over-long rule of a megabyte is rejected within 50 ms", () => {
  const text = "(".repeat(1_000_000)
  parseRule(text)
  expect(cpuMs(() => parseRule(text))).toBeLessThan(50)
  expect(parseRule(text).ok).toBe(false)
})
