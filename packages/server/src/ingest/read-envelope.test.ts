import fc from "fast-check"
import { expect, test } from "vitest"
import { readEnvelope } from "./read-envelope.ts"

const nowMs = Date.UTC(2026, 2, 14)
const utf8 = (bytes: Uint8Array): string => Buffer.from(bytes).toString()
const created = '"created_at":"2026-03-14T09:26:53.000Z"'

/** A line, and the title and the beginning of the detail of its rejection. */
const rejected: readonly (readonly [name: string, line: string, title: string, detail: string])[] = [
  ["not JSON", "hello", "Invalid JSON", "The line is not JSON: "],
  ["cut off", '{"data":{"id":"1","text":"a', "Invalid JSON", "The line is not JSON: "],
  ["two documents", "{}{}", "Invalid JSON", "The line is not JSON: "],
  ["single quotes", "{'data':1}", "Invalid JSON", "The line is not JSON: "],
  ["a trailing comma", '{"data":{"id":"1","text":"a"},}', "Invalid JSON", "The line is not JSON: "],
  ["NaN", '{"data":NaN}', "Invalid JSON", "The line is not JSON: "],
  ["a raw control character", '{"data":{"id":"1","text":"a\u0001"}}', "Invalid JSON", "The line is not JSON: "],
  ["an array", '[{"data":{}}]', "Invalid Envelope", "The line is an array, and must be an object."],
  ["a string", '"post"', "Invalid Envelope", "The line is a string, and must be an object."],
  ["a number", "5", "Invalid Envelope", "The line is a number, and must be an object."],
  ["null", "null", "Invalid Envelope", "The line is null, and must be an object."],
  ["no data", "{}", "Invalid Envelope", "`data` is missing. An envelope is"],
  ["a bare post", '{"id":"1","text":"a"}', "Invalid Envelope", "`data` is missing. An envelope is"],
  ["data null", '{"data":null}', "Invalid Envelope", "`data` is missing. An envelope is"],
  ["data an array", '{"data":[{"id":"1"}]}', "Invalid Envelope", "`data` is an array, and must be an object."],
  ["data text", '{"data":"x"}', "Invalid Envelope", "`data` is a string, and must be an object."],
  ["includes an array", '{"data":{"id":"1","text":"a"},"includes":[]}', "Invalid Envelope", "`includes` is an array"],
  ...[
    ["{}", "is an object, and must be an array of objects."],
    ['"x"', "is a string, and must be an array of objects."],
    ["1", "is a number, and must be an array of objects."],
    ["true", "is a boolean, and must be an array of objects."],
    ["[null]", "must hold objects only, and holds null."],
    ['[{"id":"7"},"x"]', "must hold objects only, and holds a string."],
    ["[[]]", "must hold objects only, and holds an array."],
  ].flatMap(([value = "", complaint = ""]) =>
    ["users", "tweets", "media", "made_up"].map((name): [string, string, string, string] => [
      `includes.${name} ${value}`,
      `{"data":{"id":"1","text":"a"},"includes":{"places":[],"${name}":${value}}}`,
      "Invalid Envelope",
      `\`includes.${name}\` ${complaint}`,
    ]),
  ),
  ["no id", '{"data":{"text":"a"}}', "Invalid Post", "`data.id` is missing."],
  [
    "id a number",
    '{"data":{"id":1166895166390583299,"text":"a"}}',
    "Invalid Post",
    "`data.id` is a number, and must be a string",
  ],
  ["id null", '{"data":{"id":null,"text":"a"}}', "Invalid Post", "`data.id` is missing."],
  ["id empty", '{"data":{"id":"","text":"a"}}', "Invalid Post", "`data.id` must be a string of 1 to 19 decimal digits"],
  ["id negative", '{"data":{"id":"-1","text":"a"}}', "Invalid Post", "`data.id` must be a string of 1 to 19"],
  ["id hexadecimal", '{"data":{"id":"0x1","text":"a"}}', "Invalid Post", "`data.id` must be a string of 1 to 19"],
  [
    "id of 20 digits",
    '{"data":{"id":"11111111111111111111","text":"a"}}',
    "Invalid Post",
    "`data.id` must be a string of 1 to 19",
  ],
  [
    "id over 63 bits",
    '{"data":{"id":"9223372036854775808","text":"a"}}',
    "Invalid Post",
    "`data.id` must be a string of 1 to 19",
  ],
  [
    "id with a leading zero",
    '{"data":{"id":"01","text":"a"}}',
    "Invalid Post",
    "`data.id` must be a string of 1 to 19",
  ],
  ["id in other digits", '{"data":{"id":"١٢","text":"a"}}', "Invalid Post", "`data.id` must be a string of 1 to 19"],
  ["no text", '{"data":{"id":"1"}}', "Invalid Post", "`data.text` is missing."],
  ["text null", '{"data":{"id":"1","text":null}}', "Invalid Post", "`data.text` is missing."],
  ["text a number", '{"data":{"id":"1","text":5}}', "Invalid Post", "`data.text` is a number, and must be a string."],
  [
    "text an array",
    '{"data":{"id":"1","text":["a"]}}',
    "Invalid Post",
    "`data.text` is an array, and must be a string.",
  ],
  [
    "half a surrogate pair",
    '{"data":{"id":"1","text":"a\\ud83d"}}',
    "Invalid Post",
    "`data.text` holds half of a surrogate pair.",
  ],
  [
    "a text too long",
    `{"data":{"id":"1","text":"${"é".repeat(25_001)}"}}`,
    "Invalid Post",
    "`data.text` has 25001 characters, and may have at most 25000.",
  ],
  ["author a number", '{"data":{"id":"1","text":"a","author_id":5}}', "Invalid Post", "`data.author_id` is a number"],
  [
    "author a name",
    '{"data":{"id":"1","text":"a","author_id":"nasa"}}',
    "Invalid Post",
    "`data.author_id` must be a string of",
  ],
  [
    "reply to an object",
    '{"data":{"id":"1","text":"a","in_reply_to_user_id":{}}}',
    "Invalid Post",
    "`data.in_reply_to_user_id` must be",
  ],
  [
    "time a number",
    '{"data":{"id":"1","text":"a","created_at":1700000000}}',
    "Invalid Post",
    "`data.created_at` must be an RFC 3339 time",
  ],
  [
    "time of v1.1",
    '{"data":{"id":"1","text":"a","created_at":"Wed Oct 10 20:19:24 +0000 2018"}}',
    "Invalid Post",
    "`data.created_at` must be",
  ],
  [
    "time without zone",
    '{"data":{"id":"1","text":"a","created_at":"2026-03-14T09:26:53"}}',
    "Invalid Post",
    "`data.created_at` must be",
  ],
  [
    "a day that is not",
    '{"data":{"id":"1","text":"a","created_at":"2026-13-40T09:26:53Z"}}',
    "Invalid Post",
    "`data.created_at` must be",
  ],
  [
    "a day that no February has",
    '{"data":{"id":"1","text":"a","created_at":"2026-02-30T09:26:53Z"}}',
    "Invalid Post",
    "`data.created_at` must be",
  ],
  [
    "an hour that no day has",
    '{"data":{"id":"1","text":"a","created_at":"2026-02-20T24:00:00Z"}}',
    "Invalid Post",
    "`data.created_at` must be",
  ],
  ["id twice", '{"data":{"id":"102","id":"103","text":"cat"}}', "Invalid Envelope", "`data.id` stands twice."],
  [
    "id twice, once escaped",
    '{"data":{"id":"102","text":"a \\"quoted\\" cat", "\\u0069d" :"102"}}',
    "Invalid Envelope",
    "`data.id` stands twice.",
  ],
  [
    "id twice, once null",
    '{"data":{"id":null,"id":"103","text":"cat"}}',
    "Invalid Envelope",
    "`data.id` stands twice.",
  ],
  [
    "data twice",
    '{"data":{"id":"102","text":"cat"},"data":{"id":"103","text":"cat"}}',
    "Invalid Envelope",
    "`data` stands twice.",
  ],
  [
    "includes twice",
    '{"includes":{},"data":{"id":"102","text":"cat"},"includes":{}}',
    "Invalid Envelope",
    "`includes` stands twice.",
  ],
  [
    "references an object",
    '{"data":{"id":"1","text":"a","referenced_tweets":{}}}',
    "Invalid Post",
    "`data.referenced_tweets` must be an array.",
  ],
  [
    "a reference without id",
    '{"data":{"id":"1","text":"a","referenced_tweets":[{"type":"quoted"}]}}',
    "Invalid Post",
    "`data.referenced_tweets` must hold",
  ],
  [
    "a reference null",
    '{"data":{"id":"1","text":"a","referenced_tweets":[null]}}',
    "Invalid Post",
    "`data.referenced_tweets` must hold",
  ],
  [
    "history a string",
    '{"data":{"id":"1","text":"a","edit_history_tweet_ids":"1"}}',
    "Invalid Post",
    "`data.edit_history_tweet_ids` must be",
  ],
  [
    "history of numbers",
    '{"data":{"id":"1","text":"a","edit_history_tweet_ids":[1]}}',
    "Invalid Post",
    "`data.edit_history_tweet_ids` must be",
  ],
]

