/** The usage of apps on real servers: what counts, and the monthly cap. Time is moved on by the test. */
import { pathOf, paths, snowflakeEpochMs } from "@sluice/api"
import { expect, test } from "vitest"
import { limitedServers, setLimits } from "./support/limited-servers.testing.ts"
import { openStream, type OpenStream } from "./support/open-stream.testing.ts"
import { envelope, startTestServer, type TestApp } from "./support/test-server.testing.ts"

const [secondMs, dayMs] = [1_000, 86_400_000]

const servers = limitedServers()
const { start } = servers

/** The next records of a stream. */
async function texts(stream: OpenStream, count: number): Promise<readonly string[]> {
  const found: string[] = []
  while (found.length < count) found.push(await stream.nextText())
  return found
}

const allUsage =
  "usage.fields=cap_reset_day,daily_client_app_usage,daily_project_usage,project_cap,project_id,project_usage"

const usageOf = async (app: TestApp, query = allUsage): Promise<Record<string, unknown>> =>
  (await app.call(`${paths.usage}?${query}`)).body.data as Record<string, unknown>

test("a post counts once for an app and a day, whichever way it was read, and a response without posts does not", async () => {
  const server = await start()
  const other = await server.newApp()
  await server.send("POST", paths.rules, { add: [{ value: "heron" }] })
  const stream = await openStream(server)
  const webhook = await server.webhook()
  await server.send("POST", pathOf(paths.link, { webhook_id: webhook }))
  const ids = ["1990004210000005000", "1990004210000005001"]
  await server.ingest(...ids.map((id) => envelope(id, "a heron")))
  await texts(stream, 2)
  await expect
    .poll(async () => (await server.call(pathOf(paths.linkDetail, { webhook_id: webhook }))).body.data.lag)
    .toBe(0)
  const more = "1990004210000005002"
  await server.ingest(envelope(more, "an owl"))
  await server.call(`${paths.postsById}?ids=${[...ids, more, "5"].join(",")}`)
  await server.call("/2/tweets/5")
  await server.call(pathOf(paths.userPosts, { id: "7" }))
  await server.call(`${paths.countsAll}?query=heron`)
  const counted = { date: `${new Date(servers.clock.nowMs()).toISOString().slice(0, 10)}T00:00:00.000Z`, usage: "3" }
  const { application_id: id } = server.app
  expect(await usageOf(server)).toEqual({
    cap_reset_day: 1,
    daily_client_app_usage: [{ client_app_id: id, usage: [counted], usage_result_count: 1 }],
    daily_project_usage: { project_id: id, usage: [counted] },
    project_id: id,
    project_usage: "3",
  })
  expect(await usageOf(other)).toEqual({
    cap_reset_day: 1,
    daily_client_app_usage: [{ client_app_id: other.app.application_id, usage_result_count: 0 }],
    daily_project_usage: { project_id: other.app.application_id },
    project_id: other.app.application_id,
    project_usage: "0",
  })
  expect(await usageOf(server, "")).toEqual({ cap_reset_day: 1, project_id: id, project_usage: "3" })
  servers.clock.moveOn(dayMs)
  await server.call(pathOf(paths.postById, { id: more }))
  const days = (await usageOf(server))["daily_project_usage"] as { usage: readonly { usage: string }[] }
  expect(days.usage.map(({ usage }) => usage)).toEqual(["3", "1"])
  const today = (await usageOf(server, "days=1&usage.fields=daily_project_usage"))["daily_project_usage"] as typeof days
  expect(today.usage.map(({ usage }) => usage)).toEqual(["1"])
  await stream[Symbol.asyncDispose]()
})

test("what was read by webhook alone, by stream alone and by search counts, and what the console watches does not", async () => {
  const server = await start({ search: "on" })
  await server.send("POST", paths.rules, { add: [{ value: "heron" }] })
  const id = (BigInt(servers.clock.nowMs() - 60_000 - snowflakeEpochMs) << 22n).toString()
  const watching = await openStream(server, "", paths.matches)
  await server.ingest(envelope(id, "a heron"))
  await texts(watching, 1)
  await watching[Symbol.asyncDispose]()
  expect((await usageOf(server))["project_usage"]).toBe("0")
  await expect.poll(async () => (await server.call(`${paths.searchAll}?query=heron`)).body.meta.result_count).toBe(1)
  expect((await usageOf(server))["project_usage"]).toBe("1")
  const [byStream, byWebhook] = [await server.newApp(), await server.newApp()]
  for (const app of [byStream, byWebhook]) await app.send("POST", paths.rules, { add: [{ value: "owl" }] })
  await byWebhook.send("POST", pathOf(paths.link, { webhook_id: await byWebhook.webhook() }))
  const stream = await openStream(byStream)
  await server.ingest(envelope((BigInt(id) + 1n).toString(), "an owl"))
  await texts(stream, 1)
  await expect.poll(async () => (await usageOf(byWebhook))["project_usage"]).toBe("1")
  expect((await usageOf(byStream))["project_usage"]).toBe("1")
  await stream[Symbol.asyncDispose]()
})

