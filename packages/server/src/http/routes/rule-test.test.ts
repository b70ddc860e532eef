import { pathOf, paths, snowflakeEpochMs } from "@sluice/api"
import { afterAll, beforeAll, expect, test } from "vitest"
import { startTestServer, type TestApp, type TestServer } from "../../../../../test/support/test-server.testing.ts"

let server: TestServer
let other: TestApp

beforeAll(async () => {
  server = await startTestServer()
  other = await server.newApp()
})

afterAll(() => server[Symbol.asyncDispose]())

interface Tested {
  readonly data: readonly { readonly id: string }[]
  readonly meta: object
  readonly warnings: readonly object[]
}

async function tested(body: object): Promise<Tested> {
  const response = await server.send("POST", paths.ruleTest, body)
  expect(response).toMatchObject({ status: 200 })
  return response.body as Tested
}

async function idsOf(body: object): Promise<readonly string[]> {
  return (await tested(body)).data.map(({ id }) => id)
}

function post(id: number, text: string, more: object = {}): object {
  return { data: { id: String(id), text, ...more } }
}

test("the response names the posts that match, why, and their share", async () => {
  const posts = [post(1, "a cat"), post(2, "a dog"), post(3, "a bird"), post(4, "a cow")]
  expect(await tested({ value: "cat", posts })).toEqual({
    data: [{ id: "1", spans: [{ operator: "cat", where: "text", start: 2, end: 5 }] }],
    meta: { tested: 4, matched: 1, share: 0.25, cost: 5 },
    warnings: [],
  })
  expect(await tested({ value: "cat", posts: [] })).toEqual({
    data: [],
    meta: { tested: 0, matched: 0, share: 0, cost: 5 },
    warnings: [],
  })
})

test("a rule is tested as a stream rule or as a search", async () => {
  const posts = [post(1, "un café"), post(2, "a cafe")]
  expect(await idsOf({ value: "cafe", posts })).toEqual(["2"])
  expect(await idsOf({ value: "cafe", posts, mode: "stream" })).toEqual(["2"])
  expect(await idsOf({ value: "cafe", posts, mode: "search" })).toEqual(["1", "2"])

  const listed = { value: "cafe list:1", posts }
  const refused = await server.send("POST", paths.ruleTest, { ...listed, mode: "search" })
  expect(refused).toMatchObject({
    status: 400,
    body: { title: "UnprocessableEntity", value: listed.value },
  })
  expect(refused.text).toContain("Reference to invalid operator 'list'")
})

test("a rule may be as long as the app may add one, or as a query of a search", async () => {
  const value = Array.from({ length: 500 }, (_, at) => `w${at}`).join(" ")
  expect(value.length).toBeGreaterThan(2_048)
  const ask = (body: object) => server.send("POST", paths.ruleTest, { value, posts: [], ...body })
  expect((await ask({})).status).toBe(400)
  expect((await ask({ mode: "search" })).status).toBe(200)
  const operator = await server.running.apps.createToken("operator")
  const limits = pathOf(paths.appLimits, { id: server.app.application_id })
  expect((await server.send("PUT", limits, { rule_characters: 4_000 }, operator)).status).toBe(200)
  await expect.poll(async () => (await ask({})).status).toBe(200)
})

test.each([["fast"], [1], [""]])("another mode is refused: %j", async (mode) => {
  const { status, text } = await server.send("POST", paths.ruleTest, { value: "cat", posts: [], mode })
  expect(status).toBe(400)
  expect(text).toContain(typeof mode === "string" ? "must be one of stream, search" : "must be a string")
})

test("a place that one of the posts describes is known for all of them, in any order", async () => {
  const place = { id: "3078869807f9dd36", name: "Berlin", full_name: "Berlin, Germany", country_code: "DE" }
  const original = post(5, "servus", { geo: { place_id: place.id } }) as { data: object }
  const repost = {
    data: { id: "6", text: "RT @wren: servus", referenced_tweets: [{ type: "retweeted", id: "5" }] },
    includes: { tweets: [original.data] },
  }
  const withPlace = { ...original, includes: { places: [place] } }
  expect(await idsOf({ value: "place:berlin", posts: [repost, withPlace] })).toEqual(["6", "5"])
  expect(await idsOf({ value: "place:berlin", posts: [repost] })).toEqual([])
})

