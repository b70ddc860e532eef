import { expect, test } from "vitest"
import type { PostId } from "./ids.ts"
import { includedPostJson } from "./included-post.ts"

const id = "7" as PostId
const own = String.raw`{"id":"7","text":"caf\u00e9","public_metrics":{"like_count":12345678901234567890}}`
const users = '"users":[{"id":"8"}]'
const envelopeOf = (...tweets: readonly string[]): string =>
  `{"data":{"id":"9","text":"nine"},"includes":{${users},"tweets":[${tweets.join(",")}]}}`

test("an included post has the core that a post of its own would have", () => {
  const history = '{"id":"7","text":"a","edit_history_tweet_ids":["6","7"]}'
  expect(includedPostJson(envelopeOf(own), id, "core")).toBe('{"id":"7","text":"café","edit_history_tweet_ids":["7"]}')
  expect(includedPostJson(envelopeOf(history), id, "core")).toBe(
    '{"id":"7","text":"a","edit_history_tweet_ids":["6","7"]}',
  )
})

test("an included post has an envelope with its bytes and with all that came along", () => {
  const includes = `{${users},"tweets":[${own}]}`
  expect(includedPostJson(envelopeOf(own), id, "envelope")).toBe(`{"data":${own},"includes":${includes}}`)
})

test.each([
  ["no includes", '{"data":{"id":"9","text":"nine"}}'],
  ["another post", envelopeOf('{"id":"70","text":"a"}')],
  ["a post without a text", envelopeOf('{"id":"7"}')],
  ["no object", envelopeOf('"7"')],
])("an envelope with %s has none", (_what, json) => {
  expect(includedPostJson(json, id, "core")).toBeUndefined()
})
