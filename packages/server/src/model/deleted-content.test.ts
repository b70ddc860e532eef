import { expect, test } from "vitest"
import { includedUserIds, withoutDeletedContent } from "./deleted-content.ts"

const envelope = (includes: unknown, attachments = { media_keys: ["3_1", "3_2"] }): string =>
  JSON.stringify({ data: { id: "1", text: "a", attachments }, includes })

const without = (text: string, posts: readonly string[], users: readonly string[] = []): string =>
  withoutDeletedContent(text, {
    isPostDeleted: (id) => posts.includes(id),
    isUserDeleted: (id) => users.includes(id),
  })

const post = (id: string, attachments: unknown) => ({ id, text: `post ${id}`, attachments })

test("an included post takes its media and polls with it, but for those that others name", () => {
  const tweets = [
    post("2", { media_keys: ["3_2", "3_3"], poll_ids: ["5"] }),
    post("3", { media_keys: ["3_3", "3_4"], poll_ids: ["6"] }),
  ]
  const media = ["3_1", "3_2", "3_3", "3_4"].map((key) => ({ media_key: key, alt_text: `of ${key}` }))
  const polls = ["5", "6"].map((id) => ({ id }))
  const { includes } = JSON.parse(without(envelope({ tweets, media, polls }), ["3"]))
  expect(includes).toEqual({ tweets: [tweets[0]], media: media.slice(0, 3), polls: [polls[0]] })
  const none = JSON.parse(without(envelope({ tweets, media, polls }), ["2", "3"])).includes
  expect(none).toEqual({ media: media.slice(0, 2) })
})

test("deleted users are taken out, and an envelope whose includes are empty then has none", () => {
  const text = envelope({ users: [{ id: "7", username: "a" }, { id: "8" }] })
  expect(includedUserIds(text)).toEqual(["7", "8"])
  expect(JSON.parse(without(text, [], ["8"])).includes).toEqual({ users: [{ id: "7", username: "a" }] })
  expect(JSON.parse(without(text, [], ["7", "8"]))).not.toHaveProperty("includes")
})

test("an envelope without anything deleted, and one of a strange form, stay letter for letter", () => {
  const strange = '{ "data": {"id": "1"}, "includes" : { "tweets": [ {"id": "2"}], "users": [ ] } }'
  for (const text of [strange, '{"data":{"id":"1"}}', envelope({ tweets: [{ id: "2" }] })]) {
    expect(without(text, ["3", ""], ["9"])).toBe(text)
  }
  expect(without('{ "data": {"id": "1"}, "includes" : { "tweets": [ {"id": "2"}], "x": 1 } }', ["2"])).toContain(
    '"data": {"id": "1"}',
  )
})
