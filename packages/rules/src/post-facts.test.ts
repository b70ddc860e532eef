import fc from "fast-check"
import { expect, test } from "vitest"
import { anyEnvelope, anyRule } from "./any-rule.testing.ts"
import { evaluate } from "./evaluate.ts"
import { explain } from "./explain.ts"
import { readPost } from "./post-facts.ts"
import type { RuleEnvelope } from "./post-facts.ts"
import { RuleMatcher } from "./rule-matcher.ts"

const nonsense = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    undefined,
    5,
    "x",
    true,
    {},
    [],
    [null],
    [5],
    [[]],
    [{}],
    { length: 3 },
    Number.NaN,
    -1,
    "\ud800",
  ),
  fc.anything({ maxDepth: 2 }),
)

/** The envelope with some member, at some depth, replaced. */
function spoiled(value: unknown, path: readonly number[], by: unknown): unknown {
  const [first, ...rest] = path
  if (first === undefined || typeof value !== "object" || value === null) return by
  const keys = Object.keys(value)
  const key = keys[first % Math.max(keys.length, 1)]
  if (key === undefined) return by
  const member: unknown = Reflect.get(value, key)
  const copy: object = Array.isArray(value) ? [...value] : { ...value }
  Reflect.set(copy, key, spoiled(member, rest, by))
  return copy
}

test("a post of wrong types is read, matched and explained without a throw", () => {
  fc.assert(
    fc.property(
      anyEnvelope,
      fc.array(fc.nat(20), { maxLength: 6 }),
      nonsense,
      anyRule,
      (envelope, path, by, rule) => {
        const post = readPost(spoiled(envelope, path, by) as RuleEnvelope)
        const matcher = new RuleMatcher<string>()
        matcher.add("rule", rule)
        const expected = evaluate(rule, post)
        expect(matcher.match(post).length > 0).toBe(expected)
        expect(explain(rule, post).matches).toBe(expected)
      },
    ),
    { numRuns: 3000 },
  )
})

test.each<[string, unknown]>([
  ["null", null],
  ["a number", 5],
  ["no data", {}],
  ["data that is a list", { data: [] }],
  ["no text", { data: { id: "1" } }],
  ["text that is a number", { data: { id: "1", text: 5 } }],
  ["entities that are a number", { data: { id: "1", text: "", entities: 5 } }],
  ["hashtags that are an object", { data: { id: "1", text: "", entities: { hashtags: {} } } }],
  [
    "entities of nulls",
    {
      data: {
        id: "1",
        text: "",
        entities: { hashtags: [null], urls: [null, 5, {}], mentions: [{ username: 5 }] },
      },
    },
  ],
  ["includes that are lists", { data: { id: "1", text: "" }, includes: [] }],
  ["media keys that are numbers", { data: { id: "1", text: "", attachments: { media_keys: [5] } } }],
])("%s has no facts", (_, envelope) => {
  const { passages, has, is, hashtags, mentions } = readPost(envelope as RuleEnvelope)
  expect({
    texts: passages.map((passage) => passage.tokens),
    has: [...has],
    is: [...is],
    hashtags,
    mentions,
  }).toEqual({
    texts: [[]],
    has: [],
    is: [],
    hashtags: [],
    mentions: [],
  })
})

test("a post that reposts or quotes itself is read once", () => {
  const data = { id: "1", text: "cat", referenced_tweets: [{ type: "quoted", id: "1" }] }
  expect(readPost({ data, includes: { tweets: [data] } }).passages.map((passage) => passage.where)).toEqual([
    "text",
    "quoted",
  ])
})

test("includes of many thousands are read in the time of reading them", () => {
  const some = Array.from({ length: 50_000 }, (_, index) => `3_${index}`)
  const start = performance.now()
  const { has } = readPost({
    data: { id: "1", text: "", author_id: "none", attachments: { media_keys: some } },
    includes: {
      media: some.map((key) => ({ media_key: key, type: "video" })),
      users: some.map((id) => ({ id })),
    },
  })
  expect(has.has("images")).toBe(false)
  expect(performance.now() - start).toBeLessThan(2000)
})

test("a text of 300,000 characters is read in the time of reading it", () => {
  for (const piece of [
    "a",
    "a ",
    "猫",
    "🍕",
    "#a",
    "@a",
    "https://t.co/",
    "&amp;",
    "e\u0301",
    "http://a",
    "$a ",
  ]) {
    const start = performance.now()
    readPost({ data: { id: "1", text: piece.repeat(300_000 / piece.length) } })
    expect(performance.now() - start, piece).toBeLessThan(3000)
  }
})
