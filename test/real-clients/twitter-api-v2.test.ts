/** twitter-api-v2, as its users have it, with the settings that docs/clients.md shows, taken from there. */
import { readFileSync } from "node:fs"
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { pathOf, paths, snowflakeEpochMs, type OwnLimits } from "@sluice/api"
import { ApiResponseError, ETwitterStreamEvent, TwitterApi, type IClientSettings } from "twitter-api-v2"
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest"
import { isOnPostgres } from "../../packages/server/src/store/tested-store.testing.ts"
import { envelope, startTestServer, type TestServer } from "../support/test-server.testing.ts"

let server: TestServer
let client: TwitterApi

/** Ingests this many posts of the last minutes; returns their ids, newest first. */
async function ingestNow(text: string, count: number): Promise<readonly string[]> {
  const nowMs = Date.now()
  const ids = Array.from({ length: count }, (_, index) =>
    String(BigInt(nowMs - 20_000 - index * 1_000 - snowflakeEpochMs) << 22n),
  )
  await server.ingest(...ids.map((id) => envelope(id, text)))
  return ids
}

/** The page's code as a module, where it finds the client among this repository's packages. */
async function pageSettings(): Promise<(url: string) => Partial<IClientSettings>> {
  const page = readFileSync(new URL("../../docs/clients.md", import.meta.url), "utf8")
  const code = /```js\n(import[^`]+twitter-api-v2[^`]+)```/.exec(page)?.[1]
  if (code === undefined) throw new Error("docs/clients.md has no code for twitter-api-v2")
  const cache = fileURLToPath(new URL("../../node_modules/.cache", import.meta.url))
  await mkdir(cache, { recursive: true })
  const directory = await mkdtemp(`${cache}clients-page-`)
  try {
    const file = `${directory}/sluice.js`
    await writeFile(`${directory}/package.json`, '{"type":"module"}')
    await writeFile(file, code)
    const { sluice } = (await import(file)) as { sluice: (url: string) => Partial<IClientSettings> }
    return sluice
  } finally {
    await rm(directory, { recursive: true })
  }
}

