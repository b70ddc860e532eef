/** Methods of resources, and the lists that they return, on a real server where that matters. */
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, describe, expect, expectTypeOf, test } from "vitest"
import { listening } from "../../../test/support/listening.testing.ts"
import { envelope, startTestServer, type TestServer } from "../../../test/support/test-server.testing.ts"
import { createClient, type Client } from "./client.ts"

describe("a request", () => {
  /** The requests that a method sends. */
  async function sent(call: (client: Client) => Promise<unknown>): Promise<readonly unknown[]> {
    const requests: unknown[] = []
    const client = createClient({
      url: "",
      async fetch(url, { method, headers, body }) {
        const { "content-type": type, ...others } = headers as Readonly<Record<string, string>>
        requests.push({ method, url, ...(type !== undefined && { type, body }), ...others })
        return new Response("{}")
      },
    })
    await call(client)
    return requests
  }

  test("has the parameters of its path in order, its body, its query and the caller's headers", async () => {
    expect(await sent(({ links }) => links.getAttempt("7", "a/b", { headers: { "sluice-app": "1" } }))).toEqual([
      { method: "GET", url: "/sluice/v1/links/7/attempts/a%2Fb", "sluice-app": "1" },
    ])
    expect(await sent(({ rules }) => rules.changeTag("7", { tag: "pets" }))).toEqual([
      { method: "PATCH", url: "/sluice/v1/rules/7", type: "application/json", body: '{"tag":"pets"}' },
    ])
    const options = {
      query: "cat dog",
      "tweet.fields": ["lang", "entities"],
      max_results: 10,
      since_id: undefined,
    } as const
    expect(await sent(({ posts }) => posts.searchRecent(options))).toEqual([
      { method: "GET", url: "/2/tweets/search/recent?query=cat+dog&tweet.fields=lang%2Centities&max_results=10" },
    ])
  })

  test("has posts as lines of JSON, and rules in the form that the API has for each change", async () => {
    const posts = [{ data: { id: "1", text: "a" } }, { data: { id: "2", text: "b" } }]
    expect(await sent((client) => client.posts.send(posts, { deliver: false }))).toEqual([
      {
        method: "POST",
        url: "/sluice/v1/posts?deliver=false",
        type: "application/x-ndjson",
        body: posts.map((post) => `${JSON.stringify(post)}\n`).join(""),
      },
    ])
    const json = { method: "POST", type: "application/json" }
    const path = "/2/tweets/search/stream/rules"
    expect(await sent(({ rules }) => rules.add([{ value: "cat", tag: undefined }], { dry_run: true }))).toEqual([
      { ...json, url: `${path}?dry_run=true`, body: '{"add":[{"value":"cat"}]}' },
    ])
    expect(await sent(({ rules }) => rules.delete({ ids: ["1"] }))).toEqual([
      { ...json, url: path, body: '{"delete":{"ids":["1"]}}' },
    ])
    expect(await sent(({ rules }) => rules.delete({ values: ["cat"] }))).toEqual([
      { ...json, url: path, body: '{"delete":{"values":["cat"]}}' },
    ])
    expect(await sent(({ rules }) => rules.deleteAll())).toEqual([{ method: "POST", url: `${path}?delete_all=true` }])
  })

  test("without a parameter of its path is rejected, and options that the API does not have do not compile", async () => {
    // @ts-expect-error: an attempt has two ids.
    await expect(sent(({ links }) => links.getAttempt("7"))).rejects.toThrow("needs attempt_id")
    // @ts-expect-error: a search has a query.
    await sent(({ posts }) => posts.searchRecent({}))
    // @ts-expect-error: the parameter is called tweet.fields.
    await sent(({ posts }) => posts.searchRecent({ query: "cat", "tweet.field": ["lang"] }))
    // @ts-expect-error: no such field.
    await sent(({ posts }) => posts.searchRecent({ query: "cat", "tweet.fields": ["language"] }))
    // @ts-expect-error: no such parameter.
    await sent(({ rules }) => rules.get({ max: 5 }))
    // @ts-expect-error: a webhook has a URL.
    await sent(({ webhooks }) => webhooks.create({}))
  })
})

