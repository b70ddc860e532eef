/** Records that no converter can read: each is rejected with a title, and a detail that says where and what. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { commit, postFrame, wrapped, wren } from "./bluesky/bluesky-frames.testing.ts"
import { blueskyConverter } from "./bluesky/bluesky-converter.ts"
import { assignedId, expectSound, nothingKnown } from "./converted.testing.ts"
import type { Converted, Converter } from "./converter.ts"
import { envelopeItemConverter } from "./envelope-item.ts"
import { mappedItemConverter } from "./mapped-item.ts"
import { mastodonConverter } from "./mastodon/mastodon-converter.ts"
import { status, update } from "./mastodon/mastodon-events.testing.ts"

const bluesky = blueskyConverter({
  takesReposts: true,
  takesProfiles: true,
  looksUpProfiles: true,
  givesMediaUrls: true,
})
const mastodon = mastodonConverter({ host: "oat.example", number: 0, takesReblogs: true, takesUnlisted: true })
const mapped = mappedItemConverter()
const envelopes = envelopeItemConverter()
const all = { bluesky, mastodon, mapped, envelopes }

function finish(converter: Converter, record: unknown): Converted {
  const line = typeof record === "string" ? record : JSON.stringify(record).replaceAll(`"${nestedMark}"`, nested)
  return converter.begin(line).finish(nothingKnown)
}

/** A rejection whose detail holds the text. */
function rejectedFor(detail: string): unknown {
  const title: unknown = expect.stringMatching(/^(Invalid JSON|Invalid Record)$/)
  return { kind: "rejected", title, detail: expect.stringContaining(detail) as unknown }
}

/** Stands for a value that `JSON.stringify` cannot write. */
const nestedMark = "10,000 arrays"
const nested = `${"[".repeat(10_000)}${"]".repeat(10_000)}`

describe.each(Object.entries(all))("%s", (_name, converter) => {
  test.each([
    ["nothing", ""],
    ["white space", "  "],
    ["a word", "cat"],
    ["half of an object", '{"did":'],
    ["a NUL", "\0"],
    ["a NUL in a string", '{"a":"\0"}'],
    ["two objects", "{}{}"],
    ["an object that nests and does not end", '{"a":'.repeat(10_000)],
  ])("rejects %s as JSON", (_what, line) => {
    expect(finish(converter, line)).toMatchObject({ kind: "rejected", title: "Invalid JSON" })
  })

  test.each([
    ["null", "null"],
    ["a number", "1e999"],
    ["a string", '"\\ud800"'],
    ["an array", "[]"],
    ["10,000 arrays", nested],
    ["an object without members", "{}"],
  ])("rejects %s as a record", (_what, line) => {
    expect(finish(converter, line)).toMatchObject({ kind: "rejected", title: "Invalid Record" })
  })
})

const post = "app.bsky.feed.post"

test.each<[string, unknown]>([
  ["`kind` is 1", { did: wren, kind: 1 }],
  ["`did` is missing", { kind: "commit", commit: {} }],
  ["`did` is null", { did: null, kind: "commit", commit: {} }],
  ['`did` is "wren.example"', { did: "wren.example", kind: "identity", identity: {} }],
  ['`did` is "did:plc:"', { did: "did:plc:", kind: "account", account: { active: true } }],
  ['`did` is "did:plc:a b"', { did: "did:plc:a b", kind: "account", account: { active: true } }],
  ["`commit` is missing", { did: wren, kind: "commit" }],
  ["`commit` is an array", { did: wren, kind: "commit", commit: [] }],
  ["`identity` is missing", { did: wren, kind: "identity" }],
  ['`account` is "deleted"', { did: wren, kind: "account", account: "deleted" }],
  ["`account.active` is missing", { did: wren, kind: "account", account: { status: "deleted" } }],
  ['`account.active` is "no"', { did: wren, kind: "account", account: { active: "no" } }],
  ["`commit.collection` is missing", { did: wren, kind: "commit", commit: {} }],
  ["`commit.collection` is 7", commit({ collection: 7 })],
  ["`rkey` is missing", commit({ rkey: undefined, record: { text: "" } })],
  ['`rkey` is ".."', commit({ rkey: "..", record: { text: "" } })],
  ['`rkey` is "a/b"', commit({ rkey: "a/b", operation: "delete" })],
  ['`rkey` is ""', commit({ rkey: "", record: { text: "" } })],
  ["`rkey` is an object", commit({ rkey: {}, record: { text: "" } })],
  ["`rev` is missing", commit({ rev: undefined, record: { text: "" } })],
  ['`rev` is "1"', commit({ rev: "1", record: { text: "" } })],
  ["`rev` is 3", commit({ rev: 3, record: { text: "" } })],
  ["`record` is missing", commit({})],
  ["`record` is null", commit({ record: null })],
  ["`record` is an array", commit({ record: [] })],
  ["`record.text` is missing", commit({ record: {} })],
  ["`record.text` is null", postFrame({ text: null })],
  ["`record.text` is an array", postFrame({ text: ["a"] })],
  ["`record.subject.uri` is missing", commit({ collection: "app.bsky.feed.repost", record: {} })],
  [
    '`record.subject.uri` is "cat"',
    commit({ collection: "app.bsky.feed.repost", record: { subject: { uri: "cat" } } }),
  ],
  ["`payload` is missing", { $type: "message" }],
  ["`payload` is an array", { $type: "message", payload: [] }],
  ["`payload.$type` is missing", { $type: "message", payload: {} }],
  ["`payload.did` is 1", wrapped("commit", { did: 1 })],
  ["`payload.collection` is missing", wrapped("commit", {})],
  ["`payload.identity` is missing", wrapped("identity", {})],
  ["`payload.account.active` is null", wrapped("account", { account: { active: null } })],
  ["`rev` is missing", wrapped("commit", { operation: "create", collection: post, rkey: "a", record: {} })],
])("Bluesky: %s", (detail, record) => {
  expect(finish(bluesky, record)).toEqual(rejectedFor(detail))
})