test("a rule that matches more than a tenth of at least a hundred posts has a warning with the share", async () => {
  const posts = (matching: number, count: number): object[] =>
    Array.from({ length: count }, (_, at) => post(at + 1, at < matching ? "a cat" : "a dog"))
  const { warnings } = await tested({ value: "cat OR parrot", posts: posts(11, 100) })
  expect(warnings).toEqual([{ part: "cat", message: "'cat' matches 11 of 100 posts (11 %): narrow it down" }])
  expect((await tested({ value: "cat", posts: posts(10, 100) })).warnings).toEqual([])
  expect((await tested({ value: "cat", posts: posts(99, 99) })).warnings).toEqual([])
})

test("more posts than 1,000 are refused", async () => {
  const posts = Array.from({ length: 1001 }, (_, at) => post(at + 1, "a cat"))
  const { status, body } = await server.send("POST", paths.ruleTest, { value: "cat", posts })
  expect(status).toBe(400)
  expect(JSON.stringify(body)).toContain("must hold at most 1000")
})

test("on recent posts the response estimates the matches per day", async () => {
  await using fresh = await startTestServer()
  const at = (id: number, hours: number, text: string): object =>
    post(id, text, { created_at: new Date(Date.UTC(2026, 2, 14, hours)).toISOString() })
  const recent = async (): Promise<unknown> =>
    ((await fresh.send("POST", paths.ruleTest, { value: "cat", recent: 1000 })).body as Tested).meta
  const ingest = async (...posts: readonly object[]): Promise<void> => {
    await fresh.call(paths.posts, {
      method: "POST",
      headers: { "content-type": "application/x-ndjson" },
      body: posts.map((one) => JSON.stringify(one)).join("\n"),
    })
  }
  expect(await recent()).toEqual({ tested: 0, matched: 0, share: 0, cost: 5 })
  await ingest(at(1, 0, "a cat"))
  // One moment is no span of time.
  const from = "2026-03-14T00:00:00.000Z"
  expect(await recent()).toEqual({ tested: 1, matched: 1, share: 1, cost: 5, from, to: from })
  await ingest(at(3, 7, "a dog"), at(2, 3, "a cat"))
  const to = "2026-03-14T07:00:00.000Z"
  expect(await recent()).toEqual({ tested: 3, matched: 2, share: 2 / 3, cost: 5, from, to, estimated_per_day: 6.86 })
})

test("a rule is tested on all posts since a time, the newest first, over as many requests as it takes", async () => {
  await using fresh = await startTestServer()
  const startMs = Date.UTC(2026, 2, 14)
  const idAt = (seconds: number): string => String(BigInt(startMs + seconds * 1_000 - snowflakeEpochMs) << 22n)
  const count = 20_600
  const texts = Array.from({ length: count }, (_, second) => (second % 10 === 0 ? "a cat" : "a dog"))
  const posts = texts.map((text, second) => ({ data: { id: idAt(second), text } }))
  for (let at = 0; at < count; at += 5_000) await fresh.ingest(...posts.slice(at, at + 5_000))
  const since = new Date(startMs + 100_000).toISOString()
  const ask = async (more: object): Promise<Tested> =>
    (await fresh.send("POST", paths.ruleTest, { value: "cat", since, ...more })).body as Tested
  const first = await ask({})
  expect(first.data.map(({ id }) => id)).toEqual(Array.from({ length: 100 }, (_, at) => idAt(count - 10 - at * 10)))
  expect(first.meta).toEqual({
    tested: 20_000,
    matched: 2_000,
    share: 0.1,
    cost: 5,
    from: new Date(startMs + 600_000).toISOString(),
    to: new Date(startMs + (count - 1) * 1_000).toISOString(),
    estimated_per_day: 8_640,
    stopped_at: idAt(600),
  })
  const rest = await ask({ until_id: idAt(600) })
  expect(rest.meta).toMatchObject({ tested: 500, matched: 50, from: since })
  expect(rest.meta).not.toHaveProperty("stopped_at")
  expect(await ask({ since: "2026-03-15T00:00:00Z" })).toMatchObject({ data: [], meta: { tested: 0, matched: 0 } })
})

