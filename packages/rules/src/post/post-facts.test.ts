import fc from "fast-check"
import { expect, test } from "vitest"
import { anyEnvelope, anyRule } from "../testing/any-rule.testing.ts"
import { cpuMs } from "../testing/cpu-time.testing.ts"
import { evaluate } from "../meaning/evaluate.ts"
import { explain } from "../meaning/explain.ts"
import { postWith } from "../testing/matches.testing.ts"
import { readPost, type PostFacts, type ReadOptions } from "./post-facts.ts"
import type { RuleEnvelope } from "./post-objects.ts"
import { countNames, keyNames, zones } from "../language/rule.ts"
import { RuleMatcher } from "../matcher/rule-matcher.ts"

/** Everything that operators can ask of a post. */
function factsOf(post: PostFacts) {
  return {
    id: post.id,
    tokens: Object.fromEntries(
      Object.values(zones).map((zone) => [zone, post.passages(zone).flatMap(({ tokens }) => tokens)]),
    ),
    keys: Object.fromEntries(keyNames.map((name) => [name, post.keys(name)])),
    counts: Object.fromEntries(countNames.map((name) => [name, post.count(name)])),
    links: post.linkTexts(),
    location: post.location(),
  }
}

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

test("a post with members of wrong types is read, matched and explained without an error", () => {
  fc.assert(
    fc.property(
      anyEnvelope,
      fc.array(fc.nat(20), { maxLength: 6 }),
      nonsense,
      anyRule,
      fc.constantFrom("stream", "search"),
      (envelope, path, by, rule, mode) => {
        const post = readPost(spoiled(envelope, path, by) as RuleEnvelope, { mode, similarity: () => 0.4 })
        const matcher = new RuleMatcher()
        const number = matcher.add(rule)
        const expected = evaluate(rule, post)
        expect(matcher.match(post)).toEqual(expected ? [number] : [])
        expect(explain(rule, post).matches).toBe(expected)
        expect(() => factsOf(post)).not.toThrow()
      },
    ),
    { numRuns: 1000 },
  )
})

/** A post without facts. */
const silent = factsOf(readPost(postWith("")))

test("an empty post has no values except its id", () => {
  expect(silent.id).toBe("1")
  expect(Object.values(silent.tokens).flat()).toEqual([])
  expect(Object.values(silent.keys).flat()).toEqual([])
  expect(Object.values(silent.counts).filter((count) => count !== undefined)).toEqual([])
  expect([silent.links, silent.location]).toEqual([[], undefined])
})

test.each<[string, unknown]>([
  ["null", null],
  ["a number", 5],
  ["no data", {}],
  ["data that is a list", { data: [] }],
  ["no text", { data: { id: "1" } }],
  ["text that is a number", { data: { id: "1", text: 5 } }],
  ["an id that is a number", { data: { id: 1, text: "" } }],
  ["entities that are a number", { data: { id: "1", text: "", entities: 5 } }],
  ["entities that are a list", { data: { id: "1", text: "", entities: [] } }],
  ["hashtags that are an object", { data: { id: "1", text: "", entities: { hashtags: {} } } }],
  [
    "entities of nulls",
    {
      data: {
        id: "1",
        text: "",
        entities: {
          hashtags: [null, { tag: "" }],
          urls: [null, 5, {}, { url: "" }],
          mentions: [{ username: 5 }],
          annotations: [{ normalized_text: 5 }, null],
        },
      },
    },
  ],
  ["includes that are lists", { data: { id: "1", text: "" }, includes: [] }],
  ["media keys that are numbers", { data: { id: "1", text: "", attachments: { media_keys: [5] } } }],
  ["references that are none", { data: { id: "1", text: "", referenced_tweets: [null, { type: "quoted" }, 5] } }],
  ["a reference to a number", { data: { id: "1", text: "", referenced_tweets: [{ type: "retweeted", id: 5 }] } }],
  ["ids that are empty", { data: { id: "1", text: "", author_id: "", in_reply_to_user_id: "", conversation_id: "" } }],
  ["ids that are numbers", { data: { id: "1", text: "", author_id: 5, in_reply_to_user_id: 5, conversation_id: 5 } }],
  ["a language that is none", { data: { id: "1", text: "", lang: 5, source: null } }],
  ["annotations of nothing", { data: { id: "1", text: "", context_annotations: [null, {}, { domain: { id: 1 } }] } }],
  ["counts that are texts", { data: { id: "1", text: "", public_metrics: { like_count: "5" } } }],
  ["a place that is none", { data: { id: "1", text: "", geo: { place_id: 5, coordinates: "x" } } }],
])("%s gives a post without values", (_, envelope) => {
  const facts = factsOf(readPost(envelope as RuleEnvelope))
  expect({ ...facts, id: "1" }).toEqual(silent)
})

