import { expect, test } from "vitest"
import { readEnvelope } from "./read-envelope.ts"

const nowMs = Date.UTC(2026, 2, 14)
const created = '"created_at":"2026-03-14T09:26:53.000Z"'

/** A line, and the title and the beginning of the detail that it is refused with. */
const refused: readonly (readonly [name: string, line: string, title: string, detail: string])[] = [
  ["not JSON", "hello", "Invalid JSON", "The line is not JSON: "],
  ["cut off", '{"data":{"id":"1","text":"a', "Invalid JSON", "The line is not JSON: "],
  ["two documents", "{}{}", "Invalid JSON", "The line is not JSON: "],
  ["single quotes", "{'data':1}", "Invalid JSON", "The line is not JSON: "],
  ["a trailing comma", '{"data":{"id":"1","text":"a"},}', "Invalid JSON", "The line is not JSON: "],
  ["NaN", '{"data":NaN}', "Invalid JSON", "The line is not JSON: "],
  [
    "a raw control character",
    '{"data":{"id":"1","text":"a\u0001"}}',
    "Invalid JSON",
    "The line is not JSON: ",
  ],
  ["an array", '[{"data":{}}]', "Invalid Envelope", "The line is an array, and must be an object."],
  ["a string", '"post"', "Invalid Envelope", "The line is a string, and must be an object."],
  ["a number", "5", "Invalid Envelope", "The line is a number, and must be an object."],
  ["null", "null", "Invalid Envelope", "The line is null, and must be an object."],
  ["no data", "{}", "Invalid Envelope", "`data` is missing. An envelope is"],
  ["a bare post", '{"id":"1","text":"a"}', "Invalid Envelope", "`data` is missing. An envelope is"],
  ["data null", '{"data":null}', "Invalid Envelope", "`data` is missing. An envelope is"],
  [
    "data an array",
    '{"data":[{"id":"1"}]}',
    "Invalid Envelope",
    "`data` is an array, and must be an object.",
  ],
  ["data text", '{"data":"x"}', "Invalid Envelope", "`data` is a string, and must be an object."],
  [
    "includes an array",
    '{"data":{"id":"1","text":"a"},"includes":[]}',
    "Invalid Envelope",
    "`includes` is an array",
  ],
  ["no id", '{"data":{"text":"a"}}', "Invalid Post", "`data.id` is missing."],
  [
    "id a number",
    '{"data":{"id":1166895166390583299,"text":"a"}}',
    "Invalid Post",
    "`data.id` is a number, and must be a string",
  ],
  ["id null", '{"data":{"id":null,"text":"a"}}', "Invalid Post", "`data.id` is missing."],
  [
    "id empty",
    '{"data":{"id":"","text":"a"}}',
    "Invalid Post",
    "`data.id` must be a string of 1 to 19 decimal digits",
  ],
  ["id negative", '{"data":{"id":"-1","text":"a"}}', "Invalid Post", "`data.id` must be a string of 1 to 19"],
  [
    "id hexadecimal",
    '{"data":{"id":"0x1","text":"a"}}',
    "Invalid Post",
    "`data.id` must be a string of 1 to 19",
  ],
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
  [
    "id in other digits",
    '{"data":{"id":"١٢","text":"a"}}',
    "Invalid Post",
    "`data.id` must be a string of 1 to 19",
  ],
  ["no text", '{"data":{"id":"1"}}', "Invalid Post", "`data.text` is missing."],
  ["text null", '{"data":{"id":"1","text":null}}', "Invalid Post", "`data.text` is missing."],
  [
    "text a number",
    '{"data":{"id":"1","text":5}}',
    "Invalid Post",
    "`data.text` is a number, and must be a string.",
  ],
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
  [
    "author a number",
    '{"data":{"id":"1","text":"a","author_id":5}}',
    "Invalid Post",
    "`data.author_id` is a number",
  ],
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
  [
    "id twice",
    '{"data":{"id":"102","id":"103","text":"cat"}}',
    "Invalid Envelope",
    "`data.id` stands twice.",
  ],
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

test.each(refused)("a line is refused with a reason: %s", (_, line, title, detail) => {
  const read = readEnvelope(line, nowMs)
  expect(read).toMatchObject({ ok: false, title })
  expect(read.ok ? "" : read.detail).toContain(detail)
})

test("members that are null are left out, however deep", () => {
  const read = readEnvelope(
    `{"data":{"id":"5","text":"null: null",${created},"geo":null,"entities":{"urls":null,"hashtags":[{"tag":"a","x": null}]}}}`,
    nowMs,
  )
  expect(read.ok && JSON.parse(read.post.envelope)).toEqual({
    data: {
      id: "5",
      text: "null: null",
      created_at: "2026-03-14T09:26:53.000Z",
      entities: { hashtags: [{ tag: "a" }] },
    },
  })
})

test("a line nested more deeply than the stack holds is refused, or kept, and never thrown over", () => {
  const deep = (members: string) =>
    `{"data":{"id":"5","text":"a"${members},"x":${"[".repeat(400_000)}${"]".repeat(400_000)}}}`
  expect(readEnvelope(deep(""), nowMs).ok).toBe(true)
  expect(readEnvelope(deep(`,${created}`), nowMs).ok).toBe(true)
  expect(readEnvelope(deep(',"geo":null'), nowMs)).toMatchObject({
    ok: false,
    detail: "The line is nested too deeply.",
  })
})

test("a whole envelope is kept letter for letter", () => {
  const line = `{"data":{"id":"5","text":"a", ${created},"made_up":{"x":[1]}},"includes":{"users":[{"id":"7"}]}}`
  const read = readEnvelope(line, nowMs)
  expect(read).toMatchObject({
    ok: true,
    post: { id: "5", envelope: line, createdAtMs: Date.UTC(2026, 2, 14, 9, 26, 53), userIds: ["7"] },
  })
})

test("a name may stand in several objects, and in texts, as often as it likes", () => {
  const line = `{"data":{"id":"5","text":"\\"id\\":1,\\"id\\":2",${created},"geo":{"id":"1","data":{"id":"2","id":"3"}}},"includes":{"users":[{"id":"7"},{"id":"8"}],"data":1}}`
  expect(readEnvelope(line, nowMs)).toMatchObject({ ok: true, post: { id: "5", envelope: line } })
})

test("what another server said of its rules is dropped, and so is what is beside data and includes", () => {
  const read = readEnvelope(
    `{"data":{"id":"5","text":"a",${created}},"matching_rules":[{"id":"9"}],"errors":[]}`,
    nowMs,
  )
  expect(read.ok && Object.keys(JSON.parse(read.post.envelope) as object)).toEqual(["data"])
})

test("characters of a text are counted as code points", () => {
  expect(readEnvelope(`{"data":{"id":"5","text":"${"🐈".repeat(25_000)}"}}`, nowMs).ok).toBe(true)
})

test("a missing time is read from the snowflake", () => {
  const read = readEnvelope('{"data":{"id":"1212092628029698048","text":"a"}}', nowMs)
  expect(read.ok && read.envelope.data.created_at).toBe("2019-12-31T19:26:16.771Z")
  expect(read.ok && read.post.envelope).toContain('"created_at":"2019-12-31T19:26:16.771Z"')
})

test("a missing time is the time of arrival when the id is too old to hold one", () => {
  const read = readEnvelope('{"data":{"id":"20","text":"a"}}', nowMs)
  expect(read).toMatchObject({ ok: true, post: { createdAtMs: nowMs } })
})

test("the core text holds the default fields, with an edit history of its own when none came", () => {
  const read = readEnvelope('{"data":{"text":"é \\"q\\"","id":"20","lang":"fr"}}', nowMs)
  expect(read.ok && read.post.core).toBe('{"id":"20","text":"é \\"q\\"","edit_history_tweet_ids":["20"]}')
})

test("an empty edit history is the post alone", () => {
  const read = readEnvelope('{"data":{"id":"20","text":"a","edit_history_tweet_ids":[]}}', nowMs)
  expect(read.ok && read.post.core).toBe('{"id":"20","text":"a","edit_history_tweet_ids":["20"]}')
})

test.each([
  ["an original", "", false, false],
  ["a reply", ',"in_reply_to_user_id":"8"', true, false],
  ["a reply by its reference", ',"referenced_tweets":[{"type":"replied_to","id":"4"}]', true, false],
  ["a repost", ',"referenced_tweets":[{"type":"retweeted","id":"4"}],"in_reply_to_user_id":"8"', false, true],
  ["a quote", ',"referenced_tweets":[{"type":"quoted","id":"4"}]', false, false],
])("%s is known for what it is", (_, members, isReply, isRepost) => {
  expect(readEnvelope(`{"data":{"id":"5","text":"a"${members}}}`, nowMs)).toMatchObject({
    ok: true,
    post: { isReply, isRepost },
  })
})

test("the author and everyone included are known, each once, and what is no user is passed over", () => {
  const users = '[{"id":"7"},{"id":"8"},{"id":9},null,"x",{"id":"x"}]'
  const read = readEnvelope(
    `{"data":{"id":"5","text":"a","author_id":"7"},"includes":{"users":${users}}}`,
    nowMs,
  )
  expect(read.ok && read.post.userIds).toEqual(["7", "8"])
})

test("names that objects inherit are only names", () => {
  const read = readEnvelope(
    '{"data":{"id":"5","text":"a","__proto__":{"author_id":"7"},"constructor":1}}',
    nowMs,
  )
  expect(read.ok && read.post).not.toHaveProperty("authorId")
})
