import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { envelope, startTestServer, type TestServer } from "../../../test/support/test-server.testing.ts"
import { createClient, type Client } from "./client.ts"
import type { PageOptions } from "./operations.ts"
import { listening } from "../../../test/support/listening.testing.ts"

/** A server whose pages lead on as the map says; the first page has the token "". */
function pagesThat(lead: Readonly<Record<string, string>>) {
  return listening((request, response) => {
    const token = new URL(request.url ?? "/", "http://x").searchParams.get("pagination_token") ?? ""
    response.end(JSON.stringify({ meta: { result_count: 1, next_token: lead[token] } }))
  })
}

test("pages follow their tokens to the last, each with the query of the first", async () => {
  const urls: (string | undefined)[] = []
  await using server = await listening((request, response) => {
    urls.push(request.url)
    const next = urls.length < 3 ? `t${String(urls.length)}` : undefined
    response.end(JSON.stringify({ data: [{ id: String(urls.length) }], meta: { next_token: next } }))
  })
  const client = createClient({ url: server.url, token: "t" })
  const found = await Array.fromAsync(client.pages("rules", { query: { max_results: 1 } }))
  expect(found.flatMap(({ data = [] }) => data.map(({ id }) => id))).toEqual(["1", "2", "3"])
  const path = "/2/tweets/search/stream/rules?max_results=1"
  expect(urls).toEqual([path, `${path}&pagination_token=t1`, `${path}&pagination_token=t2`])
})

test.each([
  ["a page that leads to itself", { "": "a", a: "a" }],
  ["two pages that lead to each other", { "": "a", a: "b", b: "a" }],
  ["a circle that begins late", { "": "a", a: "b", b: "c", c: "d", d: "e", e: "c" }],
])("%s ends the iteration with an error", async (_, lead) => {
  await using server = await pagesThat(lead)
  const client = createClient({ url: server.url, token: "t" })
  let count = 0
  const read = async (): Promise<void> => {
    for await (const _page of client.pages("links")) if (++count > 100) return
  }
  await expect(read()).rejects.toMatchObject({ name: "ApiError", kind: "response", status: undefined })
  expect(count).toBeLessThan(20)
})

describe("the pages of a real server", () => {
  let server: TestServer
  let client: Client

  beforeAll(async () => {
    server = await startTestServer()
    client = createClient({ url: server.url, token: server.app.bearer_token })
    const numbers = Array.from({ length: 23 }, (_, at) => at + 1)
    await client.rules.sync(numbers.map((number) => ({ value: `word${String(number)}` })))
    await server.ingest(...numbers.map((number) => envelope(number, "a cat")))
  })
  afterAll(() => server[Symbol.asyncDispose]())

  /** Ids of each page. */
  async function idsOf(options: PageOptions): Promise<readonly (readonly string[])[]> {
    const given = { parameters: { id: "7" }, ...options }
    const found = await Array.fromAsync(client.pages("userPosts", given))
    return found.map(({ data = [] }) => data.map(({ id }) => id))
  }

  test("posts are read to the oldest, and from any page back to the newest", async () => {
    const older = await idsOf({ query: { max_results: 5 } })
    expect(older.map(({ length }) => length)).toEqual([5, 5, 5, 5, 3])
    expect(older.flat()).toEqual(Array.from({ length: 23 }, (_, at) => String(23 - at)))
    let token: string | undefined
    for await (const { meta } of client.pages("userPosts", { parameters: { id: "7" }, query: { max_results: 5 } })) {
      token = meta?.next_token ?? token
    }
    const newer = await idsOf({ query: { max_results: 5, pagination_token: token }, direction: "newer" })
    expect(newer).toEqual(older.toReversed())
    expect(await idsOf({ query: { max_results: 5 }, direction: "newer" })).toEqual([older[0]])
  })

  test("rules are read both ways, too", async () => {
    const query = { max_results: 10 }
    const older = await Array.fromAsync(client.pages("rules", { query }))
    const last = older.at(-2)?.meta.next_token
    const newer = await Array.fromAsync(
      client.pages("rules", { query: { ...query, pagination_token: last }, direction: "newer" }),
    )
    const valuesOf = (pages: typeof older) => pages.map(({ data = [] }) => data.map(({ value }) => value))
    expect(valuesOf(older).flat()).toHaveLength(23)
    expect(valuesOf(newer)).toEqual(valuesOf(older).toReversed())
  })

  test("an aborted iteration throws the reason of its signal before the next page", async () => {
    const stop = new AbortController()
    const reason = new Error("enough")
    const read: string[] = []
    const reading = (async () => {
      for await (const { data = [] } of client.pages("rules", { query: { max_results: 10 }, signal: stop.signal })) {
        read.push(...data.map(({ id }) => id))
        stop.abort(reason)
      }
    })()
    await expect(reading).rejects.toBe(reason)
    expect(read).toHaveLength(10)
  })
})