beforeAll(async () => {
  server = await startTestServer()
  const sluice = await pageSettings()
  const login = new TwitterApi(
    { appKey: server.app.consumer_key, appSecret: server.app.consumer_secret },
    sluice(server.url),
  )
  client = await login.appLogin()
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

test("the app logs in with its consumer key and secret", () => {
  expect(client.getActiveTokens()).toEqual({ type: "oauth2", bearerToken: server.app.bearer_token })
})

test("the client adds, lists and deletes rules, and gets invalid ones as errors", async () => {
  const added = await client.v2.updateStreamRules({
    add: [{ value: "cat", tag: "pets" }, { value: "cat (" }],
  })
  expect(added.meta.summary).toEqual({ created: 1, not_created: 1, valid: 1, invalid: 1 })
  expect(added.errors?.[0]).toMatchObject({ value: "cat (", title: "UnprocessableEntity" })
  const listed = await client.v2.streamRules()
  expect(listed.data).toEqual([{ id: added.data[0]?.id, value: "cat", tag: "pets" }])
  const deleted = await client.v2.updateStreamRules({ delete: { ids: listed.data.map(({ id }) => id) } })
  expect(deleted.meta.summary).toEqual({ deleted: 1, not_deleted: 0 })
})

test("the stream delivers every match whole, characters of all scripts included", async () => {
  await client.v2.updateStreamRules({ add: [{ value: "猫 OR cat", tag: "cats" }, { value: "猫" }] })
  const stream = await client.v2.searchStream({
    "tweet.fields": ["created_at"],
    expansions: ["author_id", "in_reply_to_user_id"],
  })
  const texts: string[] = []
  stream.on(ETwitterStreamEvent.Data, (event) => {
    expect(event.matching_rules.map(({ tag }) => tag)).toEqual(["cats", ""])
    expect(event.includes?.users?.[0]?.username).toBe("wren")
    expect((event as { errors?: readonly object[] }).errors).toMatchObject([
      { parameter: "in_reply_to_user_id", value: "6" },
    ])
    texts.push(event.data.text)
  })
  const sent = Array.from({ length: 300 }, (_, index) => `猫 ${"🐈\u200D⬛ é ا".repeat(index % 40)} ${index}`)
  // The server does not know the users that they answer, so each record has an error in addition to its data.
  const replies = { in_reply_to_user_id: "6" }
  // The client reads two records as one when a read of 64 KiB ends between the two bytes of a line's end. So less than
  // that is sent at a time.
  const atOnce = 50
  for (let from = 0; from < sent.length; from += atOnce) {
    const some = sent.slice(from, from + atOnce)
    await server.ingest(...some.map((text, index) => envelope(1_000 + from + index, text, replies)))
    await expect.poll(() => texts.length).toBe(from + atOnce)
  }
  expect(texts).toEqual(sent)
  stream.close()
})

test("the timeline's paginator reaches the last page", async () => {
  await server.ingest(...Array.from({ length: 57 }, (_, index) => envelope(10_000 + index, "post", { author_id: "8" })))
  const timeline = await client.v2.userTimeline("8", { max_results: 10 })
  const ids: string[] = []
  for await (const post of timeline) ids.push(post.id)
  expect(ids).toEqual(Array.from({ length: 57 }, (_, index) => String(10_056 - index)))
  expect(timeline.meta.next_token).toBeUndefined()
})

test("posts are looked up by their ids, one or many, and those that are missing are errors", async () => {
  await server.ingest(envelope(20_001, "one"), envelope(20_002, "two", { public_metrics: { retweet_count: 2 } }))
  const options = { "tweet.fields": ["public_metrics" as const], expansions: ["author_id" as const] }
  const many = await client.v2.tweets(["20002", "404", "20001"], options)
  expect(many.data.map(({ id }) => id)).toEqual(["20002", "20001"])
  expect(many.data[0]?.public_metrics).toEqual({ retweet_count: 2 })
  expect(many.includes?.users?.[0]?.username).toBe("wren")
  expect(many.errors).toMatchObject([{ resource_id: "404", parameter: "ids" }])
  const one = await client.v2.singleTweet("20001", options)
  expect(one.data).toMatchObject({ id: "20001", text: "one", author_id: "7" })
  const none = await client.v2.singleTweet("404")
  expect([none.data, none.errors]).toMatchObject([undefined, [{ resource_id: "404", parameter: "id" }]])
})

test("the client searches, page by page, both windows, and with either sort order", async () => {
  const ids = await ingestNow("plover", 57)
  const found: string[] = []
  const search = await client.v2.search("plover", { max_results: 10, "tweet.fields": ["created_at"] })
  for await (const post of search) found.push(post.id)
  expect(found).toEqual(ids)
  expect(search.meta.next_token).toBeUndefined()
  const all = await client.v2.searchAll("plover", { max_results: 20, sort_order: "relevancy" })
  await all.fetchLast(1_000)
  expect(all.tweets.map(({ id }) => id)).toEqual(ids)
  // It turns the start of a search without a token into an id.
  const since = new Date(Date.now() - 3_600_000).toISOString()
  const later = await client.v2.search("plover", { max_results: 100, start_time: since })
  expect(later.tweets).toHaveLength(57)
  await later.fetchNext()
  expect(later.tweets).toHaveLength(57)
  await ingestNow("plover", 1)
  expect((await search.previous()).tweets).toHaveLength(1)
})

test("the client counts posts, recent ones and all", async () => {
  await ingestNow("curlew", 12)
  const recent = await client.v2.tweetCountRecent("curlew", { granularity: "day" })
  expect(recent.meta.total_tweet_count).toBe(12)
  expect(recent.data.reduce((sum, { tweet_count }) => sum + tweet_count, 0)).toBe(12)
  const all = await client.v2.tweetCountAll("curlew", { start_time: "2026-01-01T00:00:00Z", granularity: "day" })
  expect(all.meta).toMatchObject({ total_tweet_count: 12, next_token: expect.any(String) as string })
  const before = await client.v2.tweetCountAll("curlew", {
    start_time: "2026-01-01T00:00:00Z",
    granularity: "day",
    next_token: all.meta.next_token ?? "",
  })
  expect(before.meta.total_tweet_count).toBe(0)
})

test("the paginators of mentions and quotes go on to the last page and back to the first", async () => {
  const mention = { entities: { mentions: [{ start: 0, end: 5, id: "7", username: "wren" }] } }
  const quote = { referenced_tweets: [{ type: "quoted", id: "30001" }] }
  await server.ingest(envelope(30_001, "quoted"))
  await server.ingest(
    ...Array.from({ length: 25 }, (_, index) => envelope(31_000 + index, "hm", { ...mention, ...quote })),
  )
  const ids = Array.from({ length: 25 }, (_, index) => String(31_024 - index))
  const lists = [
    await client.v2.userMentionTimeline("7", { max_results: 10 }),
    await client.v2.quotes("30001", { max_results: 10 }),
  ]
  for (const first of lists) {
    const second = await first.next()
    const third = await second.next()
    expect([first, second, third].flatMap(({ tweets }) => tweets.map(({ id }) => id))).toEqual(ids)
    expect(third.meta.next_token).toBeUndefined()
    expect((await second.previous()).tweets.map(({ id }) => id)).toEqual(ids.slice(0, 10))
  }
})

test("the paginator of the users who reposted a post goes on to the last page and back to the first", async () => {
  const users = Array.from({ length: 25 }, (_, index) => ({
    id: String(41_024 - index),
    name: `Reposter ${index}`,
    username: `reposter${index}`,
  }))
  const repost = { text: "RT", referenced_tweets: [{ type: "retweeted", id: "30001" }] }
  await server.ingest(
    ...users.map((user) => ({ data: { id: user.id, author_id: user.id, ...repost }, includes: { users: [user] } })),
  )
  const first = await client.v2.tweetRetweetedBy("30001", { max_results: 10, asPaginator: true })
  const second = await first.next()
  const third = await second.next()
  expect([first, second, third].flatMap((page) => page.users)).toEqual(users)
  expect(third.meta.next_token).toBeUndefined()
  expect((await second.previous()).users).toEqual(users.slice(0, 10))
})

test("a refusal reaches the caller with its status and its reason", async () => {
  const refused = client.v2.userTimeline("8", { max_results: 101 })
  await expect(refused).rejects.toMatchObject({ code: 400, data: { title: "Invalid Request" } })
})

test("the client looks up users by name and by ids, and finds the user of its token", async () => {
  await server.ingest(envelope(5_000, "a note"))
  const byName = await client.v2.userByUsername("WREN", { "user.fields": ["verified"] })
  expect(byName.data).toEqual({ id: "7", name: "Wren", username: "wren", verified: true })
  const byIds = await client.v2.users(["7", "8"])
  expect(byIds.data.map(({ username }) => username)).toEqual(["wren"])
  expect(byIds.errors?.[0]).toMatchObject({ value: "8", title: "Not Found Error" })
  const token = await server.running.apps.createUserToken(server.app.application_id, "7")
  const settings = await pageSettings()
  const own = new TwitterApi(token ?? "", settings(server.url))
  expect((await own.v2.me()).data).toMatchObject({ id: "7", username: "wren" })
  await expect(client.v2.me()).rejects.toMatchObject({ code: 403 })
})

test("the client writes, answers and quotes posts as the user of its token, and gets a duplicate as an error", async () => {
  await server.ingest(envelope(5_100, "a note"))
  const token = await server.running.apps.createUserToken(server.app.application_id, "7")
  const settings = await pageSettings()
  const own = new TwitterApi(token ?? "", settings(server.url))
  const { data } = await own.v2.tweet("written by a client")
  expect(data).toEqual({
    id: expect.any(String) as string,
    text: "written by a client",
    edit_history_tweet_ids: [data.id],
  })
  const reply = await own.v2.reply("an answer", data.id)
  const quote = await own.v2.quote("a quote", "5100")
  const shown = await own.v2.tweets([reply.data.id, quote.data.id], {
    "tweet.fields": ["referenced_tweets", "author_id"],
  })
  expect(shown.data).toMatchObject([
    { author_id: "7", referenced_tweets: [{ type: "replied_to", id: data.id }] },
    { author_id: "7", referenced_tweets: [{ type: "quoted", id: "5100" }] },
  ])
  await expect(own.v2.tweet("written by a client")).rejects.toMatchObject({
    code: 403,
    data: { detail: "You are not allowed to create a Tweet with duplicate content." },
  })
})

// PostgreSQL counts by its own time, which no test sets.
test.skipIf(isOnPostgres)(
  "the client stops at a limit of requests, tells its user until when, and goes on after that",
  async () => {
    const endpoint = "GET /2/users/:id/tweets"
    const id = server.app.application_id
    const setLimits = async (requests: OwnLimits["requests"]): Promise<void> => {
      const token = await server.running.apps.createToken("operator")
      await server.send("PUT", pathOf(paths.appLimits, { id }), { requests }, token)
    }
    await ingestNow("a plover", 20)
    await setLimits({ [endpoint]: { app: 2 } })
    onTestFinished(() => setLimits({}))
    vi.useFakeTimers({ toFake: ["Date"] })
    onTestFinished(() => void vi.useRealTimers())
    const timeline = await client.v2.userTimeline("7", { max_results: 5 })
    expect(timeline.rateLimit).toMatchObject({ limit: 2, remaining: 1 })
    await timeline.fetchLast(1_000)
    expect(timeline.tweets, "it stops after the second page").toHaveLength(10)
    expect(timeline.rateLimit.remaining).toBe(0)
    const refusal = await client.v2.userTimeline("7").catch((error: unknown) => error)
    expect(refusal).toBeInstanceOf(ApiResponseError)
    const { rateLimitError, rateLimit } = refusal as ApiResponseError
    expect([rateLimitError, rateLimit?.remaining]).toEqual([true, 0])
    const resetMs = (rateLimit?.reset ?? 0) * 1_000
    expect(resetMs - Date.now()).toBeLessThanOrEqual(15 * 60_000 + 1_000)
    expect(resetMs - Date.now()).toBeGreaterThan(14 * 60_000)
    vi.setSystemTime(resetMs + 1)
    await timeline.fetchNext(5)
    expect(timeline.tweets).toHaveLength(15)
    expect(timeline.rateLimit).toMatchObject({ limit: 2, remaining: 1 })
  },
)
