/** Limits and usage. Each test bears the id of its row of docs/compatibility.md. */
import { pathOf, paths, snowflakeEpochMs, type OwnLimits } from "@sluice/api"
import { expect } from "vitest"
import { startTestServer, type TestApp, type TestResponse, type TestServer } from "../support/test-server.testing.ts"
import { openStream } from "../support/open-stream.testing.ts"
import { addRules, ingestNew, newId, newUser, postBy, postsPath, test } from "./support.testing.ts"

const newWord = (): string => `heron${newId()}`

/** Sets limits of an app, with an operator's token. */
async function limit(server: TestServer, app: TestApp, limits: OwnLimits): Promise<void> {
  const token = await server.running.apps.createToken("operator")
  const path = pathOf(paths.appLimits, { id: app.app.application_id })
  const { status, text } = await server.send("PUT", path, limits, token)
  expect([status, text]).toEqual([200, expect.any(String)])
}

const left = ({ status, headers }: TestResponse): readonly unknown[] => [status, headers.get("x-rate-limit-remaining")]

async function usageOf(app: TestApp, query = "?usage.fields=project_usage"): Promise<Record<string, unknown>> {
  return (await app.call(paths.usage + query)).body.data as Record<string, unknown>
}

test("limit-windows: every request counts but one that gets 429, and a HEAD counts as a GET", async ({ server }) => {
  const app = await server.newApp()
  await limit(server, app, { requests: { "GET /2/tweets/:id": { app: 3 } } })
  expect(left(await app.call("/2/tweets/1", { method: "HEAD" }))).toEqual([200, "2"])
  expect(left(await app.call("/2/tweets/1?colour=blue"))).toEqual([400, "1"])
  expect(left(await app.call("/2/tweets/1", { token: null }))).toEqual([401, null])
  expect(left(await app.call("/2/tweets/1"))).toEqual([200, "0"])
  const refused = await app.call("/2/tweets/1")
  expect(left(refused)).toEqual([429, "0"])
  const endsInS = Number(refused.headers.get("x-rate-limit-reset")) - Date.now() / 1000
  expect(endsInS).toBeGreaterThan(880)
  expect(endsInS).toBeLessThanOrEqual(901)
  expect(Math.abs(Number(refused.headers.get("retry-after")) - endsInS)).toBeLessThan(3)
})

test("limit-users: tokens of one user count together, and apart from the app's and those of others", async ({
  server,
}) => {
  const app = await server.newApp()
  const other = await server.newApp()
  await limit(server, app, { requests: { "GET /2/tweets/:id": { app: 1, user: 2 } } })
  const tokenOf = async ({ app: { application_id: id } }: TestApp, user: string): Promise<string> =>
    (await server.running.apps.createUserToken(id, user)) ?? ""
  const get = async (token?: string) => left(await app.call("/2/tweets/1", token === undefined ? {} : { token }))
  const [first, second, stranger] = [await tokenOf(app, "7"), await tokenOf(app, "7"), await tokenOf(app, "8")]
  expect([await get(first), await get(second), await get(first)]).toEqual([
    [200, "1"],
    [200, "0"],
    [429, "0"],
  ])
  expect([await get(stranger), await get()]).toEqual([
    [200, "1"],
    [200, "0"],
  ])
  expect((await app.call("/2/tweets/1", { token: await tokenOf(other, "7") })).status).toBe(200)
})

test("limit-seconds: an endpoint with two windows shows the longer one, and the one that refuses", async () => {
  await using server = await startTestServer({ limits: "x-enterprise", search: "on" })
  const responses = await Promise.all([0, 1].map(() => server.call(`${paths.searchAll}?query=cat`)))
  const shown = responses.map(({ status, headers }) => [status, headers.get("x-rate-limit-limit")])
  expect(shown).toContainEqual([200, "300"])
  expect(shown).toContainEqual([429, "1"])
  await expect.poll(async () => left(await server.call(`${paths.searchAll}?query=cat`))).toEqual([200, "298"])
})

test("search-as-x: with a profile a search ends ten seconds ago and begins 30 days before its end", async () => {
  await using server = await startTestServer({
    limits: "x-enterprise",
    search: "on",
    "request-bounds": "GET /2/tweets app 0",
  })
  const at = (agoMs: number): string => (BigInt(Date.now() - agoMs - snowflakeEpochMs) << 22n).toString()
  const days = (count: number): number => count * 86_400_000
  const ids = [at(0), at(days(1)), at(days(31))]
  await server.ingest(...ids.map((id) => ({ data: { id, text: "a heron", author_id: "7" } })))
  const found = async (more = ""): Promise<readonly string[]> =>
    ((await server.call(`${paths.searchAll}?query=heron${more}`)).body?.data ?? []).map(({ id }: { id: string }) => id)
  await expect.poll(() => found("&start_time=2020-01-01T00:00:00Z"), { timeout: 10_000 }).toEqual(ids.slice(1))
  await expect.poll(() => found(), { timeout: 10_000 }).toEqual([ids[1]])
  const late = new Date(Date.now() - 5_000).toISOString()
  await expect
    .poll(async () => (await server.call(`${paths.searchRecent}?query=heron&end_time=${late}`)).text)
    .toContain("must be a minimum of 10 seconds prior to the request time.")
})

