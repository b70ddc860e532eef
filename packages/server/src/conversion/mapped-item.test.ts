import { describe, expect, test } from "vitest"
import { assignedId, convert, envelopeOf, knowing, nothingKnown } from "./converted.testing.ts"
import { accountName, foreignUserId } from "./foreign-ids.ts"
import { mappedItemConverter } from "./mapped-item.ts"

const converter = mappedItemConverter(new Map([["oat.example", 0]]))
const feedUri = "https://feed.example/7"

test("an item claims the later of the times that it names", () => {
  const at = "2026-08-02T05:22:17Z"
  const claimed = (item: object): unknown => convert(converter, { text: "a heron", ...item })
  expect(claimed({ uri: feedUri, created_at: at })).toMatchObject({ claimedMs: Date.parse(at) })
  expect(claimed({ uri: feedUri })).toMatchObject({ claimedMs: undefined })
  const uri = "at://did:plc:z72i7hdynmk6r22z27h6tvur/app.bsky.feed.post/3mptbyoeyc22k"
  const { claimedMs } = claimed({ uri, created_at: "2020-01-01T00:00:00Z" }) as { claimedMs: number }
  expect(claimedMs).toBeGreaterThan(Date.parse("2026-01-01T00:00:00Z"))
  expect(claimed({ id: "12345", created_at: at })).toMatchObject({ claimedMs: Date.parse(at) })
})

test("an item has its members in X's shape, with the entities of its text", () => {
  const item = {
    uri: feedUri,
    text: "🐈 #cats @tern $OAT example.com",
    author: { uri: "https://feed.example/wren", username: "wren", name: "Wren" },
    created_at: "2026-08-02T05:22:17Z",
    lang: "en-GB",
    cursor: 42,
  }
  const authorId = foreignUserId("https://feed.example/wren")
  expect(converter.begin(JSON.stringify(item))).toMatchObject({ position: "42", posts: [feedUri], users: [authorId] })
  expect(convert(converter, item)).toMatchObject({ kind: "post", name: feedUri, id: undefined, isOld: false })
  expect(envelopeOf(converter, item)).toEqual({
    data: {
      id: assignedId,
      text: item.text,
      author_id: authorId,
      created_at: "2026-08-02T05:22:17.000Z",
      edit_history_tweet_ids: [assignedId],
      conversation_id: assignedId,
      lang: "en",
      entities: {
        hashtags: [{ start: 2, end: 7, tag: "cats" }],
        mentions: [{ start: 8, end: 13, username: "tern" }],
        cashtags: [{ start: 14, end: 18, tag: "OAT" }],
        urls: [
          {
            start: 19,
            end: 30,
            url: "example.com",
            expanded_url: "https://example.com",
            display_url: "example.com",
          },
        ],
      },
      source_uri: feedUri,
    },
    includes: { users: [{ id: authorId, username: "wren", name: "Wren" }] },
  })
})

describe("the id", () => {
  test("of digits is X's own, and is not looked up", () => {
    const item = { id: "2083785435737996672", text: "A cat", quotes: "7" }
    expect(converter.begin(JSON.stringify(item)).posts).toEqual([])
    expect(envelopeOf(converter, item).data).toMatchObject({
      id: item.id,
      source_uri: item.id,
      created_at: "2026-08-02T05:22:17.398Z",
      referenced_tweets: [{ type: "quoted", id: "7" }],
    })
  })

  test("follows from the name where one can", () => {
    const uri = "https://oat.example/statuses/117024236332527350"
    expect(convert(converter, { uri, text: "" })).toMatchObject({ id: "2083785435737996672", name: uri })
  })

  test("of digits counts next to a name", () => {
    expect(convert(converter, { id: "7", uri: feedUri, text: "" })).toMatchObject({ id: "7", name: undefined })
    expect(convert(converter, { id: "x7", uri: feedUri, text: "" })).toMatchObject({ id: undefined, name: feedUri })
    expect(convert(converter, { id: "x7", text: "" })).toMatchObject({ id: undefined, name: "x7" })
  })
})