test.each([
  [{}, "Send one of `posts`, `recent` and `since`"],
  [{ recent: 1, since: "2026-03-14T00:00:00Z" }, "Send one of `posts`, `recent` and `since`"],
  [{ recent: 1, until_id: "5" }, "`until_id` goes with `since`"],
  [{ since: "yesterday" }, "since"],
  [{ since: "2026-02-30T00:00:00Z" }, "since"],
  [{ since: "2026-03-14T00:00:00Z", until_id: "-1" }, "until_id"],
])("a test on %j is refused: %s", async (body, message) => {
  const { status, body: problem } = await server.send("POST", paths.ruleTest, { value: "cat", ...body })
  expect(status).toBe(400)
  expect(JSON.stringify(problem)).toContain(message)
})

test("every problem of a rule is reported, in X's form", async () => {
  const value = "form:me has:image"
  const { status, body } = await server.send("POST", paths.ruleTest, { value, recent: 1 })
  expect(status).toBe(400)
  expect(body).toMatchObject({ title: "UnprocessableEntity", value })
  expect((body as { details: readonly string[] }).details).toEqual([
    "Reference to invalid operator 'form' (at position 1). Did you mean 'from'?",
    "Reference to invalid field 'form' (at position 1).",
    "Reference to invalid operator 'has:image'. Operator is not available in current product or product packaging. Please refer to complete available operator list at http://t.co/operators. (at position 9). Did you mean 'has:images'?",
  ])
})

test("while a heavy rule is tested others are served, and another test of the app is refused", async () => {
  // Rows of the words that are there, in orders that are not: each is looked for at every place.
  const rows = Array.from(
    { length: 60 },
    (_, at) => `"b ${Array.from(at.toString(2), (bit) => (bit === "1" ? "a" : "b")).join(" ")} b b"`,
  )
  const value = [...new Set(rows)].join(" OR ")
  const heavy = { value, posts: Array.from({ length: 12 }, (_, at) => post(at + 1, "a b ".repeat(6_000))) }
  const order: string[] = []
  const ended = async (name: string, response: Promise<{ status: number }>): Promise<number> => {
    const { status } = await response
    order.push(name)
    return status
  }
  const first = ended("heavy", server.send("POST", paths.ruleTest, heavy))
  const light = { value: "cat", posts: [post(1, "a cat")] }
  const further = Array.from({ length: 4 }, () => ended("refused", server.send("POST", paths.ruleTest, heavy)))
  const others = [
    ended("health", server.call(paths.healthz)),
    ended("rules", server.call(paths.rules, { token: other.app.bearer_token })),
  ]
  expect(await Promise.all(others)).toEqual([200, 200])
  // One of them is in progress as others come.
  expect(new Set(await Promise.all([first, ...further]))).toEqual(new Set([200, 429]))
  expect(order.at(-1)).toMatch(/heavy|refused/)
  expect(await ended("other", server.send("POST", paths.ruleTest, light, other.app.bearer_token))).toBe(200)
})

test("with explain the response says why the other posts do not match", async () => {
  const posts = [post(1, "a cat"), post(2, "a cat and a dog")]
  const body = await tested({ value: "cat -dog", posts, explain: true })
  expect(body).toMatchObject({
    data: [{ id: "1" }],
    unmatched: [{ id: "2", failed: [{ operator: "dog", start: 5, end: 8, negated: true }] }],
  })
  expect(await tested({ value: "cat -dog", posts })).not.toHaveProperty("unmatched")
})
