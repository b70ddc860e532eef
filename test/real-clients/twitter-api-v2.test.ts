/** twitter-api-v2, as its users have it, but for the address: a plugin rewrites it, since the client has no option. */
import { Agent } from "node:http"
import { ETwitterStreamEvent, TwitterApi, type ITwitterApiClientPlugin } from "twitter-api-v2"
import { afterAll, beforeAll, expect, test } from "vitest"
import { envelope, startTestServer, type TestServer } from "../support/running-server.testing.ts"

let server: TestServer
let client: TwitterApi

/** The same path at another address. */
function at(url: string): ITwitterApiClientPlugin {
  const rewrite = (params: { url: string }): void => {
    params.url = params.url.replace(/^https:\/\/api\.(?:x|twitter)\.com/, url)
  }
  return {
    onBeforeRequestConfig: ({ params }) => rewrite(params),
    onBeforeStreamRequestConfig: ({ params }) => rewrite(params),
  }
}

beforeAll(async () => {
  server = await startTestServer()
  const login = new TwitterApi(
    { appKey: server.app.consumer_key, appSecret: server.app.consumer_secret },
    { plugins: [at(server.url)], httpAgent: new Agent() },
  )
  client = await login.appLogin()
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

test("the app logs in with its consumer key and secret", () => {
  expect(client.getActiveTokens()).toEqual({ type: "oauth2", bearerToken: server.app.bearer_token })
})

test("rules are added, listed and deleted, and bad ones come back as errors", async () => {
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
  await client.v2.updateStreamRules({ add: [{ value: "猫 OR cat", tag: "cats" }] })
  const stream = await client.v2.searchStream({ "tweet.fields": ["created_at"], expansions: ["author_id"] })
  const texts: string[] = []
  stream.on(ETwitterStreamEvent.Data, (event) => {
    expect(event.matching_rules[0]?.tag).toBe("cats")
    expect(event.includes?.users?.[0]?.username).toBe("wren")
    texts.push(event.data.text)
  })
  const sent = Array.from({ length: 300 }, (_, index) => `猫 ${"🐈\u200D⬛ é ا".repeat(index % 40)} ${index}`)
  await server.pour(...sent.map((text, index) => envelope(1_000 + index, text)))
  await expect.poll(() => texts.length).toBe(sent.length)
  expect(texts).toEqual(sent)
  stream.close()
})

test("the timeline's paginator reaches the last page", async () => {
  await server.pour(
    ...Array.from({ length: 57 }, (_, index) => envelope(10_000 + index, "post", { author_id: "8" })),
  )
  const timeline = await client.v2.userTimeline("8", { max_results: 10 })
  const ids: string[] = []
  for await (const post of timeline) ids.push(post.id)
  expect(ids).toEqual(Array.from({ length: 57 }, (_, index) => String(10_056 - index)))
  expect(timeline.meta.next_token).toBeUndefined()
})

test("a refusal reaches the caller with its status and its reason", async () => {
  const refused = client.v2.userTimeline("8", { max_results: 101 })
  await expect(refused).rejects.toMatchObject({ code: 400, data: { title: "Invalid Request" } })
})
