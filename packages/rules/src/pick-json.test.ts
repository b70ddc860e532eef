import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { cpuMs } from "./cpu-time.testing.ts"
import { pickJson } from "./pick-json.ts"
import type { Wanted } from "./pick-json.ts"

const shared = process.env["SLUICE_SHARED"] ?? fileURLToPath(new URL("../../../../shared", import.meta.url))
const isThere = existsSync(join(shared, "data/x/posts.ndjson"))
const isSkipped = !isThere && process.env["CI"] === undefined
if (isSkipped)
  console.warn(`skipped: no real posts in ${shared}; set SLUICE_SHARED to the folder that holds data/`)

/** The slow, obvious definition. */
function pickByHand(value: unknown, wanted: Wanted): unknown {
  if (wanted === true || typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map((item) => pickByHand(item, wanted))
  const members = Object.entries(value).filter(
    ([name]) => name !== "__proto__" && Object.hasOwn(wanted, name),
  )
  return Object.fromEntries(members.map(([name, member]) => [name, pickByHand(member, wanted[name] ?? true)]))
}

/**
 * Names that are the beginnings of others, of one length, empty, odd, or known to every object. A lone
 * backslash is not among them: after it, JSON.parse of V8 14 takes other names of one escaped character for
 * it, and is no measure. Source: https://github.com/nodejs/node/issues/63785
 */
const names = [
  "id",
  "i",
  "ids",
  "di",
  "",
  'a"b',
  "\\\\",
  "é",
  "👍",
  "\ud800",
  "toString",
  "__proto__",
  "1",
  "\n",
]
const anyName = fc
  .oneof(fc.constantFrom(...names), fc.string({ unit: "binary", maxLength: 4 }))
  .filter((name) => name !== "\\")

/** A spoilt text may hold the lone backslash again. */
const loneBackslash = /"(?:\\\\|\\u005c)"/i

const anyWanted = fc.letrec<{ wanted: Wanted; members: { [member: string]: Wanted } }>((tie) => ({
  wanted: fc.oneof({ depthSize: "small" }, fc.constant<Wanted>(true), tie("members")),
  members: fc.dictionary(anyName, tie("wanted"), { maxKeys: 6 }),
})).wanted

const anySpace = fc.oneof(
  { weight: 4, arbitrary: fc.constant("") },
  fc.string({ unit: fc.constantFrom(" ", "\t", "\n", "\r"), maxLength: 3 }),
)

/** A string as JSON, with more escapes than there need to be. */
const written = (text: fc.Arbitrary<string>) =>
  fc.tuple(text, fc.array(fc.boolean(), { minLength: 1, maxLength: 5 })).map(([units, escaped]) => {
    const codes = Array.from({ length: units.length }, (_, index) =>
      escaped[index % escaped.length] === true
        ? `\\u${units.charCodeAt(index).toString(16).padStart(4, "0")}`
        : JSON.stringify(units[index]).slice(1, -1),
    )
    return `"${codes.join("")}"`
  })

const anyText = fc.oneof(
  fc.constantFrom("", "{", "}]", '"', "\\", '\\"', "\\\\", 'ends in \\"', "/", "\u2028", "👍🏽", "\ud800", ","),
  fc.string({ unit: "binary", maxLength: 12 }),
)

const anyNumber = fc.oneof(
  fc.constantFrom("0", "-0", "1e5", "1E+400", "-1.5e-7", "12345678901234567890", "0.1", "5e-324"),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
)

const anyJson = fc.letrec<{ value: string; object: string; list: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: "medium" },
    fc.constantFrom("true", "false", "null"),
    anyNumber,
    written(anyText),
    tie("list"),
    { weight: 3, arbitrary: tie("object") },
  ),
  list: fc
    .tuple(anySpace, fc.array(fc.tuple(anySpace, tie("value"), anySpace), { maxLength: 4 }))
    .map(
      ([space, items]) => `[${items.length === 0 ? space : items.map((item) => item.join("")).join(",")}]`,
    ),
  object: fc
    .tuple(
      anySpace,
      fc.array(fc.tuple(anySpace, written(anyName), anySpace, anySpace, tie("value"), anySpace), {
        maxLength: 6,
      }),
    )
    .map(([space, members]) => {
      const inside = members.map(([a, name, b, c, value, d]) => `${a}${name}${b}:${c}${value}${d}`)
      return `{${members.length === 0 ? space : inside.join(",")}}`
    }),
}))

const anyDocument = fc.tuple(anySpace, anyJson.value, anySpace).map((parts) => parts.join(""))

