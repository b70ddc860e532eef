import { paths } from "@sluice/api"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import {
  envelope,
  startTestServer,
  type TestApp,
  type TestServer,
} from "../../../../../test/support/test-server.testing.ts"
import { checkedByX } from "../../../../../test/support/x-document.testing.ts"
import { firstIdAt } from "../../model/ids.ts"

const routes = [paths.searchRecent, paths.searchAll, paths.countsRecent, paths.countsAll]
const [hourMs, dayMs] = [3_600_000, 86_400_000]

let server: TestServer
let nowMs: number

beforeAll(async () => {
  server = checkedByX(await startTestServer())
  nowMs = Date.now()
})

afterAll(() => server[Symbol.asyncDispose]())

const idAt = (atMs: number): string => String(firstIdAt(atMs))
const inPast = (ms: number): string => new Date(nowMs - ms).toISOString()

function search(path: string, parameters: Readonly<Record<string, string>>, app: TestApp = server) {
  return app.call(`${path}?${new URLSearchParams(parameters).toString()}`)
}

async function idsOf(path: string, parameters: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const { body } = await search(path, parameters)
  return (body.data as { id: string }[]).map(({ id }) => id)
}

test("an acknowledged post is found at once, and counted", async () => {
  for (let round = 0; round < 5; round += 1) {
    const id = idAt(nowMs - hourMs - round)
    await server.ingest(envelope(id, `heron number${round}`))
    expect(await idsOf(paths.searchRecent, { query: `number${round}` })).toEqual([id])
    const { body } = await search(paths.countsRecent, { query: `number${round} heron` })
    expect(body.meta).toEqual({ total_tweet_count: 1, total_post_count: 1 })
  }
  expect(await idsOf(paths.searchAll, { query: "heron" })).toHaveLength(5)
})

test("recent search has the last seven days, and the search of all has the rest, too", async () => {
  const [recent, old] = [idAt(nowMs - 6 * dayMs), idAt(nowMs - 8 * dayMs)]
  await server.ingest(envelope(recent, "an ibis"), envelope(old, "an ibis"))
  expect(await idsOf(paths.searchRecent, { query: "ibis" })).toEqual([recent])
  expect(await idsOf(paths.searchAll, { query: "ibis" })).toEqual([recent, old])
  expect(await idsOf(paths.searchAll, { query: "ibis", end_time: inPast(7 * dayMs) })).toEqual([old])
  expect(await idsOf(paths.searchAll, { query: "ibis", since_id: old })).toEqual([recent])
  expect(await idsOf(paths.searchAll, { query: "ibis", until_id: recent })).toEqual([old])
})

test("pages in both orders have each post once, while others arrive", async () => {
  const ids = Array.from({ length: 25 }, (_, at) => idAt(nowMs - 2 * hourMs - at * 1_000))
  await server.ingest(...ids.map((id, at) => envelope(id, at % 3 === 0 ? "a grebe, a coot" : "a grebe")))
  for (const sort_order of ["recency", "relevancy"]) {
    const seen: string[] = []
    let next: string | undefined
    do {
      const { body } = await search(paths.searchRecent, {
        query: "grebe OR coot",
        sort_order,
        ...(next !== undefined && { next_token: next }),
      })
      seen.push(...(body.data as { id: string }[]).map(({ id }) => id))
      expect(body.meta.previous_token).toBeUndefined()
      next = body.meta.next_token
      await server.ingest(envelope(String(firstIdAt(Date.now() + seen.length)), "a grebe, a coot"))
    } while (next !== undefined)
    expect(seen.filter((id) => ids.includes(id))).toHaveLength(25)
    expect(new Set(seen).size).toBe(seen.length)
    if (sort_order === "relevancy") expect(seen.filter((id) => ids.includes(id))).not.toEqual(ids)
    else expect(seen).toEqual(ids)
  }
})