test.each<[string, unknown]>([
  ["`event` is missing", { payload: {} }],
  ["`event` is null", { event: null, payload: {} }],
  ["`payload` is missing", { event: "update" }],
  ["`payload` is an array", { event: "update", payload: [] }],
  ["`payload` is 117024236332527360", { event: "delete", payload: 117_024_236_332_527_360 }],
  ['`payload` is ""', { event: "delete", payload: "" }],
  ['`payload` is "a b"', { event: "delete", payload: "a b" }],
  ["not JSON", { event: "update", payload: "{" }],
  ["The record is a", { event: "update", payload: "[]" }],
  ["`payload.id` is missing", update({ id: undefined })],
  ["`payload.id` is 7", update({ id: 7 })],
  ['`payload.id` is "a/b"', update({ id: "a/b" })],
  ['`payload.id` is "xxxxx', update({ id: "x".repeat(65) })],
  ["`payload.created_at` is missing", update({ created_at: undefined })],
  ["`payload.created_at` is 7", update({ created_at: 7 })],
  ['`payload.created_at` is "2026-02-30T00:00:00Z"', update({ created_at: "2026-02-30T00:00:00Z" })],
  ['`payload.created_at` is "yesterday"', update({ created_at: "yesterday" })],
  ['`payload.created_at` is "1969-12-31T23:59:59Z"', update({ created_at: "1969-12-31T23:59:59Z" })],
  ['`payload.edited_at` is "now"', update({ edited_at: "now" })],
  ["`payload.content` is missing", update({ content: undefined })],
  ["`payload.content` is null", update({ content: null })],
  ["`payload.content` is an object", update({ content: {} })],
  ["`payload.account` is missing", update({ account: undefined })],
  ['`payload.account` is "wren"', update({ account: "wren" })],
  ["`payload.account.acct` is missing", update({ account: {} })],
  ['`payload.account.acct` is ""', update({ account: { acct: "" } })],
  ['`payload.account.acct` is "a b"', update({ account: { acct: "a b" } })],
  ['`payload.account.acct` is "a@b@c"', update({ account: { acct: "a@b@c" } })],
  ["`payload.reblog.id` is 1", update({ reblog: { ...status(), id: 1 } })],
  ["`payload.reblog.account` is missing", update({ reblog: { ...status(), account: undefined } })],
])("Mastodon: %s", (detail, record) => {
  expect(finish(mastodon, record)).toEqual(rejectedFor(detail))
})

test.each<[string, unknown]>([
  ["`uri` is missing", { text: "" }],
  ["`uri` is 7", { uri: 7, text: "" }],
  ['`uri` is "a b"', { uri: "a b", text: "" }],
  ['`uri` is ""', { uri: "", text: "" }],
  ["`uri` is", { uri: "x".repeat(2_049), text: "" }],
  ["`id` is 7", { id: 7, text: "" }],
  ["`text` is missing", { uri: "a" }],
  ["`text` is an array", { uri: "a", text: [] }],
  ['`author` is "wren"', { uri: "a", text: "", author: "wren" }],
  ["`author.username` is missing", { uri: "a", text: "", author: {} }],
  ['`author.username` is "a b"', { uri: "a", text: "", author: { username: "a b" } }],
  ["`author.uri` is 7", { uri: "a", text: "", author: { uri: 7, username: "a" } }],
  ['`created_at` is "now"', { uri: "a", text: "", created_at: "now" }],
  ["`created_at` is -1", { uri: "a", text: "", created_at: -1 }],
  ["`created_at` is 9000000000000000", { uri: "a", text: "", created_at: 9_000_000_000_000_000 }],
  ["`in_reply_to` is an object", { uri: "a", text: "", in_reply_to: {} }],
  ["`quotes` is true", { uri: "a", text: "", quotes: true }],
  ['`urls` is "https://example.com"', { uri: "a", text: "", urls: "https://example.com" }],
  ["`media` is an object", { uri: "a", text: "", media: {} }],
])("a mapped item: %s", (detail, record) => {
  expect(finish(mapped, record)).toEqual(rejectedFor(detail))
})