test("retry-after: a 429 and a 503 say after how many seconds to come again", async ({ server, refusals }) => {
  for (const { status, headers } of refusals.responses.values()) {
    if (status === 429 || status === 503) expect(headers.get("retry-after")).toMatch(/^[1-9]\d*$/)
  }
  const app = await server.newApp()
  await addRules(app, { value: newWord() })
  await using _stream = await openStream(app)
  const refused = await app.call(paths.stream)
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"])
})

test("api-version: every response names the version of X's document that Sluice follows", async ({
  server,
  refusals,
}) => {
  const document = await server.call("/2/tweets/1")
  for (const { headers } of [document, ...refusals.responses.values(), await server.call(paths.healthz)]) {
    expect(headers.get("api-version")).toBe("2.167")
  }
})

test("credits: an app whose credit is taken gets 402 for the paths of X, until it has credit again", async ({
  server,
}) => {
  const app = await server.newApp()
  await limit(server, app, { has_credits: false })
  for (const path of ["/2/tweets/1", paths.rules, paths.usage]) {
    const { status, body } = await app.call(path)
    expect([path, status, body.title]).toEqual([path, 402, "CreditsDepleted"])
    expect(body.detail).toBe("Your enrolled account does not have any credits")
  }
  expect((await app.call(paths.linkDetails)).status).toBe(200)
  await limit(server, app, {})
  expect((await app.call(paths.rules)).status).toBe(200)
})

test("usage-body: usage shows the days with posts, the month, and a cap if there is one", async ({ server }) => {
  const app = await server.newApp()
  const { application_id: id } = app.app
  const all = "?usage.fields=daily_client_app_usage,daily_project_usage,project_cap"
  expect(await usageOf(app, "")).toEqual({ cap_reset_day: 1, project_id: id, project_usage: "0" })
  expect(await usageOf(app, all)).toEqual({
    daily_client_app_usage: [{ client_app_id: id, usage_result_count: 0 }],
    daily_project_usage: { project_id: id },
  })
  await limit(server, app, { posts_per_month: 9 })
  const post = newId()
  await app.ingest({ data: { id: post, text: "a heron" } })
  await app.call(pathOf(paths.postById, { id: post }))
  const usage = [{ date: `${new Date().toISOString().slice(0, 10)}T00:00:00.000Z`, usage: "1" }]
  expect(await usageOf(app, all)).toEqual({
    daily_client_app_usage: [{ client_app_id: id, usage, usage_result_count: 1 }],
    daily_project_usage: { project_id: id, usage },
    project_cap: "9",
  })
})

test("usage-counts: a post counts once, however often and in whichever way it was read", async ({ server }) => {
  const app = await server.newApp()
  const word = newWord()
  await addRules(app, { value: word })
  await using stream = await openStream(app)
  const [user, id] = [newUser(), newId()]
  await ingestNew(app, postBy(user, id, { text: word }))
  await stream.next()
  await app.call(pathOf(paths.postById, { id }))
  await app.call(`${paths.postsById}?ids=${id}&expansions=author_id`)
  const token = (await server.running.apps.createUserToken(app.app.application_id, user)) ?? ""
  await app.call(postsPath(user), { token })
  expect(await usageOf(app)).toEqual({ project_usage: "1" })
})

test("usage-cap: at the cap look-ups and streams get 429 UsageCapExceeded, and an open stream ends with it", async ({
  server,
}) => {
  const app = await server.newApp()
  const word = newWord()
  await addRules(app, { value: word })
  await limit(server, app, { posts_per_month: 1 })
  await using stream = await openStream(app)
  await app.ingest({ data: { id: newId(), text: word } })
  await stream.next()
  const message = JSON.parse(await stream.nextText()) as { errors: readonly unknown[] }
  const error = {
    account_id: app.app.application_id,
    product_name: "sluice",
    title: "UsageCapExceeded",
    period: "Monthly",
    scope: "Product",
    detail: "Usage cap exceeded: Monthly product cap",
    type: "https://api.x.com/2/problems/usage-capped",
  }
  expect(message.errors).toMatchObject([error])
  for (const path of ["/2/tweets/1", paths.stream]) {
    const { status, body } = await app.call(path)
    expect([path, status]).toEqual([path, 429])
    expect(body).toMatchObject(error)
  }
})

test("stream-rate: a connection gets as many posts a second as it may, and in the end all", async ({ server }) => {
  const app = await server.newApp()
  const word = newWord()
  await addRules(app, { value: word })
  await limit(server, app, { posts_per_second: 2 })
  await using stream = await openStream(app)
  const beganMs = performance.now()
  await app.ingest(...Array.from({ length: 5 }, () => ({ data: { id: newId(), text: word } })))
  for (let count = 0; count < 5; count += 1) await stream.next()
  expect(performance.now() - beganMs).toBeGreaterThan(1_900)
})