test.each(rejected)("a line is rejected with a reason: %s", (_, line, title, detail) => {
  const read = readEnvelope(line, nowMs)
  expect(read).toMatchObject({ ok: false, title })
  expect(read.ok ? "" : read.detail).toContain(detail)
})

test("null members are removed, however deep", () => {
  const read = readEnvelope(
    `{"data":{"id":"5","text":"null: null",${created},"geo":null,"entities":{"urls":null,"hashtags":[{"tag":"a","x": null}]}}}`,
    nowMs,
  )
  expect(read.ok && JSON.parse(utf8(read.post.envelope))).toEqual({
    data: {
      id: "5",
      text: "null: null",
      created_at: "2026-03-14T09:26:53.000Z",
      entities: { hashtags: [{ tag: "a" }] },
    },
  })
})

test("null members are cut out of the text, and everything around them is kept byte for byte", () => {
  const line = `{ "data":{"geo":null , "id":"5","n":1.10,"text":"\\u00e9\\/",${created},"a":[null,{"b": null}],"lang":null}}`
  const read = readEnvelope(line, nowMs)
  expect(read.ok && utf8(read.post.envelope)).toBe(
    `{ "data":{ "id":"5","n":1.10,"text":"\\u00e9\\/",${created},"a":[null,{}]}}`,
  )
  expect(read.ok && read.envelope).toEqual(read.ok && JSON.parse(utf8(read.post.envelope)))
})