test("usage is kept over a restart, to the post", async () => {
  const first = servers.use(await startTestServer())
  const { data, app } = first
  await first.ingest(envelope("1", "a heron"), envelope("2", "an owl"))
  await first.call(`${paths.postsById}?ids=1,2`)
  await first.running.close()
  await using again = await startTestServer({ data })
  await again.call("/2/tweets/1", { token: app.bearer_token })
  expect((await again.call(paths.usage, { token: app.bearer_token })).body.data.project_usage).toBe("2")
})

test("at the monthly cap look-ups and streams get X's 429, until the month of usage begins again", async () => {
  const server = await start({ "cap-reset-day": "5" })
  servers.clock.moveTo(2031, 3, 20)
  await server.send("POST", paths.rules, { add: [{ value: "heron" }] })
  await setLimits(server, { posts_per_month: 4 })
  const other = await server.newApp()
  await server.ingest(...["1", "2", "3"].map((id) => envelope(id, "an owl")))
  for (let repeat = 0; repeat < 3; repeat += 1) {
    expect((await server.call(`${paths.postsById}?ids=1,2,3`)).status, "the same three").toBe(200)
  }
  const stream = await openStream(server)
  await server.ingest(envelope("1990004210000005000", "a heron"), envelope("1990004210000005001", "a heron"))
  // Both matches are of one batch.
  expect((await texts(stream, 3)).at(-1)).toContain('"title":"UsageCapExceeded"')
  for (const path of [`${paths.postsById}?ids=1`, "/2/tweets/1", pathOf(paths.userPosts, { id: "7" }), paths.stream]) {
    const refused = await server.call(path)
    expect([path, refused.status]).toEqual([path, 429])
    expect(refused.body).toMatchObject({
      account_id: server.app.application_id,
      title: "UsageCapExceeded",
      period: "Monthly",
      scope: "Product",
      detail: "Usage cap exceeded: Monthly product cap",
      type: "https://api.x.com/2/problems/usage-capped",
    })
    const endsMs = Date.UTC(2031, 3, 5) - servers.clock.nowMs()
    expect(Math.abs(Number(refused.headers.get("retry-after")) * secondMs - endsMs)).toBeLessThan(10 * secondMs)
    expect(refused.headers.get("x-rate-limit-remaining"), "the rate is another meter").not.toBe("0")
  }
  expect((await server.call(paths.rules)).status, "rules are no posts").toBe(200)
  expect((await other.call("/2/tweets/1")).status).toBe(200)
  expect(await usageOf(server, "usage.fields=project_cap,cap_reset_day")).toEqual({
    project_cap: "4",
    cap_reset_day: 5,
  })
  servers.clock.moveTo(2031, 4, 6)
  expect((await server.call("/2/tweets/1")).status).toBe(200)
  expect((await usageOf(server))["project_usage"]).toBe("1")
})

test("a stream sends as many posts a second as the app may get, and none is lost", async () => {
  const server = await start()
  await setLimits(server, { posts_per_second: 4 })
  await server.send("POST", paths.rules, { add: [{ value: "heron" }] })
  const stream = await openStream(server)
  const began = performance.now()
  await server.ingest(...Array.from({ length: 10 }, (_, at) => envelope(String(at + 1), "a heron")))
  await texts(stream, 10)
  expect(performance.now() - began).toBeGreaterThan(1_900)
  await stream[Symbol.asyncDispose]()
})

test("bad input gets a 400 that says what is allowed, and counts nothing", async () => {
  const server = await start()
  const refused: readonly (readonly [query: string, words: string])[] = [
    ["days=0", "The `days` query parameter value [0] is not between 1 and 90"],
    ["days=91", "The `days` query parameter value [91] is not between 1 and 90"],
    ["days=seven", "[seven]"],
    ["days=1.5", "[1.5]"],
    ["days=", "days"],
    ["days=7&days=8", "days"],
    ["usage.fields=colour", "The `usage.fields` query parameter value [colour] is not one of [cap_reset_day,"],
    ["usage.fields=", "usage.fields"],
    ["usage.fields=project_id,project_id", "usage.fields"],
    ["colour=blue", "The query parameter [colour] is not one of [days,usage.fields]"],
  ]
  for (const [query, words] of refused) {
    const { status, text } = await server.call(`${paths.usage}?${query}`)
    expect([query, status]).toEqual([query, 400])
    expect(text).toContain(words)
  }
  const path = pathOf(paths.appLimits, { id: server.app.application_id })
  const token = await server.running.apps.createToken("operator")
  const bodies: readonly unknown[] = [
    { rules: 0 },
    { rules: "7" },
    { rules: 1.5 },
    { rules: -1 },
    { posts_per_month: 1_000_000_001 },
    { colour: 1 },
    { requests: { "GET /2/nothing": { app: 1 } } },
    { requests: { "GET /2/tweets": { everyone: 1 } } },
    { requests: { "GET /2/tweets": 7 } },
    { has_credits: "no" },
    [],
    "{",
  ]
  for (const body of bodies) {
    expect([body, (await server.send("PUT", path, body, token)).status]).toEqual([body, 400])
  }
  expect((await server.send("PUT", pathOf(paths.appLimits, { id: "5" }), {}, token)).status).toBe(404)
  expect((await server.send("PUT", path, {}, server.app.bearer_token)).status).toBe(403)
  expect((await server.call(paths.limits)).body.data.own).toEqual({})
})