test("references to posts whose ids are unknown are left out", () => {
  const item = { uri: feedUri, text: "A cat", in_reply_to: "https://feed.example/6", quotes: "https://feed.example/5" }
  const known = knowing({ posts: { "https://feed.example/6": "6" } })
  expect(envelopeOf(converter, item, known).data).toMatchObject({
    referenced_tweets: [{ type: "replied_to", id: "6" }],
    conversation_id: "6",
  })
  expect(envelopeOf(converter, item).data.referenced_tweets).toBeUndefined()
})

test("the links that an item names count, and stand where the text has them", () => {
  const urls = ["https://example.com/a", { url: "https://example.com/b", title: "B", description: "About B" }, 1]
  const { entities } = envelopeOf(converter, { uri: feedUri, text: "see https://example.com/a other.com", urls }).data
  expect(entities["urls"]).toEqual([
    expect.objectContaining({ start: 4, end: 25, url: "https://example.com/a" }),
    expect.objectContaining({ start: 35, end: 35, url: "https://example.com/b", title: "B", description: "About B" }),
  ])
})

test("media have keys of their types", () => {
  const media = [
    "https://example.com/a.jpg",
    { url: "https://example.com/b.mp4", type: "video", width: 4, alt_text: "B" },
  ]
  const { data, includes } = envelopeOf(converter, { uri: feedUri, text: "", media })
  expect(includes?.media).toEqual([
    { media_key: expect.stringMatching(/^3_/), type: "photo", url: "https://example.com/a.jpg" },
    {
      media_key: expect.stringMatching(/^13_/),
      type: "video",
      variants: [{ url: "https://example.com/b.mp4" }],
      width: 4,
      alt_text: "B",
    },
  ])
  expect(data["attachments"]).toEqual({ media_keys: includes?.media?.map((one) => one["media_key"]) })
})

describe("the author", () => {
  const authorOf = (author: unknown): unknown =>
    envelopeOf(converter, { uri: feedUri, text: "", author }).data.author_id

  test("is known by the id, the uri, or the username alone", () => {
    expect(authorOf({ id: "7", username: "wren" })).toBe("7")
    expect(authorOf({ uri: "did:plc:x", username: "wren" })).toBe(foreignUserId("did:plc:x"))
    expect(authorOf({ uri: "did:plc:x" })).toBe(foreignUserId("did:plc:x"))
    expect(authorOf({ username: "Wren" })).toBe(foreignUserId(accountName("wren")))
    expect(authorOf(null)).toBeUndefined()
  })

  test("keeps what is known of them", () => {
    const id = foreignUserId(accountName("wren"))
    const known = knowing({ users: { [id]: { username: "old", name: "Old", description: "A bird" } } })
    const { includes } = envelopeOf(converter, { uri: feedUri, text: "", author: { username: "wren" } }, known)
    expect(includes?.users).toEqual([{ id, username: "wren", name: "wren", description: "A bird" }])
  })
})

test("a deleted item needs no text", () => {
  expect(convert(converter, { uri: feedUri, deleted: true })).toEqual({ kind: "post deleted", name: feedUri })
  expect(convert(converter, { id: "7", deleted: true })).toEqual({ kind: "post deleted", name: "7", id: "7" })
})

test("a rejected item keeps its position", () => {
  const conversion = converter.begin(JSON.stringify({ cursor: "a", text: "" }))
  expect(conversion.position).toBe("a")
  expect(conversion.finish(nothingKnown)).toMatchObject({ kind: "rejected", title: "Invalid Record" })
})

test("a time may be in milliseconds, and five minutes after that of the id", () => {
  const idMs = 1_785_648_137_398
  const item = (created: unknown): unknown => ({ id: "2083785435737996672", text: "", created_at: created })
  expect(envelopeOf(converter, item(idMs + 300_000)).data.created_at).toBe("2026-08-02T05:27:17.398Z")
  expect(convert(converter, item(idMs + 300_001))).toMatchObject({ kind: "rejected", title: "Time in the Future" })
})
