import { paths } from "@sluice/api"
import { afterAll, beforeAll, expect, test } from "vitest"
import { startTestServer, type TestServer } from "../../../../../test/support/test-server.testing.ts"
import { checkedByX } from "../../../../../test/support/x-document.testing.ts"

let server: TestServer

beforeAll(async () => {
  server = checkedByX(await startTestServer())
})

afterAll(() => server[Symbol.asyncDispose]())

test("a page of large posts ends before its max_results, and all pages can be read in turn", async () => {
  const urls = Array.from({ length: 1_000 }, (_, at) => ({ start: at, end: at + 1, url: "x".repeat(200) }))
  const posts = Array.from({ length: 12 }, (_, id) => ({
    data: { id: String(id + 1), text: "a heron", author_id: "7", entities: { urls } },
  }))
  const ingested = await server.call(paths.posts, {
    method: "POST",
    body: posts.map((post) => `${JSON.stringify(post)}\n`).join(""),
    headers: { "content-type": "application/x-ndjson" },
  })
  expect(ingested.body).toMatchObject({ accepted: 12 })
  const path = `${paths.userPosts.replace(":id", "7")}?max_results=100&tweet.fields=entities`
  // More than may be held at once by clients that do not read.
  for (let round = 0; round < 12; round += 1) {
    const first = await server.call(path)
    const { data, meta } = first.body as { data: unknown[]; meta: { next_token: string } }
    expect(first.text.length).toBeGreaterThan(2_000_000)
    expect(data.length).toBeLessThan(12)
    if (round > 0) continue
    const rest = await server.call(`${path}&pagination_token=${meta.next_token}`)
    expect((rest.body as { data: unknown[] }).data).toHaveLength(12 - data.length)
  }
})

test("a page is answered in the names of the request, with all that X's document requires under the new ones", async () => {
  await server.ingest({
    data: {
      id: "101",
      text: "an egret",
      author_id: "8",
      referenced_tweets: [{ type: "quoted", id: "100" }],
      public_metrics: { retweet_count: 2 },
    },
    includes: {
      users: [{ id: "8", username: "robin", name: "Robin", public_metrics: { tweet_count: 3 } }],
      tweets: [{ id: "100", text: "quoted", public_metrics: { retweet_count: 4 } }],
    },
  })
  const path = `${paths.userPosts.replace(":id", "8")}?user.fields=public_metrics&expansions=author_id,`
  const older = await server.call(`${path}referenced_tweets.id&tweet.fields=public_metrics`)
  expect(older.body).toMatchObject({
    data: [{ referenced_tweets: [{ id: "100" }], public_metrics: { retweet_count: 2 } }],
    includes: { tweets: [{ id: "100" }], users: [{ public_metrics: { tweet_count: 3 } }] },
  })
  const newer = await server.call(`${path}referenced_posts&post.fields=public_metrics`)
  expect(newer.body).toMatchObject({
    data: [{ referenced_posts: [{ id: "100" }], public_metrics: { repost_count: 2, impression_count: 0 } }],
    includes: { posts: [{ id: "100" }], users: [{ public_metrics: { post_count: 3, listed_count: 0 } }] },
  })
  const wrong = await server.call(`${path}dummy`)
  expect(wrong.status).toBe(400)
})
