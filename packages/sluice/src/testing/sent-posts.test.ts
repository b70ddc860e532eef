import { expect, test } from "vitest"
import { PostMaker } from "./sent-posts.ts"

const nowMs = Date.UTC(2026, 2, 14, 9, 26, 53)

test("a post of a text has an id of its time, an author with an id of the name, and itself as its one version", () => {
  const maker = new PostMaker(() => nowMs)
  const { id, envelope } = maker.make({ text: "A heron" })
  expect(Number(BigInt(id) >> 22n) + 1_288_834_974_657).toBe(nowMs)
  expect(envelope).toEqual({
    data: {
      id,
      text: "A heron",
      author_id: "1001",
      created_at: "2026-03-14T09:26:53.000Z",
      edit_history_tweet_ids: [id],
      conversation_id: id,
    },
    includes: { users: [{ id: "1001", username: "wren", name: "wren" }] },
  })
})

test("ids rise within a millisecond, and a username has the same id in any case", () => {
  const maker = new PostMaker(() => nowMs)
  const posts = ["Oatfell", "rook", "oatfell"].map((author) => maker.make({ text: "x", author }))
  expect(posts.map(({ id }) => BigInt(id))).toEqual(
    posts.map(({ id }) => BigInt(id)).toSorted((a, b) => (a < b ? -1 : 1)),
  )
  expect(new Set(posts.map(({ id }) => id)).size).toBe(3)
  expect(posts.map(({ authorId }) => authorId)).toEqual(["1001", "1002", "1001"])
})

test("a reply, a quote and a repost name their original and bring it with its author", () => {
  const maker = new PostMaker(() => nowMs)
  const original = maker.make({ text: "Who is at the gate?", author: "rook", media: ["photo"] })
  const reply = maker.make({ text: "A heron", replyTo: original })
  expect(reply.envelope.data).toMatchObject({
    in_reply_to_user_id: original.authorId,
    conversation_id: original.id,
    referenced_tweets: [{ type: "replied_to", id: original.id }],
  })
  expect(reply.envelope.includes).toMatchObject({
    users: [{ username: "wren" }, { username: "rook" }],
    tweets: [{ id: original.id, text: "Who is at the gate?" }],
    media: [{ type: "photo" }],
  })
  expect(maker.make({ text: "No", replyTo: reply }).envelope.data["conversation_id"]).toBe(original.id)
  const quote = maker.make({ text: "Look", quotes: original })
  expect(quote.envelope.data["referenced_tweets"]).toEqual([{ type: "quoted", id: original.id }])
  const repost = maker.make({ reposts: original })
  expect(repost.text).toBe("RT @rook: Who is at the gate?")
  expect(repost.envelope.data["referenced_tweets"]).toEqual([{ type: "retweeted", id: original.id }])
})

test("an edit has the author of its original, and all versions before it", () => {
  const maker = new PostMaker(() => nowMs)
  const first = maker.make({ text: "one", author: { username: "rook", name: "Rook", verified: true } })
  const second = maker.make({ text: "two", edits: first })
  const third = maker.make({ text: "three", edits: second })
  expect(third.envelope.data["edit_history_tweet_ids"]).toEqual([first.id, second.id, third.id])
  expect(third.envelope.includes.users).toEqual([{ id: "1001", username: "rook", name: "Rook", verified: true }])
})

test("media have keys of their kind, and given members win", () => {
  const maker = new PostMaker(() => nowMs)
  const post = maker.make({
    text: "x",
    at: "2026-03-01T00:00:00Z",
    media: ["photo", { type: "video", duration_ms: 9_000 }],
    data: { conversation_id: "5", geo: { place_id: "p" } },
    includes: { places: [{ id: "p", full_name: "Oatfell" }] },
  })
  const [photo = "", video = ""] = (post.envelope.data["attachments"] as { media_keys: string[] }).media_keys
  expect(photo).toMatch(/^3_\d+$/)
  expect(video).toMatch(/^7_\d+$/)
  expect(post.envelope.includes["media"]).toMatchObject([
    { media_key: photo, type: "photo", url: expect.stringContaining("https://") as string },
    { media_key: video, type: "video", duration_ms: 9_000 },
  ])
  expect(post.envelope.data).toMatchObject({ conversation_id: "5", created_at: "2026-03-01T00:00:00.000Z" })
  expect(post.envelope.includes["places"]).toEqual([{ id: "p", full_name: "Oatfell" }])
})

test("a post without a text and a time that is none are refused with what is right", () => {
  const maker = new PostMaker(() => nowMs)
  expect(() => maker.make({})).toThrow("A post needs a text: post({ text: … }).")
  expect(() => maker.make({ text: "x", at: "yesterday" })).toThrow(
    "yesterday is no time: at is a Date, or a text in RFC 3339.",
  )
})