/** SyntaxError is the one way to refuse. */
function picked(text: string, wanted: Wanted): unknown {
  try {
    return pickJson(wanted)(text)
  } catch (error) {
    expect(error).toBeInstanceOf(SyntaxError)
    return undefined
  }
}

/** Of processor time: linear work on a megabyte is done by then; quadratic is not. */
const promptMs = 2000

function expectPrompt(work: () => void): void {
  expect(cpuMs(work)).toBeLessThan(promptMs)
}

test("only the members asked for are there, in lists of every item", () => {
  const text = '{"a":1,"b":{"c":"x","d":[]},"e":[{"a":1,"c":2},5,[{"c":null}]]}'
  expect(pickJson({ b: { c: true }, e: { c: true } })(text)).toStrictEqual({
    b: { c: "x" },
    e: [{ c: 2 }, 5, [{ c: null }]],
  })
  expect(pickJson({})(text)).toStrictEqual({})
  expect(pickJson(true)(text)).toStrictEqual(JSON.parse(text))
})

test("a name that is written with escapes is the name it stands for", () => {
  expect(pickJson({ id: true })(String.raw`{"\u0069d":"\u0031","\u0069":2}`)).toStrictEqual({ id: "1" })
  const odd = { "\\": true, '"': true, "\n": true } as const
  expect(pickJson(odd)(String.raw`{"\\":1,"\u0022":2,"\n":3,"\u0069":4}`)).toStrictEqual({
    "\\": 1,
    '"': 2,
    "\n": 3,
  })
})

test("of a member that repeats, the last one counts, in whatever way it is written", () => {
  expect(pickJson({ id: true })(String.raw`{"id":1,"\u0069d":2}`)).toStrictEqual({ id: 2 })
  expect(pickJson({ a: { b: true } })('{"a":{"b":1},"a":{"c":2}}')).toStrictEqual({ a: {} })
})

test("no text sets a prototype", () => {
  const wanted = JSON.parse('{"__proto__":true,"a":true}') as Wanted
  const result = pickJson(wanted)('{"__proto__":{"polluted":1},"a":{"__proto__":{"polluted":1}}}')
  expect(Object.keys(result as object)).toEqual(["a"])
  expect(Object.getPrototypeOf(result)).toBe(Object.prototype)
  expect((result as { polluted?: unknown }).polluted).toBeUndefined()
  expect(JSON.stringify(result)).toBe('{"a":{"__proto__":{"polluted":1}}}')
})

test("names that every object knows are not wanted unless they are asked for", () => {
  expect(pickJson({ a: true })('{"toString":1,"constructor":2}')).toStrictEqual({})
  const result = pickJson({ toString: true } as unknown as Wanted)('{"toString":1}')
  expect(Object.entries(result as object)).toEqual([["toString", 1]])
})

test.for([
  "",
  " ",
  "{",
  '{"a"',
  '{"a":',
  '{"a":1',
  '{"a":1,',
  '{"a":"',
  '{"a":"\\',
  '{"b":"\\"}',
  '{"b":[}',
  "{a:1}",
  '{"a":1 "b":2}',
  '{"a":1}}',
  '{"a":tru}',
  "[",
  "[1 2]",
  "[1,]",
  "[,]",
  '{"a":1,}',
  '{"a":01}',
  "\u00a0{}",
  '{"a":\u00a01}',
  "undefined",
])("%j is refused", (text) => {
  expect(() => pickJson({ a: true })(text)).toThrow(SyntaxError)
})

test("it is JSON.parse without the unwanted members", () => {
  fc.assert(
    fc.property(anyDocument, anyWanted, (text, wanted) => {
      expect(pickJson(wanted)(text)).toStrictEqual(pickByHand(JSON.parse(text), wanted))
    }),
    { numRuns: 2000 },
  )
})

test("a text that was cut off or spoilt is read to some end, or refused with SyntaxError", () => {
  const anySpoiling = fc.record({
    at: fc.nat(),
    removed: fc.nat({ max: 4 }),
    added: fc.string({
      unit: fc.constantFrom('"', "\\", "{", "}", "[", "]", ",", ":", "0", "\u0000", "\ud800", " "),
      maxLength: 3,
    }),
    isCut: fc.boolean(),
  })
  fc.assert(
    fc.property(anyDocument, anyWanted, anySpoiling, (text, wanted, { at, removed, added, isCut }) => {
      const start = at % (text.length + 1)
      const spoilt = text.slice(0, start) + (isCut ? "" : added + text.slice(start + removed))
      fc.pre(!loneBackslash.test(spoilt))
      const result = picked(spoilt, wanted)
      let expected: unknown
      try {
        expected = JSON.parse(spoilt)
      } catch {
        return
      }
      expect(result).toStrictEqual(pickByHand(expected, wanted))
    }),
    { numRuns: 2000 },
  )
})