describe("a list", () => {
  test("leaves no rejection unhandled when its iteration begins late, and throws the failure then", async () => {
    await using server = await listening((_, response) => response.writeHead(400).end('{"title":"Invalid Request"}'))
    const items = createClient({ url: server.url }).rules.get().items()
    await sleep(200)
    await expect(items.next()).rejects.toMatchObject({ status: 400, title: "Invalid Request" })
  })

  test("requests the page once that it is the promise of, and each later page when it is read", async () => {
    const urls: (string | undefined)[] = []
    await using server = await listening((request, response) => {
      urls.push(request.url)
      const next = urls.length < 3 ? `t${String(urls.length)}` : undefined
      response.end(JSON.stringify({ data: [{ id: String(urls.length) }], meta: { next_token: next } }))
    })
    const rules = createClient({ url: server.url }).rules.get({ max_results: 1 })
    expect((await rules).data).toEqual([{ id: "1" }])
    const items = rules.items()
    expect((await items.next()).value).toEqual({ id: "1" })
    expect(urls).toHaveLength(1)
    expect(await Array.fromAsync(items)).toEqual([{ id: "2" }, { id: "3" }])
    const path = "/2/tweets/search/stream/rules?max_results=1"
    expect(urls).toEqual([path, `${path}&pagination_token=t1`, `${path}&pagination_token=t2`])
  })

  test("an aborted one throws the reason of its signal before the next page", async () => {
    await using server = await listening((request, response) =>
      response.end(JSON.stringify({ data: [{ id: request.url }], meta: { next_token: request.url } })),
    )
    const stop = new AbortController()
    const read: unknown[] = []
    const reading = (async () => {
      for await (const rule of createClient({ url: server.url }).rules.get({ signal: stop.signal }).items()) {
        read.push(rule)
        stop.abort(new Error("enough"))
      }
    })()
    await expect(reading).rejects.toThrow("enough")
    expect(read).toHaveLength(1)
  })
})

