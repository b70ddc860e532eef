/** X's own SDK, @xdevplatform/xdk, in the form that its users install: only the base URL and the token are ours. */
import { readFileSync } from "node:fs"
import { paths, snowflakeEpochMs } from "@sluice/api"
import { Client, OAuth1, Paginator, type PaginatedResponse } from "@xdevplatform/xdk"
import { isSampled } from "@sluice/rules"
import { afterAll, beforeAll, expect, test } from "vitest"
import { envelope, startTestServer, type TestServer } from "../support/test-server.testing.ts"
import { WebhookReceiver } from "../support/webhook-receiver.testing.ts"

/** A record as the SDK returns it: the SDK keeps the names of members. */
interface StreamedMatch {
  readonly data: { readonly id: string }
  readonly matching_rules?: readonly { readonly tag?: string }[]
}

let server: TestServer
let receiver: WebhookReceiver
let client: Client

beforeAll(async () => {
  server = await startTestServer()
  receiver = await WebhookReceiver.start(server.app.consumer_secret)
  client = new Client({ baseUrl: server.url, bearerToken: server.app.bearer_token })
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await receiver[Symbol.asyncDispose]()
})

test("the XDK adds, lists, counts and deletes rules", async () => {
  const added = await client.stream.updateRules({
    add: [{ value: "cat", tag: "pets" }, { value: "dog" }, { value: "a cat" }],
  })
  expect(added.meta).toMatchObject({ summary: { created: 3 } })
  const listed = await client.stream.getRules()
  expect(listed.data?.map((rule) => rule.value)).toEqual(["a cat", "dog", "cat"])
  expect((await client.stream.getRuleCounts()).data).toMatchObject({ clientAppRulesCount: { ruleCount: 3 } })
  const id = listed.data?.[1]?.id
  expect((await client.stream.updateRules({ delete: { ids: [id] } })).meta).toMatchObject({
    summary: { deleted: 1 },
  })
})

test("the XDK gets no data for an app without rules, and deletes all rules at once", async () => {
  const { url, app } = await server.newApp()
  const own = new Client({ baseUrl: url, bearerToken: app.bearer_token })
  expect((await own.stream.getRules()).data).toBeUndefined()
  await own.stream.updateRules({ add: [{ value: "cat" }, { value: "dog" }] })
  const counts = await own.stream.getRuleCounts({ rulesCountFields: ["client_app_rules_count"] } as object)
  expect(counts.data).toMatchObject({ clientAppRulesCount: { ruleCount: 2 } })
  expect((await own.stream.updateRules({}, { deleteAll: true })).meta).toMatchObject({
    summary: { deleted: 2 },
  })
  expect((await own.stream.getRules()).data).toBeUndefined()
})

test("the server accepts every field and expansion of the XDK's typed lists", async () => {
  const types = readFileSync(new URL(import.meta.resolve("@xdevplatform/xdk").replace(/\.js$/, ".d.ts")), "utf8")
  const interfaces = [
    ...types.matchAll(/^interface (?:PostsStreamingOptions|GetPostsOptions(?:\$\d)?) \{\n(.*?)^\}/gms),
  ].map(([, members = ""]) => members)
  expect(interfaces.length).toBeGreaterThanOrEqual(3)
  const names = new Set<string>()
  for (const members of interfaces) {
    const lists = [...members.matchAll(/(\w+)\?: Array<([^>]+)>/g)].flatMap(([, member = "", values = ""]) => {
      const parameter = member.replace("Fields", ".fields")
      if (parameter === "exclude") return []
      names.add(parameter)
      return [`${parameter}=${[...values.matchAll(/"([^"]+)"/g)].map(([, value = ""]) => value).join(",")}`]
    })
    const { status, text } = await server.call(`${paths.userPosts.replace(":id", "9")}?${lists.join("&")}`)
    expect(status, text).toBe(200)
  }
  expect([...names]).toEqual(expect.arrayContaining(["tweet.fields", "post.fields", "user.fields", "expansions"]))
  expect(types).toContain('webhookConfigFields?: Array<"created_at" | "id" | "url" | "valid">')
  const webhooks = await client.webhooks.get({ webhookConfigFields: ["created_at", "id", "url", "valid"] })
  expect(webhooks.data).toEqual([])
})