test("64 levels are accepted, and more are rejected however many they are", () => {
  const deep = (brackets: number, members: string) =>
    `{"data":{"id":"5","text":"a"${members},"x":${"[".repeat(brackets)}${"]".repeat(brackets)}}}`
  for (const members of ["", `,${created}`, ',"geo":null']) {
    expect(readEnvelope(deep(62, members), nowMs).ok).toBe(true)
    for (const brackets of [63, 120_000]) {
      expect(readEnvelope(deep(brackets, members), nowMs)).toMatchObject({
        ok: false,
        title: "Invalid Envelope",
        detail: "The line is nested deeper than 64 levels.",
      })
    }
  }
  const objects = `${'{"a":'.repeat(40_000)}1${"}".repeat(40_000)}`
  expect(readEnvelope(objects, nowMs)).toMatchObject({ detail: "The line is nested deeper than 64 levels." })
})

test.each(["1e999", "-1e999", "[1,[2e400]]", `1${"0".repeat(400)}`])(
  "a number that no reader can hold is refused: %s",
  (number) => {
    for (const members of ["", `,${created}`]) {
      expect(readEnvelope(`{"data":{"id":"5","text":"a"${members},"n":${number}}}`, nowMs)).toMatchObject({
        ok: false,
        title: "Invalid Envelope",
        detail: "The line holds a number beyond 1.7976931348623157e308.",
      })
    }
  },
)