test("if `entities` is not an object, the text is searched for entities", () => {
  for (const entities of [undefined, null, 5, "x", []]) {
    const post = readPost(postWith("#cat @ann $BTC https://example.com", { entities }))
    expect(
      post.keys("hashtag").map(({ key }) => key),
      JSON.stringify(entities),
    ).toEqual(["cat"])
    expect(post.keys("mention").map(({ key }) => key)).toEqual(["ann"])
    expect(post.keys("cashtag").map(({ key }) => key)).toEqual(["btc"])
    expect(post.keys("has").map(({ key }) => key)).toContain("links")
  }
})

test("invalid offsets of a mark are ignored, and the mark is kept", () => {
  const at = (start: unknown, end: unknown) =>
    readPost(postWith("#cat", { entities: { hashtags: [{ tag: "cat", start, end }] } })).keys("hashtag")
  expect(at(0, 4)).toEqual([{ key: "cat", where: "text", start: 0, end: 4 }])
  for (const [start, end] of [
    ["0", "4"],
    [4, 0],
    [2, 2],
    [-1, 4],
    [0.5, 4],
    [0, Infinity],
    [0, undefined],
    [null, null],
  ])
    expect(at(start, end)).toEqual([{ key: "cat", where: "text" }])
})

test("a post that reposts or quotes itself is read once", () => {
  const data = { id: "1", text: "cat", referenced_tweets: [{ type: "quoted", id: "1" }] }
  const post = readPost({ data, includes: { tweets: [data] } })
  expect(post.passages("text").map((passage) => passage.where)).toEqual(["text", "quoted"])
})

test("posts that quote each other, or repost a repost, are read as far as X includes them", () => {
  const quoting = (id: string, quoted: string) => ({
    id,
    text: `post ${id}`,
    referenced_tweets: [{ type: "quoted", id: quoted }],
  })
  const circle = readPost({
    data: quoting("1", "2"),
    includes: { tweets: [quoting("2", "1"), quoting("1", "2")] },
  })
  expect(circle.passages("text").map(({ where }) => where)).toEqual(["text", "quoted"])
  const reposting = (id: string, original: string) => ({
    id,
    text: `RT @a: ${id}`,
    referenced_tweets: [{ type: "retweeted", id: original }],
  })
  const chain = readPost({
    data: reposting("1", "2"),
    includes: { tweets: [reposting("2", "3"), { id: "3", text: "x" }] },
  })
  expect(chain.passages("text").map(({ where }) => where)).toEqual(["text", "original"])
})

/** The envelope, and the paths of its members that were read. */
function watched(envelope: RuleEnvelope): { readonly envelope: RuleEnvelope; readonly seen: Set<string> } {
  const seen = new Set<string>()
  const watch = (value: object, path: string): object =>
    new Proxy(value, {
      get(target, member, receiver) {
        const found: unknown = Reflect.get(target, member, receiver)
        if (typeof member === "symbol" || typeof found === "function" || member === "length") return found
        // Items of a list go by the list's name.
        const at = /^\d+$/.test(member) ? path : path === "" ? member : `${path}.${member}`
        seen.add(at)
        return typeof found === "object" && found !== null ? watch(found, at) : found
      },
    })
  return { envelope: watch(envelope, "") as RuleEnvelope, seen }
}

const full: RuleEnvelope = postWith(
  "a cat #Cat",
  {
    author_id: "10",
    conversation_id: "70",
    lang: "en",
    source: "Web App",
    public_metrics: { like_count: 5 },
    geo: { place_id: "p1" },
    context_annotations: [{ domain: { id: "1" }, entity: { id: "2", name: "Cats" } }],
    entities: {
      hashtags: [{ start: 6, end: 10, tag: "Cat" }],
      urls: [{ expanded_url: "https://example.com" }],
    },
    attachments: { media_keys: ["3_1"] },
    referenced_tweets: [{ type: "quoted", id: "2" }],
  },
  {
    users: [{ id: "10", username: "ann", description: "zoo", public_metrics: { followers_count: 5 } }],
    tweets: [{ id: "2", text: "quoted" }],
    places: [{ id: "p1", name: "Paris", geo: { bbox: [0, 0, 1, 1] } }],
    media: [{ media_key: "3_1", type: "photo" }],
  },
)

