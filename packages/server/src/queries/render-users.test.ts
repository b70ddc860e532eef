import type { UserExpansion, Vocabulary } from "@sluice/api"
import { beforeEach, expect, test } from "vitest"
import { createRecordedEvents } from "../delivery/links/link-harness.testing.ts"
import type { AppId, PostId, UserId } from "../model/ids.ts"
import { notFound } from "../model/problem.ts"
import type { PostsByIdRange } from "../store/port/post-store.ts"
import type { FoundUser } from "../store/port/user-store.ts"
import { renderUsers, type RenderedUsers } from "./render-users.ts"

const reader = "5" as AppId

/** Envelopes by id. */
let posts: Map<string, string>
let users: Map<string, FoundUser>
let damaged: Set<string>
let reads: PostsByIdRange[]
let fault: Error | undefined
const events = createRecordedEvents()

beforeEach(() => {
  posts = new Map()
  users = new Map()
  damaged = new Set()
  reads = []
  fault = undefined
})

const store = {
  /** As a store does: the last post may go over the bytes. */
  async postsById(range: PostsByIdRange) {
    reads.push(range)
    const found: { id: PostId; json: string }[] = []
    let bytes = 0
    for (const id of range.ids) {
      if (bytes >= range.bytesMax) return { posts: found, damaged: [], stoppedAt: found.at(-1)?.id ?? id }
      const json = posts.get(id)
      if (json !== undefined && !damaged.has(id)) found.push({ id, json })
      bytes += json?.length ?? 0
    }
    const unread = range.ids.filter((id) => damaged.has(id))
    return { posts: found, damaged: unread, ...(fault && { fault }) }
  },
  usersById: async (ids: readonly UserId[]) => ids.flatMap((id) => users.get(id) ?? []),
}

function aUser(id: string, more: object = {}): FoundUser {
  const json = JSON.stringify({ id, name: `User ${id}`, username: `user${id}`, verified: true, ...more })
  return { id: id as UserId, username: `user${id}`, json }
}

function addPost(id: string, bytes = 1): void {
  const text = "x".repeat(bytes)
  posts.set(id, JSON.stringify({ data: { id, text, lang: "en", public_metrics: { retweet_count: 2 } } }))
}

function render(
  found: Parameters<typeof renderUsers>[0],
  expansions: readonly UserExpansion[] = [],
  vocabulary: Vocabulary = "old",
): Promise<RenderedUsers> {
  const selection = {
    user: new Set(["id", "name", "pinned_tweet_id"]),
    post: new Set(["id", "public_metrics"]),
    expansions: new Set(expansions),
    vocabulary,
  }
  return renderUsers(found, selection, reader, { store, events })
}

const parsed = ({ users: texts, includesJson = "null" }: RenderedUsers) => ({
  users: texts.map((text) => JSON.parse(text) as unknown),
  includes: JSON.parse(includesJson) as { tweets?: { id: string }[]; users?: { id: string }[] } | null,
})

const details = ({ missing }: RenderedUsers) => missing.map(({ detail }) => detail)

test("users show the fields of the selection, and nothing is read without an expansion", async () => {
  addPost("1")
  const rendered = await render([aUser("7", { pinned_tweet_id: "1" })])
  expect(parsed(rendered)).toEqual({ users: [{ id: "7", name: "User 7", pinned_tweet_id: "1" }], includes: null })
  expect(reads).toEqual([])
})

test("each object is included once, in both vocabularies", async () => {
  addPost("1")
  users.set("9", aUser("9"))
  const found = ["7", "8"].map((id) => aUser(id, { pinned_tweet_id: "1", affiliation: { user_id: ["9", "9"] } }))
  const old = await render(found, ["affiliation.user_id", "pinned_tweet_id"])
  expect(parsed(old).includes).toEqual({
    users: [{ id: "9", name: "User 9" }],
    tweets: [{ id: "1", public_metrics: { retweet_count: 2 } }],
  })
  expect(reads.map(({ ids }) => ids)).toEqual([["1"]])
  const renewed = parsed(await render(found, ["pinned_tweet_id"], "new"))
  expect(renewed.users[0]).toEqual({ id: "7", name: "User 7", pinned_post_id: "1" })
  expect(renewed.includes).toMatchObject({ posts: [{ id: "1", public_metrics: { repost_count: 2, like_count: 0 } }] })
})

test("what is missing is named user by user, after the users who are missing themselves", async () => {
  damaged.add("3")
  users.set("12", { id: "12" as UserId, username: "x" })
  fault = new Error("EIO")
  const found = [
    aUser("7", { pinned_tweet_id: "1", most_recent_tweet_id: "3", affiliation: { user_id: "12" } }),
    notFound("user", "ids", "404"),
    { id: "6" as UserId, username: "six" },
    aUser("8", { pinned_tweet_id: "1", affiliation: { user_id: ["13", 14, "x"] } }),
  ]
  const rendered = await render(found, ["affiliation.user_id", "most_recent_tweet_id", "pinned_tweet_id"])
  expect(details(rendered)).toEqual([
    "Could not find user with ids: [404].",
    expect.stringContaining("user [6] is damaged"),
    expect.stringContaining("post [3] is damaged"),
    expect.stringContaining("user [12] is damaged"),
    "Could not find tweet with pinned_tweet_id: [1].",
    "Could not find user with affiliation.user_id: [13].",
    "Could not find tweet with pinned_tweet_id: [1].",
  ])
  expect(events.failures).toContainEqual({ where: "posts of users", error: fault })
  expect(details(await render([aUser("7", { pinned_tweet_id: "9" })], ["pinned_tweet_id"], "new"))).toEqual([
    "Could not find tweet with pinned_post_id: [9].",
  ])
})

test("large posts are read in parts, and objects beyond the bytes of a page are named", async () => {
  const ids = Array.from({ length: 9 }, (_, at) => String(at + 1))
  for (const id of ids) posts.set(id, JSON.stringify({ data: { id, public_metrics: { x: "x".repeat(400_000) } } }))
  users.set("99", aUser("99"))
  const found = ids.map((id) => aUser(`10${id}`, { pinned_tweet_id: id, affiliation: { user_id: ["99"] } }))
  const rendered = await render(found, ["affiliation.user_id", "pinned_tweet_id"])
  expect(parsed(rendered).includes?.tweets?.map(({ id }) => id)).toEqual(ids.slice(0, 6))
  expect(reads.map((range) => range.ids.length)).toEqual([9, 6])
  const { missing } = rendered
  expect(missing.map(({ status, extras }) => [status, extras["resource_type"], extras["resource_id"]])).toEqual([
    ...ids.slice(6).map((id) => [503, "tweet", id]),
    [503, "user", "99"],
  ])
})

test("ten affiliations of a user are included", async () => {
  const ids = Array.from({ length: 12 }, (_, at) => String(at + 1))
  for (const id of ids) users.set(id, aUser(id))
  const { includes } = parsed(await render([aUser("77", { affiliation: { user_id: ids } })], ["affiliation.user_id"]))
  expect(includes?.users?.map(({ id }) => id)).toEqual(ids.slice(0, 10))
})

test("members of the wrong type lead to nothing", async () => {
  for (const wrong of [
    { pinned_tweet_id: 1 },
    { pinned_tweet_id: { id: "1" } },
    { affiliation: "9" },
    { affiliation: {} },
  ])
    expect(await render([aUser("7", wrong)], ["affiliation.user_id", "pinned_tweet_id"])).not.toHaveProperty(
      "includesJson",
    )
})
