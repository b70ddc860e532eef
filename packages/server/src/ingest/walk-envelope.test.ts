import { WalkedPost } from "@sluice/rules/walk"
import fc from "fast-check"
import { expect, test } from "vitest"
import { Draw } from "../../../rules/src/testing/draw.testing.ts"
import { asBytes, changedLine, lineOf, writtenLines } from "../../../rules/src/testing/walked-lines.testing.ts"
import { textOfLine } from "./lines.ts"
import { readEnvelope } from "./read-envelope.ts"
import { walkEnvelope } from "./walk-envelope.ts"

const walked = new WalkedPost()

function walk(line: Buffer): ReturnType<typeof walkEnvelope> {
  return walked.read(line) ? walkEnvelope(walked, line) : undefined
}

const created = '"created_at":"2026-03-14T09:26:53.000Z"'

test.each<[string, string]>([
  ["a post", `{"data":{"id":"1","text":"a cat",${created}}}`],
  [
    "one with everything that is stored",
    `{"data":{"id":"44","text":"a \\"é\\"\\n","author_id":"7",${created},"edit_history_tweet_ids":["43","44"],"in_reply_to_user_id":"8"},"includes":{"users":[{"id":"8","username":"a","name":"A"},{"id":"7"},{"id":"8"}]}}`,
  ],
  [
    "a repost of a reply",
    `{"data":{"id":"2","text":"","in_reply_to_user_id":"8",${created},"referenced_tweets":[{"type":"replied_to","id":"1"},{"type":"retweeted","id":"1"}]}}`,
  ],
  [
    "a reply, with spaces around and within",
    ` \t{ "data" : {"id":"2","text":"x",${created},"referenced_tweets":[{"type":"replied_to","id":"1"}]} } `,
  ],
  ["the last day of a leap year's February", `{"data":{"id":"1","text":"a","created_at":"2024-02-29T23:59:59.999Z"}}`],
])("%s is read without being parsed", (_, line) => {
  const post = walk(Buffer.from(line))
  const read = readEnvelope(line.trim(), 0)
  expect(post).toBeDefined()
  expect(read).toMatchObject({ ok: true })
  expect(read.ok && { ...post, core: String(post?.core), envelope: String(post?.envelope) }).toEqual(
    read.ok && { ...read.post, core: String(read.post.core), envelope: String(read.post.envelope) },
  )
})

test.each<[string, string]>([
  ["a null", `{"data":{"id":"1","text":"a","lang":null,${created}}}`],
  ["a carriage return between values", `{"data":{"id":"1",\r"text":"a",${created}}}`],
  ["members outside the envelope", `{"data":{"id":"1","text":"a",${created}},"matching_rules":[]}`],
  ["no time", '{"data":{"id":"1","text":"a"}}'],
  ["a day that does not exist", '{"data":{"id":"1","text":"a","created_at":"2025-02-29T00:00:00.000Z"}}'],
  [
    "a user without a name",
    `{"data":{"id":"1","text":"a",${created}},"includes":{"users":[{"id":"1","username":"a"}]}}`,
  ],
  ["an included list that is an object", `{"data":{"id":"1","text":"a",${created}},"includes":{"users":{}}}`],
  [
    "an included list of an unknown name that is text",
    `{"data":{"id":"1","text":"a",${created}},"includes":{"x":"y"}}`,
  ],
  ["text in an included list", `{"data":{"id":"1","text":"a",${created}},"includes":{"tweets":[{},"x"]}}`],
  ["a list in an included list", `{"data":{"id":"1","text":"a",${created}},"includes":{"media":[[]]}}`],
  ["a number as an id", `{"data":{"id":1,"text":"a",${created}}}`],
  ["an id beyond the last", `{"data":{"id":"9223372036854775808","text":"a",${created}}}`],
  ["an id with a leading zero", `{"data":{"id":"01","text":"a",${created}}}`],
  ["half of a surrogate pair", `{"data":{"id":"1","text":"\\ud83d",${created}}}`],
  ["a text that is too long", `{"data":{"id":"1","text":"${"a".repeat(25_001)}",${created}}}`],
  ["a reference without an id", `{"data":{"id":"1","text":"a",${created},"referenced_tweets":[{"type":"quoted"}]}}`],
])("a line with %s is left to the reader that edits and explains", (_, line) => {
  expect(walk(Buffer.from(line))).toBeUndefined()
})

test("for any bytes, a line that is read without being parsed equals the parsed one", () => {
  const lines = writtenLines.map((line) =>
    line.replace('"id":', `${asBytes(created)},"id":`).replaceAll('"username"', '"name":"N","username"'),
  )
  let supported = 0
  fc.assert(
    fc.property(fc.nat(), fc.integer({ min: 1, max: 4 }), (seed, changes) => {
      const draw = new Draw(seed)
      let changed = draw.oneOf(lines)
      for (let change = 0; change < changes; change++) changed = changedLine(changed, draw.oneOf(lines), draw)
      const line = Buffer.from(lineOf(changed))
      const post = walk(line)
      if (post === undefined) return
      supported++
      const text = textOfLine(line)
      const read = typeof text === "string" ? readEnvelope(text, 0) : undefined
      expect(read?.ok && { ...read.post, core: String(read.post.core), envelope: String(read.post.envelope) }).toEqual({
        ...post,
        core: String(post.core),
        envelope: String(post.envelope),
      })
    }),
    { numRuns: 1500 },
  )
  // Otherwise nearly nothing would have been compared.
  expect(supported).toBeGreaterThan(50)
})
