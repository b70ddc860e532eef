import { beforeEach, expect, test } from "vitest"
import { defaultSelection } from "../model/field-selection.ts"
import type { AppId, PostId, UserId } from "../model/ids.ts"
import type { SearchedRule } from "../search/post-search.ts"
import type { PostSearchPage, PostSearchRequest } from "./post-searches.ts"
import { createRelatedPosts, type RelatedPosts, type RelatedPostsRequest } from "./related-posts.ts"

const app = "5" as AppId
const { signal } = new AbortController()
const request: RelatedPostsRequest = {
  endpoint: "/list",
  span: { above: -1n, upTo: 9n },
  limit: 10,
  token: undefined,
  selection: defaultSelection,
  parameters: "",
}

/** The users who are known, the last one by a name that no rule can have. */
const usernames: Readonly<Record<string, string>> = {
  "7": "wren",
  "9": "wren@social.example",
  "11": "wren",
  "10": "wren-",
}

/** The requests for pages. */
let asked: PostSearchRequest[]
let released: number
/** The page that is found. */
let meta: PostSearchPage["meta"]
let isKnown: (id: string) => Promise<boolean>
let lists: RelatedPosts

beforeEach(() => {
  asked = []
  released = 0
  meta = { result_count: 1 }
  isKnown = async () => expect.fail("nobody asks about the subject of a list that is not empty")
  lists = createRelatedPosts({
    postSearches: {
      async page(_app, one) {
        asked.push(one)
        const posts = { ids: [], dataJson: "[]", includesJson: undefined, missing: [] }
        return { posts, meta, damaged: [], release: () => void (released += 1) }
      },
    },
    postsById: { isKnown: (_app, id) => isKnown(id) },
    store: {
      isUserKnown: (id) => isKnown(id),
      usersById: async ([id = "1" as UserId]) => {
        const username = usernames[id]
        return username === undefined ? [] : [{ id, username, json: "{}" }]
      },
      usersByName: async ([name = ""]) => {
        const [id, username] = Object.entries(usernames).find(([, one]) => one === name) ?? []
        return id === undefined || username === undefined ? [] : [{ id: id as UserId, username, json: "{}" }]
      },
    },
  })
})

const rulesAsked = (): readonly SearchedRule[] => asked.map(({ rule }) => rule)

test("mentions are of the user's id and the name that is known now, without reposts", async () => {
  await lists.mentions(app, "7" as UserId, request, signal)
  for (const id of ["8", "9", "10", "11"] as UserId[]) await lists.mentions(app, id, request, signal)
  expect(rulesAsked()).toEqual([
    { value: "(@7 OR @wren) -is:retweet", withReposts: true, mentionOf: { id: "7", username: "wren" } },
    { value: "(@8) -is:retweet", withReposts: true, mentionOf: { id: "8" } },
    {
      value: "(@9 OR @wren@social.example) -is:retweet",
      withReposts: true,
      mentionOf: { id: "9", username: "wren@social.example" },
    },
    { value: "(@10) -is:retweet", withReposts: true, mentionOf: { id: "10" } },
    // Another user has the name now.
    { value: "(@11) -is:retweet", withReposts: true, mentionOf: { id: "11" } },
  ])
  expect(asked[0]).toMatchObject({ ...request, isRanked: false, leadsBack: true })
})

test("quotes have reposts of quotes among them unless reposts are excluded", async () => {
  for (const exclude of [[], ["replies"], ["retweets"], ["replies", "retweets"]])
    await lists.quotes(app, "3" as PostId, { ...request, exclude }, signal)
  const rule = (rest: string, more: object = { orRepostsOfQuotesOf: "3" }) => ({
    value: `quotes_of_tweet_id:3${rest}`,
    withReposts: true,
    ...more,
  })
  expect(rulesAsked()).toEqual([
    rule(""),
    rule(" -is:reply"),
    rule(" -is:retweet", {}),
    rule(" -is:reply -is:retweet", {}),
  ])
})

test("reposts are those of the post", async () => {
  await lists.reposts(app, "3" as PostId, request, signal)
  expect(rulesAsked()).toEqual([{ value: "retweets_of_tweet_id:3", withReposts: true }])
})

test.each([
  ["mentions", () => lists.mentions(app, "7" as UserId, request, signal)],
  ["quotes", () => lists.quotes(app, "3" as PostId, { ...request, exclude: [] }, signal)],
  ["reposts", () => lists.reposts(app, "3" as PostId, request, signal)],
])(
  "an empty list of %s is a page when its subject is known, and gives its room back when it is not",
  async (_list, find) => {
    expect(await find()).toMatchObject({ meta })
    meta = { result_count: 0, next_token: "more" }
    expect(await find()).toMatchObject({ meta })
    meta = { result_count: 0 }
    isKnown = async () => true
    expect(await find()).toMatchObject({ meta })
    expect(released).toBe(0)
    isKnown = async () => false
    expect(await find()).toBe("unknown")
    expect(released).toBe(1)
    isKnown = () => Promise.reject(new Error("the store is gone"))
    await expect(find()).rejects.toThrow("gone")
    expect(released).toBe(2)
  },
)