test("a repeated name is rejected however deep, with its path of 200 characters at most", () => {
  const post = '"id":"5","text":"a"'
  const paths: readonly (readonly [line: string, path: string])[] = [
    [`{"data":{${post},"geo":{"id":"1","data":{"id":"2","id" :"3"}}}}`, "data.geo.data.id"],
    [
      `{"data":{${post}},"includes":{"users":[{"id":"7"},{"id":"8","name":1,"\\u006eame":2}]}}`,
      "includes.users.1.name",
    ],
    [`{"data":{${post},"a":{"__proto__":1,"__proto__":2}}}`, "data.a.__proto__"],
    [`{"data":{${post},"a":{"x":null,"x":null}}}`, "data.a.x"],
  ]
  for (const [line, path] of paths) {
    expect(readEnvelope(line, nowMs)).toMatchObject({ ok: false, detail: `\`${path}\` stands twice.` })
  }
  const long = "x".repeat(100_000)
  const read = readEnvelope(`{"data":{${post},"${long}":1,"${long}":2}}`, nowMs)
  expect(read.ok ? "" : read.detail).toBe(`\`data.${"x".repeat(194)}…\` stands twice.`)
})

test("twenty thousand names of one object are read once", () => {
  const names = Array.from({ length: 20_000 }, (_, index) => `"n${index}":1`)
  const line = `{"data":{"id":"5","text":"a",${created},${names.join(",")}}}`
  expect(readEnvelope(line, nowMs)).toMatchObject({ ok: true, post: { envelope: Buffer.from(line) } })
  const repeated = `{"data":{"id":"5","text":"a",${names.join(",")},"n7":2}}`
  expect(readEnvelope(repeated, nowMs)).toMatchObject({ ok: false, detail: "`data.n7` stands twice." })
})

test("line breaks within a line are white space, and none is kept", () => {
  const line = `{"data":\r{"id":"5",\r"text":"a\\r",${created},"entities":{\r"urls":\r[1,\r2]\r}}\r}`
  const read = readEnvelope(line, nowMs)
  expect(read.ok && utf8(read.post.envelope)).toBe(line.replaceAll("\r", " "))
  expect(readEnvelope('{"data":{"id":"5","text":"a\rb"}}', nowMs)).toMatchObject({ title: "Invalid JSON" })
})

test("a post without a time gets one as its last member, and the rest is kept byte for byte", () => {
  const post = String.raw`{"id":"20","text":"caf\u00e9 \/","n":12345678901234567890,"f":1.10,"e":1E5}`
  const read = readEnvelope(`{"includes":{"places":[{"x":0.10}]},"data":${post}}`, nowMs)
  const time = new Date(nowMs).toISOString()
  const timed = `${post.slice(0, -1)},"created_at":"${time}"}`
  expect(read.ok && utf8(read.post.envelope)).toBe(`{"includes":{"places":[{"x":0.10}]},"data":${timed}}`)
  expect(read.ok && read.envelope.data.created_at).toBe(time)
})