test("the server refuses a write that the XDK signs with OAuth 1.0a because it has keys in addition to the token", async () => {
  const keys = { apiKey: "k", apiSecret: "s", accessToken: "t", accessTokenSecret: "u", callback: "oob" }
  const signing = new Client({
    baseUrl: server.url,
    bearerToken: server.app.bearer_token,
    oauth1: new OAuth1(keys),
  })
  await expect(signing.webhooks.create({ url: receiver.url })).rejects.toMatchObject({
    status: 403,
    message:
      "Authenticating with OAuth 1.0a User Context is forbidden for this endpoint.  " +
      "Supported authentication types are [OAuth 2.0 Application-Only].",
  })
  expect((await signing.webhooks.get()).data).toEqual([])
})

test("the XDK creates, lists, challenges, links, unlinks and deletes a webhook", async () => {
  const created = (await client.webhooks.create({ url: receiver.url })) as unknown as {
    data: { id: string; valid: boolean }
  }
  const { id } = created.data
  expect(created.data.valid).toBe(true)
  expect((await client.webhooks.get()).data).toMatchObject([{ id, url: receiver.url, valid: true }])
  expect(await client.webhooks.validate(id)).toMatchObject({ data: { valid: true } })
  expect(await client.webhooks.createStreamLink(id)).toMatchObject({ data: { provisioned: true } })

  await server.ingest(envelope(1, "a cat"))
  await receiver.arrived(1)
  expect(receiver.refusals).toEqual([])
  expect(JSON.parse(receiver.received[0]?.body ?? "")).toMatchObject({
    data: { id: "1", text: "a cat" },
    matching_rules: [{ tag: "pets" }, { tag: "" }],
  })

  const links = (await client.webhooks.getStreamLinks()).data
  expect(links).toEqual({
    links: [
      {
        applicationId: server.app.application_id,
        businessUserId: server.app.business_user_id,
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string,
        fields: [],
        instanceId: server.app.instance_id,
        webhookId: id,
      },
    ],
  })
  expect(await client.webhooks.deleteStreamLink(id)).toMatchObject({ data: { deleted: true } })
  expect((await client.webhooks.getStreamLinks()).data).toEqual({ links: [] })
  expect(await client.webhooks.delete(id)).toMatchObject({ data: { deleted: true } })
})

test("the stream delivers matches as they come", async () => {
  const stream = await client.stream.posts({
    tweetFields: ["created_at"],
    expansions: ["in_reply_to_user_id"],
  } as object)
  const ids: string[] = []
  const tags = new Set<unknown>()
  const reading = (async () => {
    for await (const event of stream as AsyncIterable<StreamedMatch>) {
      ids.push(event.data.id)
      tags.add(JSON.stringify(event.matching_rules?.map(({ tag }) => tag)))
      if (ids.length === 50) return
    }
  })()
  // The server does not know the users that they answer, so each record has errors in addition to its data.
  const replies = { in_reply_to_user_id: "6" }
  await server.ingest(...Array.from({ length: 50 }, (_, index) => envelope(100 + index, "a cat again", replies)))
  await reading
  expect(ids).toEqual(Array.from({ length: 50 }, (_, index) => String(100 + index)))
  expect([...tags]).toEqual(['["pets",""]'])
  stream.close()
})

test("the XDK's paginator reads a user's posts forward to the end", async () => {
  await server.ingest(...Array.from({ length: 43 }, (_, index) => envelope(1_000 + index, "post", { author_id: "9" })))
  const pages = new Paginator<{ id: string }>(async (token) => {
    const page = await client.users.getPosts("9", {
      maxResults: 10,
      ...(token !== undefined && { paginationToken: token }),
    })
    return page as unknown as PaginatedResponse<{ id: string }>
  })
  await pages.fetchNext()
  while (!pages.done) await pages.fetchNext()
  expect(pages.items.map(({ id }) => id)).toEqual(Array.from({ length: 43 }, (_, index) => String(1_042 - index)))
})