test.each<[string, unknown]>([
  ["`data` is missing", {}],
  ["`data` is an array", { data: [] }],
  ["`data.id` is missing", { data: { text: "" } }],
  ["`data.id` is 7", { data: { id: 7, text: "" } }],
  ['`data.id` is "9223372036854775808"', { data: { id: "9223372036854775808", text: "" } }],
  ["`envelope` is null", { envelope: null }],
  ["`envelope` is an array", { envelope: [] }],
  ["not JSON", { envelope: "{" }],
  ["`delete.status.id_str` is missing", { delete: {} }],
  ["`data.delete.tweet.id` is 7", { data: { delete: { tweet: { id: 7 } } } }],
  ["`data.user_delete.user.id` is missing", { data: { user_delete: {} } }],
])("an envelope as an item: %s", (detail, record) => {
  expect(finish(envelopes, record)).toEqual(rejectedFor(detail))
})

/** Values of every type, and some that are hard to read. */
const oddValues: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e300,
  "",
  "\0",
  "\uD800",
  "<p>",
  "&#x110000;",
  "x".repeat(30_000),
  [],
  {},
  [null, 1, "a", [], {}],
  nestedMark,
  { $type: "x", uri: {}, index: [] },
]

/** The record with each member at any depth replaced by each odd value in turn, its own text last. */
function* mutants(value: unknown): Generator {
  for (const odd of oddValues) yield odd
  if (typeof value !== "object" || value === null) return
  for (const [name, member] of Object.entries(value)) {
    for (const other of mutants(member)) {
      yield Array.isArray(value) ? value.with(Number(name), other) : { ...value, [name]: other }
    }
  }
}

const rich = {
  bluesky: postFrame({
    text: "#cats",
    langs: ["en"],
    tags: ["cats"],
    facets: [
      { index: { byteStart: 0, byteEnd: 5 }, features: [{ $type: "app.bsky.richtext.facet#tag", tag: "cats" }] },
    ],
    reply: { parent: { uri: `at://${wren}/a.b/c` }, root: { uri: `at://${wren}/a.b/c` } },
    labels: { values: [{ val: "porn" }] },
    embed: {
      $type: "app.bsky.embed.recordWithMedia",
      record: { record: { uri: `at://${wren}/app.bsky.feed.post/c` } },
      media: {
        $type: "app.bsky.embed.images",
        images: [{ alt: "a", image: { ref: { $link: "bafkreihz" } }, aspectRatio: { width: 1, height: 2 } }],
      },
    },
  }),
  mastodon: update({
    content: '<a href="https://a.example" class="mention">@tern</a>',
    mentions: [{ id: "12", acct: "tern", url: "https://a.example" }],
    tags: [{ name: "cats", url: "https://b.example" }],
    media_attachments: [{ id: "1", type: "image", url: "https://c.example", meta: { original: { width: 1 } } }],
    poll: { id: "1", options: [{ title: "a" }], expires_at: "2026-08-03T00:00:00Z" },
    card: { url: "https://d.example", title: "a" },
    application: { name: "a" },
    in_reply_to_id: "7",
    in_reply_to_account_id: "12",
    quote: { state: "accepted", quoted_status: status() },
    reblog: status(),
  }),
  mapped: {
    uri: "a",
    text: "#cats https://a.example",
    author: { uri: "b", username: "b", name: "B" },
    created_at: "2026-08-03T00:00:00Z",
    in_reply_to: "c",
    urls: [{ url: "https://a.example", title: "a" }],
    media: [{ url: "https://b.example", type: "video" }],
    cursor: "1",
  },
}

test.each(Object.keys(rich) as (keyof typeof rich)[])(
  "%s: a record with any member of any type is converted or refused, and nothing is thrown",
  (name) => {
    let posts = 0
    for (const mutant of mutants(rich[name])) {
      const converted = finish(all[name], mutant)
      if (converted.kind === "rejected") expect(converted.detail.length).toBeLessThan(600)
      if (converted.kind !== "post") continue
      posts++
      expectSound(converted.envelopeWith(converted.id ?? assignedId))
    }
    expect(posts).toBeGreaterThan(100)
  },
)

test("no converter throws, whatever JSON it gets", () => {
  const keys = fc.constantFrom(
    "did",
    "kind",
    "commit",
    "event",
    "payload",
    "data",
    "id",
    "uri",
    "text",
    "$type",
    "envelope",
  )
  const { json } = fc.letrec<{ json: unknown }>((tie) => ({
    json: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom<unknown>(null, 1, "", "commit", "update", "delete", wren, "7", "{}", "\uD800"),
      fc.array(tie("json"), { maxLength: 3 }),
      fc.dictionary(keys, tie("json"), { maxKeys: 4 }),
    ),
  }))
  fc.assert(
    fc.property(json, (value) => {
      for (const converter of Object.values(all)) expect(finish(converter, value).kind).toBeTypeOf("string")
    }),
    { numRuns: 1_000 },
  )
})