test("a user without a name gets the user name as its name, and the rest is kept byte for byte", () => {
  const users = String.raw`{"id":"7","username":"wr\u0065n","n":1.10},{"id":"8","username":"owl","name":""},{"id":"9","name":null,"username":"jay"},{"id":"6"}`
  const read = readEnvelope(
    `{"data":{"id":"5","text":"a",${created}},"includes":{"users":[${users}],"tweets":[{"n":1.10}]}}`,
    nowMs,
  )
  const named = String.raw`{"id":"7","username":"wr\u0065n","n":1.10,"name":"wr\u0065n"},{"id":"8","username":"owl","name":""},{"id":"9","username":"jay","name":"jay"},{"id":"6"}`
  expect(read.ok && utf8(read.post.envelope)).toBe(
    `{"data":{"id":"5","text":"a",${created}},"includes":{"users":[${named}],"tweets":[{"n":1.10}]}}`,
  )
  expect(read.ok && read.envelope).toEqual(read.ok && JSON.parse(utf8(read.post.envelope)))
})

test("any envelope is kept but for the documented edits, or is rejected for a repeated name", () => {
  const name = fc.constantFrom("a", "b", "id", "name", "é\n", "__proto__", "null")
  const { value } = fc.letrec<{ value: Tree }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom<Tree>("null", "1.10", '":null"', String.raw`"\\"`, "12345678901234567890", "true"),
      fc.array(tie("value"), { maxLength: 3 }).map((items): Tree => ({ kind: "array", items })),
      fc.array(fc.tuple(name, tie("value")), { maxLength: 3 }).map((members): Tree => ({ kind: "object", members })),
    ),
  }))
  const space = fc.constantFrom("", " ", "\t\t")
  fc.assert(
    fc.property(value, space, fc.constantFrom("", `,${created}`), (tree, gap, time) => {
      const lineOf = (x: string): string => `{"data":{"id":"5","text":"a"${time},"x":${x}}}`
      const read = readEnvelope(lineOf(textOf(tree, gap)), nowMs)
      expect(read.ok).toBe(!hasRepeats(tree))
      if (!read.ok) return
      const kept = JSON.parse(utf8(read.post.envelope)) as { data: { x?: unknown } }
      const expected = JSON.parse(lineOf(textOf(withoutNulls(tree), gap))) as { data: { x?: unknown } }
      if (tree === "null") delete expected.data.x
      expect(kept.data).toEqual({ ...expected.data, created_at: kept.data["created_at" as never] })
      const digits = (text: string): number => text.split("12345678901234567890").length
      expect(digits(utf8(read.post.envelope))).toBe(digits(lineOf(textOf(tree, gap))))
      expect(read.envelope).toEqual(kept)
    }),
  )
})

/** A JSON text, or a part of one. */
type Tree =
  | string
  | { readonly kind: "array"; readonly items: readonly Tree[] }
  | { readonly kind: "object"; readonly members: readonly (readonly [name: string, value: Tree])[] }

function textOf(tree: Tree, gap: string): string {
  if (typeof tree === "string") return tree
  if (tree.kind === "array") return `[${gap}${tree.items.map((item) => textOf(item, gap)).join(`,${gap}`)}]`
  const members = tree.members.map(([name, value]) => `${JSON.stringify(name)}${gap}:${gap}${textOf(value, gap)}`)
  return `{${members.join(`${gap},`)}${gap}}`
}

function hasRepeats(tree: Tree): boolean {
  if (typeof tree === "string") return false
  if (tree.kind === "array") return tree.items.some(hasRepeats)
  const names = tree.members.map(([name]) => name)
  return new Set(names).size < names.length || tree.members.some(([, value]) => hasRepeats(value))
}

function withoutNulls(tree: Tree): Tree {
  if (typeof tree === "string") return tree
  if (tree.kind === "array") return { ...tree, items: tree.items.map(withoutNulls) }
  const members = tree.members.filter(([, value]) => value !== "null")
  return { ...tree, members: members.map(([name, value]) => [name, withoutNulls(value)] as const) }
}

test("a complete envelope is kept byte for byte", () => {
  const line = `{"data":{"id":"5","text":"a", ${created},"made_up":{"x":[1]}},"includes":{"users":[{"id":"7"}]}}`
  const read = readEnvelope(line, nowMs)
  expect(read).toMatchObject({
    ok: true,
    post: { id: "5", envelope: Buffer.from(line), createdAtMs: Date.UTC(2026, 2, 14, 9, 26, 53), userIds: ["7"] },
  })
})