test("the XDK looks posts up by their ids in either vocabulary, and gets those that are missing as errors", async () => {
  const metrics = { retweet_count: 2, like_count: 1 }
  await server.ingest(
    envelope(20_001, "one"),
    envelope(20_002, "two", { public_metrics: metrics, referenced_tweets: [{ type: "quoted", id: "20001" }] }),
  )
  const older = await client.posts.getByIds(["20002", "404", "20001"], { expansions: ["author_id"] })
  expect((older.data as { id: string }[]).map(({ id }) => id)).toEqual(["20002", "20001"])
  expect(older.data?.[0]).toMatchObject({ authorId: "7", editHistoryTweetIds: ["20002"] })
  expect(older.errors).toHaveLength(1)
  const newer = await client.posts.getById("20002", {
    postFields: ["public_metrics"],
    expansions: ["referenced_posts"],
  } as object)
  expect(newer.data).toMatchObject({
    id: "20002",
    referencedPosts: [{ type: "quoted", id: "20001" }],
    publicMetrics: { repostCount: 2, likeCount: 1, bookmarkCount: 0 },
  })
  expect((await client.posts.getById("404")).data).toBeUndefined()
})

test("the XDK searches and counts posts, and lists the mentions of a user, page by page", async () => {
  const nowMs = Date.now()
  const mention = { entities: { mentions: [{ start: 0, end: 5, id: "7", username: "wren" }] } }
  const ids = Array.from({ length: 23 }, (_, index) =>
    String((BigInt(nowMs - (index + 1) * 60_000 - snowflakeEpochMs) << 22n) + 1n),
  )
  await server.ingest(...ids.map((id) => envelope(id, "@wren a plover", mention)))
  const everyPage = async (read: (token: string | undefined) => Promise<unknown>): Promise<readonly string[]> => {
    const pages = new Paginator<{ id: string }>(
      async (token) => (await read(token)) as PaginatedResponse<{ id: string }>,
    )
    await pages.fetchNext()
    while (!pages.done) await pages.fetchNext()
    return pages.items.map(({ id }) => id)
  }
  const options = { maxResults: 10 }
  const searched = everyPage((token) =>
    client.posts.searchRecent("plover", { ...options, ...(token !== undefined && { nextToken: token }) }),
  )
  expect(await searched).toEqual(ids)
  const mentions = everyPage((token) =>
    client.users.getMentions("7", { ...options, ...(token !== undefined && { paginationToken: token }) }),
  )
  expect(await mentions).toEqual(ids)
  const counts = await client.posts.getCountsRecent("plover", { granularity: "hour" })
  expect(counts.meta).toMatchObject({ totalTweetCount: 23 })
  expect(counts.data).toHaveLength(169)
  const newer = await client.posts.searchRecent("plover", { postFields: ["public_metrics"] } as object)
  expect(newer.data?.[0]).toMatchObject({ id: ids[0], editHistoryPostIds: [ids[0]] })
})

test("the XDK lists the users who reposted a post, with what their expansions lead to", async () => {
  const club = { id: "42001", name: "Club", username: "club" }
  const user = {
    id: "42002",
    name: "Reposter",
    username: "reposter",
    pinned_tweet_id: "42010",
    affiliation: { user_id: ["42001"] },
    public_metrics: { tweet_count: 3 },
  }
  const references = { referenced_tweets: [{ type: "retweeted", id: "42010" }] }
  await server.ingest(envelope(42_010, "the original"), {
    data: { id: "42011", text: "RT", author_id: user.id, ...references },
    includes: { users: [club, user] },
  })
  const { data, includes, meta } = await client.posts.getRepostedBy("42010", {
    userFields: ["public_metrics"],
    expansions: ["affiliation", "pinned_post_id"],
    postFields: ["lang"],
  })
  expect(data).toMatchObject([{ id: user.id, pinnedPostId: "42010", publicMetrics: { postCount: 3, listedCount: 0 } }])
  expect(includes).toMatchObject({ users: [{ id: club.id }], posts: [{ id: "42010", text: "the original" }] })
  expect(meta).toMatchObject({ resultCount: 1 })
})

