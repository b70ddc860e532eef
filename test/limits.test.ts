/** The limits of apps on real servers, by X's windows. Time is moved on by the test. */
import { limitedEndpoints, paths, snowflakeEpochMs } from "@sluice/api"
import { describe, expect, test } from "vitest"
import { limitedServers, setLimits } from "./support/limited-servers.testing.ts"
import { openStream } from "./support/open-stream.testing.ts"
import { envelope, type TestApp, type TestResponse, type TestServer } from "./support/test-server.testing.ts"

const [secondMs, minuteMs, dayMs] = [1_000, 60_000, 86_400_000]

const servers = limitedServers()
const { start } = servers

const userToken = async ({ running }: TestServer, { app }: TestApp, user: string): Promise<string> =>
  (await running.apps.createUserToken(app.application_id, user)) ?? ""

const rateOf = ({ status, headers }: TestResponse): readonly unknown[] => [
  status === 429,
  ...["limit", "remaining"].map((name) => headers.get(`x-rate-limit-${name}`)),
]

/** The endpoints of a server whose requests may be bounded, with the ids of no object in their paths. */
async function endpointsOf(server: TestServer) {
  const described = (await server.call(paths.openapi)).body.paths as Readonly<Record<string, object>>
  return limitedEndpoints.flatMap((endpoint) => {
    const [method = "", path = ""] = endpoint.split(" ")
    const isThere = method.toLowerCase() in (described[path.replaceAll(/:(\w+)/g, "{$1}")] ?? {})
    return isThere ? [{ endpoint, method, path: path.replaceAll(/:\w+/g, "1") }] : []
  })
}