test("a name may occur in several objects and in texts", () => {
  const line = `{"data":{"id":"5","text":"\\"id\\":1,\\"id\\":2",${created},"geo":{"id":"1","data":{"id":"2"}}},"includes":{"users":[{"id":"7"},{"id":"8"}],"data":[]}}`
  expect(readEnvelope(line, nowMs)).toMatchObject({ ok: true, post: { id: "5", envelope: Buffer.from(line) } })
})

test("members other than data and includes are removed, matching rules of another server among them", () => {
  const read = readEnvelope(
    `{"data":{"id":"5","text":"a",${created}},"matching_rules":[{"id":"9"}],"errors":[]}`,
    nowMs,
  )
  expect(read.ok && Object.keys(JSON.parse(utf8(read.post.envelope)) as object)).toEqual(["data"])
})

test("the characters of a text are code points", () => {
  expect(readEnvelope(`{"data":{"id":"5","text":"${"🐈".repeat(25_000)}"}}`, nowMs).ok).toBe(true)
})

test("a missing time is that of the snowflake", () => {
  const read = readEnvelope('{"data":{"id":"1212092628029698048","text":"a"}}', nowMs)
  expect(read.ok && read.envelope.data.created_at).toBe("2019-12-31T19:26:16.771Z")
  expect(read.ok && utf8(read.post.envelope)).toContain('"created_at":"2019-12-31T19:26:16.771Z"')
})

test("a missing time is the time of arrival when the id is older than snowflakes", () => {
  const read = readEnvelope('{"data":{"id":"20","text":"a"}}', nowMs)
  expect(read).toMatchObject({ ok: true, post: { createdAtMs: nowMs } })
})

test("the core text has the default fields, with the post itself as the edit history when there is none", () => {
  const read = readEnvelope('{"data":{"text":"é \\"q\\"","id":"20","lang":"fr"}}', nowMs)
  expect(read.ok && utf8(read.post.core)).toBe('{"id":"20","text":"é \\"q\\"","edit_history_tweet_ids":["20"]}')
})

test("an empty edit history is the post alone", () => {
  const read = readEnvelope('{"data":{"id":"20","text":"a","edit_history_tweet_ids":[]}}', nowMs)
  expect(read.ok && utf8(read.post.core)).toBe('{"id":"20","text":"a","edit_history_tweet_ids":["20"]}')
})

test.each([
  ["an original", "", false, false],
  ["a reply", ',"in_reply_to_user_id":"8"', true, false],
  ["a reply by its reference", ',"referenced_tweets":[{"type":"replied_to","id":"4"}]', true, false],
  ["a repost", ',"referenced_tweets":[{"type":"retweeted","id":"4"}],"in_reply_to_user_id":"8"', false, true],
  ["a quote", ',"referenced_tweets":[{"type":"quoted","id":"4"}]', false, false],
])("the kind of %s is recognised", (_, members, isReply, isRepost) => {
  expect(readEnvelope(`{"data":{"id":"5","text":"a"${members}}}`, nowMs)).toMatchObject({
    ok: true,
    post: { isReply, isRepost },
  })
})

test("the author and each included user are known once, and other values are ignored", () => {
  const users = '[{"id":"7"},{"id":"8"},{"id":9},{},{"id":"x"}]'
  const read = readEnvelope(`{"data":{"id":"5","text":"a","author_id":"7"},"includes":{"users":${users}}}`, nowMs)
  expect(read.ok && read.post.userIds).toEqual(["7", "8"])
})

test("names of members that objects inherit are ordinary names", () => {
  const read = readEnvelope('{"data":{"id":"5","text":"a","__proto__":{"author_id":"7"},"constructor":1}}', nowMs)
  expect(read.ok && read.post).not.toHaveProperty("authorId")
})
