import { paths } from "@sluice/api"
import fc from "fast-check"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { parseJson } from "./strict-json.ts"
import { startTestServer, type TestServer } from "../../../../../test/support/test-server.testing.ts"
import { faultsBody } from "../problem-bodies.testing.ts"

let at: TestServer
beforeAll(async () => {
  at = await startTestServer()
})
afterAll(async () => {
  expect((await at.call(paths.rules)).body).toMatchObject({ meta: { result_count: 0 } })
  await at[Symbol.asyncDispose]()
})

const json = { "content-type": "application/json" }
const bytes = (...values: number[]): Uint8Array<ArrayBuffer> => Uint8Array.from(values)

/** Bodies that are not JSON, and the fault that each is refused with. */
const malformed: readonly (readonly [string, string | Uint8Array<ArrayBuffer>, string])[] = [
  ["white space", " \n ", "it ends where a value is due, at line 2, column 2"],
  ["cut off", '{"add":[', "it ends where a value is due, at line 1, column 9"],
  ["cut off in a name", '{"ad', "a string does not end, at line 1, column 2"],
  ["no colon", '{"add" []}', '"[" stands where a colon is due, at line 1, column 8'],
  ["a comma too many", '{"add":[],}', '"}" stands where a name in double quotes is due, at line 1, column 11'],
  ["a comma too many in a list", "[1,]", '"]" stands where a value is due, at line 1, column 4'],
  ["no comma", '{"a":1 "b":2}', '"\\"" stands where a comma or } is due, at line 1, column 8'],
  ["no comma in a list", "[1 2]", '"2" stands where a comma or ] is due, at line 1, column 4'],
  ["two values", "{}{}", '"{" stands after its end, at line 1, column 3'],
  ["text after it", '{"add":[]} x', '"x" stands after its end, at line 1, column 12'],
  ["single quotes", "{'add':[]}", '"\'" stands where a name in double quotes is due, at line 1, column 2'],
  ["a name without quotes", "{add:[]}", '"a" stands where a name in double quotes is due, at line 1, column 2'],
  ["a comment", '{/* x */"add":[]}', '"/" stands where a name in double quotes is due, at line 1, column 2'],
  ["undefined", '{"add":undefined}', '"u" stands where a value is due, at line 1, column 8'],
  ["NaN", '{"add":NaN}', '"N" stands where a value is due, at line 1, column 8'],
  ["-Infinity", '{"add":-Infinity}', '"-" stands where digits are due, at line 1, column 8'],
  ["True", '{"add":True}', '"T" stands where a value is due, at line 1, column 8'],
  ["leading zeros", '{"a":01}', "a number is malformed, at line 1, column 6"],
  ["a point alone", '{"a":1.}', "a number is malformed, at line 1, column 6"],
  ["a plus", '{"a":+1}', '"+" stands where a value is due, at line 1, column 6'],
  ["hexadecimal", '{"a":0x10}', '"x" stands where a comma or } is due, at line 1, column 7'],
  ["1e400", '{"a":1e400}', "the number 1e400 is out of range, at line 1, column 6"],
  ["-1e400", '{"a":-1e400}', "the number -1e400 is out of range, at line 1, column 6"],
  [
    "an id as a number",
    '{"delete":{"values":[1166916266197536768]}}',
    "the number 1166916266197536768 loses digits (ids are strings, in double quotes), at line 1, column 22",
  ],
  [
    "2^53",
    "9007199254740992",
    "the number 9007199254740992 loses digits (ids are strings, in double quotes), at line 1, column 1",
  ],
  ["a name twice", '{"add":[],\n"add":[]}', 'the name "add" stands twice in one object, at line 2, column 1'],
  [
    "a long name twice, without repeating it all",
    `{"${"n".repeat(100_000)}":1,"${"n".repeat(100_000)}":2}`,
    `the name "${"n".repeat(199)}…" stands twice in one object, at line 1, column 100007`,
  ],
  [
    "a name twice, once escaped",
    String.raw`{"add":[],"\u0061dd":[]}`,
    'the name "add" stands twice in one object, at line 1, column 11',
  ],
  [
    "a name twice, deeper",
    '{"add":[{"value":"cat","value":"dog"}]}',
    'the name "value" stands twice in one object, at line 1, column 24',
  ],
  ["__proto__", '{"__proto__":{"add":[]}}', 'the name "__proto__" is not taken, at line 1, column 2'],
  ["__proto__, escaped", String.raw`{"\u005f_proto__":1}`, 'the name "__proto__" is not taken, at line 1, column 2'],
  ["half a surrogate pair", String.raw`{"a":"\ud800"}`, "a string holds half of a surrogate pair, at line 1, column 6"],
  ["the other half", String.raw`{"a":"\udc00\ud800"}`, "a string holds half of a surrogate pair, at line 1, column 6"],
  ["an unknown escape", String.raw`{"a":"\x41"}`, "an escape is unknown, at line 1, column 7"],
  [
    "a short escape",
    String.raw`{"a":"\u12"}`,
    String.raw`after \u four hexadecimal digits are due, at line 1, column 7`,
  ],
  [
    "a line break in a string",
    '{"a":"b\nc"}',
    "a control character stands in a string without being escaped, at line 1, column 8",
  ],
  [
    "NUL in a string",
    '{"a":"\0"}',
    "a control character stands in a string without being escaped, at line 1, column 7",
  ],
  ["NUL", "\0", '"\\u0000" stands where a value is due, at line 1, column 1'],
  ["a byte order mark", bytes(0xef, 0xbb, 0xbf, 0x7b, 0x7d), "it begins with a byte order mark, at line 1, column 1"],
  ["UTF-16", bytes(0xff, 0xfe, 0x7b, 0, 0x7d, 0), "the bytes are not UTF-8"],
  ["Latin-1", bytes(0x22, 0xe9, 0x22), "the bytes are not UTF-8"],
  ["an encoded surrogate", bytes(0x22, 0xed, 0xa0, 0x80, 0x22), "the bytes are not UTF-8"],
  ["an overlong slash", bytes(0x22, 0xc0, 0xaf, 0x22), "the bytes are not UTF-8"],
  ["a no-break space", "\u00a0{}", '"\u00a0" stands where a value is due, at line 1, column 1'],
  ["depth 65", `${"[".repeat(65)}${"]".repeat(65)}`, "it is nested deeper than 64 levels, at line 1, column 65"],
  ["depth 100,000", "[".repeat(100_000), "it is nested deeper than 64 levels, at line 1, column 65"],
  ["objects of depth 100,000", '{"a":'.repeat(100_000), "it is nested deeper than 64 levels, at line 1, column 321"],
  ["a form", "add=1", '"a" stands where a value is due, at line 1, column 1'],
  ["XML", "<add/>", '"<" stands where a value is due, at line 1, column 1'],
]