describe("on a real server", () => {
  let server: TestServer
  let client: Client

  beforeAll(async () => {
    server = await startTestServer()
    client = createClient({ url: server.url, token: server.app.bearer_token })
    const numbers = Array.from({ length: 23 }, (_, at) => at + 1)
    await client.posts.send(numbers.map((number) => envelope(number, `a heron ${String(number)}`)))
  })
  afterAll(() => server[Symbol.asyncDispose]())

  const idsDown = (from: number, to: number) => Array.from({ length: from - to + 1 }, (_, at) => String(from - at))

  test("items come newest first from all pages, and oldest first from any page back", async () => {
    const older = await Array.fromAsync(client.users.getPosts("7", { max_results: 5 }).items())
    expect(older.map(({ id }) => id)).toEqual(idsDown(23, 1))
    const pages = await Array.fromAsync(client.users.getPosts("7", { max_results: 5 }).pages())
    expect(pages.map(({ data = [] }) => data.length)).toEqual([5, 5, 5, 5, 3])
    expect(pages[0]?.meta).toMatchObject({ result_count: 5, newest_id: "23" })
    const token = pages[1]?.meta?.next_token
    const last = client.users.getPosts("7", { max_results: 5, pagination_token: token })
    const newer = await Array.fromAsync(last.items({ direction: "newer" }))
    expect(newer.map(({ id }) => id)).toEqual(idsDown(23, 9).toReversed())
    expect((await Array.fromAsync(last.pages({ direction: "newer" }))).map(({ data = [] }) => data[0]?.id)).toEqual([
      "13",
      "18",
      "23",
    ])
  })

  test("a search leads to older posts only, and finds what was sent a moment ago", async () => {
    const search = client.posts.searchAll({ query: "heron", max_results: 10 })
    expect((await Array.fromAsync(search.items())).map(({ id }) => id)).toEqual(idsDown(23, 1))
    // @ts-expect-error: X's searches have no previous_token.
    expect(await Array.fromAsync(search.items({ direction: "newer" }))).toHaveLength(10)
  })

  test("intervals of counts come newest first too, though a page has them the other way", async () => {
    const query = { query: "heron", start_time: "2026-01-01T00:00:00Z", end_time: "2026-03-15T00:00:00Z" } as const
    const counts = client.posts.getCountsAll({ ...query, granularity: "day" })
    const { data } = await counts
    expect(data.map(({ start }) => start)).toEqual(data.map(({ start }) => start).toSorted())
    const starts = (await Array.fromAsync(counts.items())).map(({ start }) => start)
    expect(starts).toHaveLength(73)
    expect(starts).toEqual(starts.toSorted().toReversed())
  })

  test("look-ups name what is not there", async () => {
    const found = await client.posts.getByIds({ ids: ["3", "999"] })
    expect(found.data?.map(({ id }) => id)).toEqual(["3"])
    expect(found.errors).toMatchObject([{ value: "999", title: "Not Found Error" }])
    expect(await client.users.getByUsername("nobody")).toMatchObject({ errors: [{ title: "Not Found Error" }] })
    await expect(client.users.getMe()).rejects.toMatchObject({ status: 403 })
  })

  test("rules are added, listed, changed, tested and deleted", async () => {
    const dry = await client.rules.add([{ value: "heron" }], { dry_run: true })
    expect(dry.meta.summary).toMatchObject({ created: 1 })
    const { data: added = [] } = await client.rules.add([{ value: "heron" }, { value: "egret" }, { value: "ibis" }])
    expect((await Array.fromAsync(client.rules.get().items())).map(({ value }) => value).toSorted()).toEqual([
      "egret",
      "heron",
      "ibis",
    ])
    const [heron] = added
    const { data: tagged } = await client.rules.changeTag(heron?.id ?? "", { tag: "birds" })
    expect(tagged).toMatchObject({ value: "heron", tag: "birds" })
    expect((await client.rules.test({ value: "heron", recent: 5 })).meta).toMatchObject({ tested: 5, matched: 5 })
    await client.rules.delete({ values: ["egret"] })
    await client.rules.deleteAll()
    expect((await client.rules.getCounts()).data.project_rules_count).toBe("0")
  })

  test("webhooks are created, linked, listed and deleted", async () => {
    const id = await server.webhook()
    const linked = await client.webhooks.createStreamLink(id, { "tweet.fields": ["lang"] })
    expect(linked.data).toEqual({ provisioned: true })
    const [link, ...others] = await Array.fromAsync(client.webhooks.getStreamLinks().items())
    expect([link?.webhook_id, others]).toEqual([id, []])
    expect((await Array.fromAsync(client.webhooks.get().items())).map((webhook) => webhook.id)).toEqual([id])
    expect((await client.links.change(id, { ordered: true })).data.ordered).toBe(true)
    expect((await Array.fromAsync(client.links.get({ max_results: 1 }).items()))[0]).toMatchObject({ webhook_id: id })
    expect((await client.links.change(id, { paused: true })).data).toMatchObject({ ordered: true, paused: true })
    expect((await client.links.change(id, { paused: false })).data.paused).toBe(false)
    expect((await client.webhooks.getSigningKey(id)).data.signing_key).toMatch(/^whsec_/)
    await client.webhooks.deleteStreamLink(id)
    await client.webhooks.delete(id)
    expect((await client.webhooks.get()).data).toEqual([])
  })

  test("a response has the old names or the new ones as the request does, in its type too", async () => {
    const quoting = {
      data: {
        id: "102",
        text: "a quote",
        author_id: "7",
        public_metrics: { retweet_count: 3 },
        referenced_tweets: [{ type: "quoted", id: "101" }],
      },
      includes: { tweets: [{ id: "101", text: "quoted", author_id: "7" }] },
    } as const
    await client.posts.send([quoting])
    const old = await client.posts.getById("102", {
      "tweet.fields": ["public_metrics"],
      expansions: ["referenced_tweets.id"],
    })
    expect(old.data?.referenced_tweets).toEqual([{ type: "quoted", id: "101" }])
    expect(old.data?.public_metrics?.retweet_count).toBe(3)
    expect(old.includes?.tweets?.map(({ id }) => id)).toEqual(["101"])
    // @ts-expect-error: a name of the other vocabulary.
    expect(old.data?.referenced_posts).toBe(undefined)
    // @ts-expect-error: a name of the other vocabulary.
    expect(old.includes?.posts).toBe(undefined)

    const fresh = await client.posts.getById("102", {
      "post.fields": ["public_metrics"],
      expansions: ["referenced_posts"],
    })
    expect(fresh.data?.referenced_posts).toEqual([{ type: "quoted", id: "101" }])
    expect(fresh.data?.public_metrics?.repost_count).toBe(3)
    expectTypeOf(fresh.data?.public_metrics?.bookmark_count).toEqualTypeOf<number | undefined>()
    expect(fresh.includes?.posts?.map(({ id }) => id)).toEqual(["101"])
    // @ts-expect-error: a name of the other vocabulary.
    expect(fresh.data?.referenced_tweets).toBe(undefined)
    // @ts-expect-error: a name of the other vocabulary.
    expect(fresh.data?.public_metrics?.retweet_count).toBe(undefined)

    for await (const post of client.posts.searchAll({ query: "quote", expansions: ["referenced_posts"] }).items()) {
      expect(post.referenced_posts?.[0]?.id).toBe("101")
    }
    for await (const { includes } of client.users.getPosts("7", { expansions: ["author_id"] }).pages()) {
      expectTypeOf(includes?.tweets?.[0]?.referenced_tweets?.[0]?.id).toEqualTypeOf<string | undefined>()
    }
  })
})