describe("a megabyte", () => {
  const wanteds: readonly Wanted[] = [true, {}, { a: true }, { b: true }, { a: { a: { a: true } } }]

  test.for<readonly [string, string]>([
    ["of open lists", "["],
    ["of open objects", '{"a":'],
    ["of lists of objects", '[{"a":'],
    ["of open strings", '{"a":"'],
    ["of backslashes", "\\"],
    ["of quotes", '"'],
    ["of escaped quotes", '\\"'],
    ["of members", '"a":"\\\\",'],
    ["of empty lists", "[],"],
    ["of spaces", " "],
    ["of digits", "1"],
  ])("%s is refused at once", ([, piece]) => {
    const pieces = piece.repeat(Math.ceil(2 ** 20 / piece.length))
    for (const wanted of wanteds)
      for (const start of ["", '{"a":', '{"b":"'])
        expectPrompt(() => expect(() => pickJson(wanted)(`${start}${pieces}!`)).toThrow(SyntaxError))
  })

  test("of lists in lists is read as deep as it goes", () => {
    const depth = 2 ** 19
    expectPrompt(() => {
      let list = pickJson({ a: true })("[".repeat(depth) + "]".repeat(depth)) as readonly unknown[]
      let found = 1
      for (; list.length === 1; found++) list = list[0] as readonly unknown[]
      expect(found).toBe(depth)
      expect(list).toEqual([])
    })
  })

  test("of objects in objects is stepped over, or taken whole", () => {
    const depth = 2 ** 17
    const text = `{"a":${'{"a":'.repeat(depth)}1${"}".repeat(depth)},"b":2}`
    expectPrompt(() => {
      expect(pickJson({ b: true })(text)).toStrictEqual({ b: 2 })
      expect(pickJson({ a: { b: true }, b: true })(text)).toStrictEqual({ a: {}, b: 2 })
      let value = pickJson({ a: { a: true } })(text)
      let found = 0
      for (; typeof value === "object"; found++) value = (value as { a?: unknown }).a
      expect(found).toBe(depth + 1)
      expect(value).toBe(1)
    })
  })

  test("of members that repeat, escapes and all, is read in one go", () => {
    const text = `{${'"a":"x\\\\","\\u0061":["\\""],'.repeat(2 ** 15)}"a":"last"}`
    expectPrompt(() => {
      expect(pickJson({ a: true })(text)).toStrictEqual({ a: "last" })
      expect(pickJson({ b: true })(text)).toStrictEqual({})
    })
  })
})

describe.skipIf(isSkipped)("real envelopes", () => {
  const data = {
    id: true,
    text: true,
    author_id: true,
    created_at: true,
    lang: true,
    conversation_id: true,
    in_reply_to_user_id: true,
    entities: true,
    attachments: { media_keys: true },
    referenced_tweets: true,
    geo: true,
    source: true,
  } as const
  const users = { id: true, username: true, name: true, verified: true } as const
  const tweets = {
    id: true,
    text: true,
    author_id: true,
    entities: true,
    referenced_tweets: true,
    attachments: true,
    in_reply_to_user_id: true,
    geo: true,
  } as const
  const media = { media_key: true, type: true } as const
  const lean: Wanted = { data, includes: { users, tweets, media } }
  const full: Wanted = {
    data: { ...data, context_annotations: true, public_metrics: true },
    includes: {
      users: { ...users, description: true, location: true, public_metrics: true },
      tweets,
      media,
      places: true,
    },
  }
  const mentions: Wanted = { data: { entities: { mentions: { username: true } } } }

  test.for([
    ["everything that rules may ask", full],
    ["what most rules ask", lean],
    ["members three levels down", mentions],
  ] as const)("%s is read from all of them as JSON.parse reads it", ([, wanted]) => {
    const pick = pickJson(wanted)
    const lines = readFileSync(join(shared, "data/x/posts.ndjson"), "utf8").trim().split("\n")
    expect(lines.length).toBeGreaterThan(2000)
    for (const line of lines) expect(pick(line)).toStrictEqual(pickByHand(JSON.parse(line), wanted))
  })

  test("cut off anywhere, an envelope is refused", () => {
    const pick = pickJson(lean)
    const [line = ""] = readFileSync(join(shared, "data/x/posts.ndjson"), "utf8").split("\n")
    expect(line.length).toBeGreaterThan(500)
    for (let length = 0; length < line.length; length++)
      expect(() => pick(line.slice(0, length))).toThrow(SyntaxError)
  })
})
