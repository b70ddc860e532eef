import { beforeEach, expect, test } from "vitest"
import type { AppId, PostId } from "../model/ids.ts"
import type { NamedUsers } from "./users.ts"
import { createReposters, type Reposters, type RepostersRequest } from "./reposters.ts"

const app = "5" as AppId
const { signal } = new AbortController()
const request: RepostersRequest = {
  endpoint: "/list",
  span: { above: -1n, upTo: 9n },
  limit: 10,
  token: undefined,
  parameters: "",
  selection: { user: new Set(["id"]), post: new Set(["id"]), expansions: new Set(), vocabulary: "old" },
}

/** Envelopes of the reposts. */
let reposts: readonly string[]
let asked: unknown[]
let released: number
let named: (users: NamedUsers) => Promise<{ readonly users: readonly string[]; readonly missing: readonly never[] }>
let reposters: Reposters

beforeEach(() => {
  reposts = []
  asked = []
  released = 0
  named = async ({ names }) => ({ users: names.map((id) => `{"id":"${id}"}`), missing: [] })
  reposters = createReposters({
    postSearches: {
      async envelopes(_app, one) {
        asked.push(one)
        return {
          posts: reposts.map((json, at) => ({ id: String(at) as PostId, json })),
          meta: { result_count: reposts.length, newest_id: "1", oldest_id: "0", next_token: "older" },
          damaged: ["9" as PostId],
          release: () => void (released += 1),
        }
      },
    },
    postsById: { isKnown: async () => false },
    users: { named: (users) => named(users) },
  })
})

const repostBy = (author: unknown): string => JSON.stringify({ data: { id: "1", author_id: author } })

test("the authors of the reposts of a page are looked up once, and posts without an author are passed over", async () => {
  reposts = [...["7", "8", "7", "007", undefined, 8, "x"].map(repostBy), "{}"]
  const page = await reposters.page(app, "3" as PostId, request, signal)
  expect(page).toMatchObject({
    users: ['{"id":"7"}', '{"id":"8"}'],
    meta: { result_count: 2, next_token: "older" },
    damaged: ["9"],
  })
  expect(page !== "unknown" && Object.keys(page.meta)).toEqual(["result_count", "next_token"])
  expect(asked).toMatchObject([
    { rule: { value: "retweets_of_tweet_id:3", withReposts: true }, limit: 10, leadsBack: true, endpoint: "/list" },
  ])
  expect(released).toBe(0)
})

test("a page gives its room back when its users cannot be read", async () => {
  reposts = [repostBy("7")]
  named = () => Promise.reject(new Error("the store is gone"))
  await expect(reposters.page(app, "3" as PostId, request, signal)).rejects.toThrow("gone")
  expect(released).toBe(1)
})