describe("a body that is not JSON", () => {
  test.each(malformed)("a body with [%s] is refused with its line and column", async (_name, body, what) => {
    const { status, body: response } = await at.call(paths.rules, { method: "POST", headers: json, body })
    expect(status).toBe(400)
    expect(response).toEqual(faultsBody([{ message: `The body is not JSON that can be read without doubt: ${what}.` }]))
  })
})

test("the output of JSON.stringify is parsed as JSON.parse parses it", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 8 }), (value) => {
      const text = JSON.stringify(value)
      const expected: unknown = JSON.parse(text)
      fc.pre(!/[0-9]{16}/.test(text))
      fc.pre(!text.includes("__proto__") && text.isWellFormed() && !text.includes(String.raw`\ud`))
      expect(readOrRefuse(text)).toEqual({ value: expected })
    }),
  )
})

test("every text is refused, or parsed as JSON.parse parses it", () => {
  const piece = fc.constantFrom(
    ...Array.from('{}[]:,"\\ \n-+.eE0123456789truefalsn'),
    String.raw`\u0041`,
    '"a"',
    "null",
    "1e5",
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const text = pieces.join("")
      const found = readOrRefuse(text)
      const expected = parseOrRefuse(text)
      const mayBeStricter = found === "refused" && /[0-9]{16}|e[+]?[0-9]{3}|(".*").*\1/i.test(text)
      expect(mayBeStricter || JSON.stringify(found) === JSON.stringify(expected)).toBe(true)
    }),
    { numRuns: 5_000 },
  )
})

function parseOrRefuse(text: string): { value: unknown } | "refused" {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    return "refused"
  }
}

function readOrRefuse(text: string): { value: unknown } | "refused" {
  try {
    return { value: parseJson(Buffer.from(text)) }
  } catch {
    return "refused"
  }
}