test("a refusal reaches the caller with its reason", async () => {
  await expect(client.users.getPosts("abc")).rejects.toMatchObject({ status: 400 })
  await expect(client.webhooks.validate("404")).rejects.toMatchObject({
    status: 404,
    message: expect.stringContaining("404") as string,
  })
})

test("the XDK looks up users by name and by ids, and finds the user of its token", async () => {
  await server.ingest(envelope(5_000, "a note"))
  const byName = await client.users.getByUsername("WREN", { userFields: ["verified"] })
  expect(byName.data).toMatchObject({ id: "7", name: "Wren", username: "wren", verified: true })
  const byIds = await client.users.getByIds(["7", "8"])
  expect(byIds.data).toMatchObject([{ id: "7" }])
  expect(byIds.errors).toMatchObject([{ title: "Not Found Error" }])
  const token = await server.running.apps.createUserToken(server.app.application_id, "7")
  const own = new Client({ baseUrl: server.url, accessToken: token ?? "" })
  expect((await own.users.getMe()).data).toMatchObject({ id: "7", username: "wren" })
})

test("the XDK writes and edits posts as the user of its token", async () => {
  const token = await server.running.apps.createUserToken(server.app.application_id, "7")
  const own = new Client({ baseUrl: server.url, accessToken: token ?? "" })
  const first = await own.posts.create({ text: "written by the XDK" })
  const id = (first.data as { readonly id: string }).id
  const second = await own.posts.create({ text: "edited by the XDK", editOptions: { previousPostId: id } })
  expect(second.data).toMatchObject({ text: "edited by the XDK", editHistoryTweetIds: [id, expect.any(String)] })
  await expect(own.posts.create({ text: "edited by the XDK" })).rejects.toMatchObject({ status: 403 })
})

test("the XDK's own connections call heals the connection that the XDK leaves open", async () => {
  const { url, app } = await server.newApp()
  const own = new Client({ baseUrl: url, bearerToken: app.bearer_token })
  await own.stream.updateRules({ add: [{ value: "cat" }] })
  const leaked = await own.stream.posts()
  leaked.close()
  // It has let go of the stream without ending the request.
  await expect(own.stream.posts()).rejects.toMatchObject({ status: 429 })
  const listed = await own.connections.getConnectionHistory()
  expect(listed.data).toMatchObject([{ endpointName: "filtered_stream", clientIp: "127.0.0.1" }])
  const id = listed.data?.[0]?.id ?? ""
  const ended = await own.connections.deleteByUuids({ uuids: [id] })
  expect(ended.data).toMatchObject({ successfulKills: 1, failedKills: 0, results: [{ uuid: id, success: true }] })
  const healed = await own.stream.posts()
  expect(await own.connections.deleteByEndpoint("sample_stream")).toMatchObject({ data: { successfulKills: 0 } })
  expect(await own.connections.deleteAll()).toMatchObject({ data: { successfulKills: 1 } })
  healed.close()
  expect((await own.connections.getConnectionHistory()).data).toEqual([])
  const past = await own.connections.getConnectionHistory({ status: "all", connectionFields: ["disconnect_reason"] })
  expect(past.data).toMatchObject([{ disconnectReason: "ForceDisconnect" }, { disconnectReason: "ForceDisconnect" }])
})

test("the XDK reads the sample streams", async () => {
  const { url, app } = await server.newApp()
  const own = new Client({ baseUrl: url, bearerToken: app.bearer_token })
  const streams = [await own.stream.postsSample(), await own.stream.postsSample10(2)]
  const ids = Array.from({ length: 400 }, (_, index) => String(80_000 + index))
  const wanted = [ids.filter((id) => isSampled(id, 1)), ids.filter((id) => isSampled(id, 10) && !isSampled(id, 5))]
  expect(wanted.every(({ length }) => length > 0)).toBe(true)
  const readings = streams.map(async (stream, at) => {
    const read: string[] = []
    for await (const { data } of stream as AsyncIterable<StreamedMatch>) {
      read.push(data.id)
      if (read.length === wanted[at]?.length) break
    }
    return read
  })
  await server.ingest(...ids.map((id) => envelope(id, "no rule matches this")))
  expect(await Promise.all(readings)).toEqual(wanted)
  await own.connections.deleteAll()
  for (const stream of streams) stream.close()
})