test("pages by relevancy have each post that stays, while posts of earlier pages are deleted", async () => {
  const likes = (like_count: number) => ({ public_metrics: { like_count } })
  const ids = Array.from({ length: 25 }, (_, at) => idAt(nowMs - 4 * hourMs - at * 1_000))
  await server.ingest(...ids.map((id, at) => envelope(id, "a bittern", likes(at))))
  const seen: string[] = []
  let next: string | undefined
  do {
    const token = next === undefined ? {} : { next_token: next }
    const { body } = await search(paths.searchRecent, { query: "bittern", sort_order: "relevancy", ...token })
    const found = (body.data as { id: string }[]).map(({ id }) => id)
    seen.push(...found)
    next = body.meta.next_token
    await server.ingest(...found.slice(0, 3).map((id) => ({ data: { delete: { tweet: { id } } } })))
  } while (next !== undefined)
  expect(seen).toEqual(ids.toReversed())
  expect(await idsOf(paths.searchRecent, { query: "bittern", max_results: "100" })).toHaveLength(16)
})

test("two apps find the same posts, and a token serves only its own app, path and query", async () => {
  const ids = Array.from({ length: 12 }, (_, at) => idAt(nowMs - 3 * hourMs - at))
  await server.ingest(...ids.map((id) => envelope(id, "a stork")))
  const other = checkedByX(await server.newApp())
  const first = await search(paths.searchRecent, { query: "stork" })
  expect((await search(paths.searchRecent, { query: "stork" }, other)).body.data).toEqual(first.body.data)
  const token = first.body.meta.next_token as string
  const good = await search(paths.searchRecent, { query: "stork", pagination_token: token })
  expect(good.body.data).toHaveLength(2)
  const changed = token.replace(/.$/, (last) => (last === "0" ? "1" : "0"))
  for (const [path, parameters, app] of [
    [paths.searchRecent, { query: "stork", next_token: token }, other],
    [paths.searchAll, { query: "stork", next_token: token }, server],
    [paths.countsRecent, { query: "stork", next_token: token }, server],
    [paths.searchRecent, { query: "stork heron", next_token: token }, server],
    [paths.searchRecent, { query: "stork", next_token: changed }, server],
    [paths.searchRecent, { query: "stork", next_token: token, pagination_token: token }, server],
  ] as const) {
    expect((await search(path, parameters, app)).status).toBe(400)
  }
})