test("a field that no rule reads is never read from the envelope", () => {
  const seenBy = (ask: (post: PostFacts) => unknown, options: ReadOptions = {}) => {
    const { envelope, seen } = watched(full)
    ask(readPost(envelope, options))
    return [...seen].filter((path) => path !== "data" && path !== "includes").toSorted()
  }
  expect(seenBy(() => 0)).toEqual([])
  expect(seenBy((post) => post.id)).toEqual(["data.id"])
  expect(seenBy((post) => post.keys("lang"))).toEqual(["data.lang"])
  expect(seenBy((post) => post.keys("source"))).toEqual(["data.source"])
  expect(seenBy((post) => post.keys("conversation_id"))).toEqual(["data.conversation_id"])
  expect(seenBy((post) => post.count("followers_count")).join(" ")).not.toMatch(/text|entities|geo|media|lang/)
  const ofText = seenBy((post) => post.passages("text")).join(" ")
  expect(ofText).toContain("data.text")
  expect(ofText).toContain("includes.tweets")
  expect(ofText).not.toMatch(/users|media$|places|geo|context|lang|metrics|hashtags|author_id/)
  const ofPlace = seenBy((post) => post.location()).join(" ")
  expect(ofPlace).toContain("includes.places.geo.bbox")
  expect(ofPlace).not.toMatch(/text|entities|users|tweets|media/)
})

test("a text is tokenised once, however often it is read", () => {
  const post = readPost(full)
  for (const zone of Object.values(zones)) expect(post.passages(zone)).toBe(post.passages(zone))
  expect(post.linkTexts()).toBe(post.linkTexts())
  for (const name of ["hashtag", "is", "has"] as const) expect(post.keys(name)).toBe(post.keys(name))
})

test("the order in which fields are read does not matter, and the envelope is not changed", () => {
  const frozen = <Value>(value: Value): Value => {
    if (typeof value === "object" && value !== null) Object.values(Object.freeze(value)).forEach(frozen)
    return value
  }
  fc.assert(
    fc.property(
      anyEnvelope,
      fc.shuffledSubarray([...keyNames]),
      fc.constantFrom("stream", "search"),
      (envelope, names, mode) => {
        const expected = factsOf(readPost(envelope, { mode }))
        const post = readPost(frozen(envelope), { mode })
        for (const name of names) expect(post.keys(name)).toEqual(expected.keys[name])
        expect(factsOf(post)).toEqual(expected)
      },
    ),
    { numRuns: 500 },
  )
})

test("the last of two media that are included under one key counts, also after many comparisons", () => {
  const flags = (types: readonly string[], keysCount = 1) =>
    readPost({
      data: { id: "1", text: "", attachments: { media_keys: Array.from({ length: keysCount }, () => "7_1") } },
      includes: { media: types.map((type) => ({ media_key: "7_1", type })) },
    })
      .keys("has")
      .map(({ key }) => key)
  expect(flags(["video", "photo"])).toEqual(["links", "media", "images"])
  expect(flags(["photo", "video"])).toEqual(["links", "media", "video_link"])
  expect(flags(["photo", "video"], 100)).toEqual(["links", "media", "video_link"])
})

test("many thousands of included objects are read in linear time", () => {
  const some = Array.from({ length: 50_000 }, (_, index) => `3_${index}`)
  const post = readPost({
    data: {
      id: "1",
      text: "",
      author_id: "none",
      attachments: { media_keys: some },
      context_annotations: some.map((id) => ({ domain: { id }, entity: { id } })),
    },
    includes: {
      media: some.map((key) => ({ media_key: key, type: "video" })),
      users: some.map((id) => ({ id })),
    },
  })
  expect(cpuMs(() => post.keys("has"))).toBeLessThan(500)
  expect(cpuMs(() => post.keys("context"))).toBeLessThan(500)
  expect(cpuMs(() => post.keys("from"))).toBeLessThan(500)
  expect(post.keys("has").map(({ key }) => key)).toEqual(["links", "media", "video_link"])
})

test.each([
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
  "a.",
  "a.com ",
  "@a.",
  "#a_",
  "👩\u200d",
])("a text of 100,000 characters, %j repeated, is read in linear time", (piece) => {
  const text = piece.repeat(100_000 / piece.length)
  for (const mode of ["stream", "search"] as const) {
    const post = readPost({ data: { id: "1", text } }, { mode })
    // Five times the worst seen; anything quadratic takes minutes.
    expect(cpuMs(() => factsOf(post))).toBeLessThan(1000)
  }
})