describe("windows of requests", () => {
  test("each endpoint takes as many requests of an app in a window as its limit, and shows how many are left", async () => {
    const server = await start()
    const other = await server.newApp()
    const endpoints = await endpointsOf(server)
    await setLimits(server, { requests: Object.fromEntries(endpoints.map(({ endpoint }) => [endpoint, { app: 3 }])) })
    expect(endpoints.length).toBeGreaterThan(25)
    for (const { endpoint, method, path } of endpoints) {
      if (endpoint === "GET /2/users/me") continue
      const request = (app: TestApp = server): Promise<TestResponse> => app.call(path, { method })
      const windowMs = endpoint === "POST /2/tweets" ? dayMs : 15 * minuteMs
      const beganMs = servers.clock.nowMs()
      const rates = [rateOf(await request()), rateOf(await request()), rateOf(await request())]
      const granted = ["2", "1", "0"].map((left) => [false, "3", left])
      expect([endpoint, rates]).toEqual([endpoint, granted])
      servers.clock.moveOn(windowMs - secondMs - (servers.clock.nowMs() - beganMs))
      const refused = await request()
      expect([endpoint, rateOf(refused)]).toEqual([endpoint, [true, "3", "0"]])
      expect(refused.headers.get("retry-after")).toMatch(/^[12]$/)
      expect(Number(refused.headers.get("x-rate-limit-reset")) * 1000 - servers.clock.nowMs()).toBeLessThanOrEqual(
        2 * secondMs,
      )
      expect(refused.body).toMatchObject({ title: "Too Many Requests", type: "about:blank", status: 429 })
      expect((await request(other)).status, endpoint).not.toBe(429)
      servers.clock.moveOn(2 * secondMs)
      expect([endpoint, rateOf(await request())]).toEqual([endpoint, granted[0]])
    }
  })

  test("users of an app have windows of their own, and the app's token has its own", async () => {
    const server = await start()
    const endpoint = "GET /2/users/:id"
    await setLimits(server, { requests: { [endpoint]: { app: 2, user: 1 }, "GET /2/users/me": { user: 1 } } })
    const tokens = [await userToken(server, server, "7"), await userToken(server, server, "8")]
    for (const token of tokens) {
      const get = async (path: string): Promise<readonly unknown[]> => rateOf(await server.call(path, { token }))
      expect([await get("/2/users/1"), await get("/2/users/1")]).toEqual([
        [false, "1", "0"],
        [true, "1", "0"],
      ])
      expect([await get(paths.me), await get(paths.me)]).toEqual([
        [false, "1", "0"],
        [true, "1", "0"],
      ])
    }
    expect(rateOf(await server.call("/2/users/1"))).toEqual([false, "2", "1"])
  })

  test("a profile has X's figures: fifty requests for usage, and one search of all posts a second", async () => {
    const server = await start({ limits: "x-pay-per-use" })
    const statuses = []
    for (let count = 0; count < 51; count += 1) statuses.push((await server.call(paths.usage)).status)
    expect(statuses).toEqual([...Array.from({ length: 50 }, () => 200), 429])
    const search = (): Promise<TestResponse> => server.call(`${paths.searchAll}?query=cat`)
    expect(rateOf(await search())).toEqual([false, "300", "299"])
    expect(rateOf(await search()), "refused by the second, which the quarter of an hour does not count").toEqual([
      true,
      "1",
      "0",
    ])
    servers.clock.moveOn(secondMs)
    expect(rateOf(await search())).toEqual([false, "300", "298"])
    // A HEAD counts as the GET that it asks about.
    servers.clock.moveOn(secondMs)
    expect(rateOf(await server.call(`${paths.searchAll}?query=cat`, { method: "HEAD" }))).toEqual([false, "300", "297"])
  })

  test("an operator's settings count before the profile, and what is set for an app before both", async () => {
    const server = await start({
      limits: "x-enterprise",
      "request-bounds": "GET /2/tweets/:id app 7, GET /2/users/:id app 0",
      "rules-per-app-max": "9",
    })
    const { body } = await server.call(paths.limits)
    expect(body.data).toMatchObject({
      profile: "x-enterprise",
      own: {},
      rules: 9,
      rule_characters: 2_048,
      connections: 2,
      cap_reset_day: 1,
      has_credits: true,
    })
    const windows = (found: { data: { requests: readonly Record<string, unknown>[] } }, endpoint: string) =>
      found.data.requests.filter((one) => one["endpoint"] === endpoint).map(({ per, limit }) => [per, limit])
    expect(windows(body, "GET /2/tweets/:id")).toEqual([
      ["app", 7],
      ["user", 900],
    ])
    expect(windows(body, "GET /2/users/:id")).toEqual([["user", 900]])
    expect(windows(body, "GET /2/tweets")).toEqual([
      ["app", 3_500],
      ["user", 5_000],
    ])
    await setLimits(server, { rules: 1, requests: { "GET /2/tweets/:id": { app: 8 } } })
    const own = (await server.call(paths.limits)).body
    expect(windows(own, "GET /2/tweets/:id")).toEqual([
      ["app", 8],
      ["user", 900],
    ])
    expect(rateOf(await server.call("/2/tweets/1"))).toEqual([false, "8", "7"])
    const rules = { add: [{ value: "cat" }, { value: "dog" }] }
    expect((await server.send("POST", paths.rules, rules)).body.meta.summary).toMatchObject({
      created: 1,
      not_created: 1,
    })
    expect((await server.call(paths.ruleCounts)).body.data.cap_per_client_app).toBe("1")
  })

  test("without a profile nothing is counted, and every response has X's headers", async () => {
    const server = await start()
    for (const path of [paths.usage, "/2/tweets/1", "/2/nothing", paths.healthz]) {
      const { headers } = await server.call(path)
      expect([path, headers.get("api-version"), headers.get("x-rate-limit-remaining")]).toEqual([
        path,
        "2.167",
        "1000000",
      ])
    }
    expect((await server.call(paths.usage, { token: null })).headers.get("api-version")).toBe("2.167")
  })

  test("an app without credit gets X's 402 for every path of X, and all else as before", async () => {
    const server = await start()
    await setLimits(server, { has_credits: false })
    for (const path of [paths.usage, "/2/tweets/1", paths.rules, paths.stream]) {
      const { status, body } = await server.call(path)
      expect([path, status]).toEqual([path, 402])
      expect(body).toMatchObject({
        title: "CreditsDepleted",
        detail: "Your enrolled account does not have any credits",
        type: "https://api.x.com/2/problems/credits",
      })
    }
    expect((await server.call(paths.limits)).body.data.has_credits).toBe(false)
    await setLimits(server, {})
    expect((await server.call(paths.usage)).status).toBe(200)
  })

  test("a rule's length and the number of connections are an app's own, and a refused connection says when to come again", async () => {
    const server = await start()
    await setLimits(server, { rule_characters: 5, connections: 2 })
    const { body } = await server.send("POST", paths.rules, { add: [{ value: "heron" }, { value: "herons" }] })
    expect(body.meta.summary).toMatchObject({ created: 1, invalid: 1 })
    const streams = [await openStream(server), await openStream(server)]
    const third = await server.call(paths.stream)
    expect([third.status, third.headers.get("retry-after")]).toEqual([429, "1"])
    for (const stream of streams) await stream[Symbol.asyncDispose]()
  })
})

test("with a profile, a search ends ten seconds ago, and a search of all posts begins 30 days before", async () => {
  const server = await start({ limits: "x-enterprise", search: "on" })
  const at = (agoMs: number): string => (BigInt(servers.clock.nowMs() - agoMs - snowflakeEpochMs) << 22n).toString()
  const old = { created_at: new Date(servers.clock.nowMs() - 31 * dayMs).toISOString() }
  await server.ingest(
    envelope(at(31 * dayMs), "a heron", old),
    envelope(at(29 * dayMs), "a heron"),
    envelope(at(0), "a heron"),
  )
  const count = async (parameters = ""): Promise<number> => {
    servers.clock.moveOn(secondMs)
    return (await server.call(`${paths.searchAll}?query=heron${parameters}`)).body.meta.result_count as number
  }
  await expect.poll(() => count("&start_time=2020-01-01T00:00:00Z")).toBeGreaterThanOrEqual(2)
  expect(await count()).toBe(1)
  servers.clock.moveOn(11 * secondMs)
  expect(await count()).toBe(2)
  expect(await count("&start_time=2020-01-01T00:00:00Z")).toBe(3)
  servers.clock.moveOn(secondMs)
  const end = new Date(servers.clock.nowMs() - 9 * secondMs).toISOString()
  const refused = await server.call(`${paths.searchAll}?query=heron&end_time=${end}`)
  expect(refused.status).toBe(400)
  expect(refused.text).toContain("must be a minimum of 10 seconds prior to the request time.")
})