describe("wrong requests are refused in X's words", () => {
  const positive = "Rules must contain at least one positive, non-stopword clause"
  const table: readonly (readonly [what: string, parameters: Readonly<Record<string, string>>, message: string])[] = [
    ["no query", {}, "The `query` query parameter can not be empty"],
    ["an empty query", { query: "" }, "Invalid 'query':''. 'query' must be a non-empty string"],
    ["only a negation", { query: "-cat" }, positive],
    ["only a stopword", { query: "a" }, positive],
    ["4,097 characters", { query: "x".repeat(4_097) }, "4096"],
    ["10,000 groups", { query: `${"(".repeat(10_000)}cat${")".repeat(10_000)}` }, ""],
    ["an operator that search does not have", { query: "cat list:1" }, "There were errors processing your request"],
    ["no zone", { query: "cat", start_time: "2026-03-14T09:26:53" }, "start_time"],
    ["a day that is not there", { query: "cat", start_time: "2026-02-30T00:00:00Z" }, "start_time"],
    ["a time before X", { query: "cat", start_time: "2006-01-01T00:00:00Z" }, "'start_time' must be on or after"],
    ["a time to come", { query: "cat", end_time: "2090-01-01T00:00:00Z" }, "must be a minimum of 10 seconds prior"],
    [
      "times in disorder",
      { query: "cat", start_time: "2020-06-21T01:00:00Z", end_time: "2020-06-21T00:00:00Z" },
      "Invalid 'start_time':'2020-06-21T01:00Z'. 'start_time' must be before 'end_time':2020-06-21T00:00Z",
    ],
    [
      "ids next to times",
      { query: "cat", since_id: "1721361432158114055", end_time: "2023-11-07T00:00:00Z" },
      "Invalid use of 'since_id' or 'until_id' in conjunction with 'start_time' or 'end_time'.",
    ],
    ["a token that is none", { query: "cat", next_token: "zzz" }, "query parameter value [zzz] is not a valid token"],
    ["an id that is none", { query: "cat", since_id: "1e3" }, "since_id"],
    ["an unknown parameter", { query: "cat", dummy: "1" }, "The query parameter [dummy] is not one of ["],
  ]
  const ofSearch: readonly (readonly [Readonly<Record<string, string>>, string])[] = [
    ...["0", "4", "9", "501"].map((value) => [{ max_results: value }, "is not between 10 and"] as const),
    ...["1e2", "", "-10"].map((value) => [{ max_results: value }, ""] as const),
    [{ sort_order: "x" }, "sort_order"],
    [{ "tweet.fields": "dummy" }, "The `tweet.fields` query parameter value [dummy] is not one of ["],
    [{ expansions: "dummy" }, "The `expansions` query parameter value [dummy] is not one of ["],
  ]

  test.each(table)("%s", async (_what, parameters, message) => {
    for (const path of routes) {
      const { status, text, body } = await search(path, parameters)
      if (parameters["query"]?.length === 20_003) {
        expect([400, 414, 431]).toContain(status)
        continue
      }
      expect(status, text).toBe(400)
      expect(JSON.stringify(body.errors.map((error: { message: string }) => error.message))).toContain(message)
    }
  })

  test.each(ofSearch)("%o", async (parameters, message) => {
    for (const path of [paths.searchRecent, paths.searchAll]) {
      const { status, body } = await search(path, { query: "cat", ...parameters })
      expect(status).toBe(400)
      expect(body.errors[0].message).toContain(message)
    }
  })

  test("a size of all posts is too much for recent ones, and an unknown granularity is refused", async () => {
    expect((await search(paths.searchRecent, { query: "cat", max_results: "101" })).status).toBe(400)
    expect((await search(paths.searchAll, { query: "cat", max_results: "101" })).status).toBe(200)
    for (const path of [paths.countsRecent, paths.countsAll])
      expect((await search(path, { query: "cat", granularity: "week" })).status).toBe(400)
  })

  test("an id below the window of recent search", async () => {
    const { status, body } = await search(paths.searchRecent, { query: "cat", since_id: "2000000000000000" })
    expect(status).toBe(400)
    expect(body.errors[0].message).toMatch(
      /^'since_id' must be a tweet id created after \d{4}-\d\d-\d\dT\d\d:\d\dZ\. Please use a 'since_id' that is larger than \d+$/,
    )
  })
})

test("a server without a search index refuses searches, counts and lists of references with the setting that it needs", async () => {
  await using without = await startTestServer({ search: "off" })
  const searches = [paths.searchAll, paths.searchRecent, paths.countsAll, paths.countsRecent]
  const lists = [paths.mentions, paths.quotes, paths.reposts, paths.reposters]
  for (const path of [...searches.map((one) => `${one}?query=cat`), ...lists.map((one) => one.replace(":id", "1"))]) {
    const { status, body } = await without.call(path)
    expect([path, status]).toEqual([path, 404])
    expect(body).toMatchObject({ detail: expect.stringContaining("SLUICE_SEARCH=on") as string })
  }
  // Look-ups need no index but for posts that came with others.
  const { data, includes } = envelope("20", "a cat")
  await without.ingest({ data, includes: { ...includes, tweets: [{ id: "21", text: "a dog" }] } })
  const found = await without.call(`${paths.postsById}?ids=20,21`)
  expect(found.body).toMatchObject({ data: [{ id: "20" }], errors: [{ resource_id: "21", title: "Not Found Error" }] })
})
