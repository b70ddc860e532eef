import { paths } from "@sluice/api"
import { expect, test } from "vitest"
import { loadConfig } from "../../config.ts"
import { startServer, type RunningServer } from "../../main.ts"
import { ConfigError } from "../../runtime/config-error.ts"
import { temporaryDirectory } from "../../../../../test/support/temporary-directory.testing.ts"

const token = "a-token-of-prometheus"

async function started(
  flags: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string>> = {},
): Promise<RunningServer & AsyncDisposable> {
  await using starting = new AsyncDisposableStack()
  const { path: data } = starting.use(await temporaryDirectory())
  const config = loadConfig({ posture: "serve", flags: { port: "0", "log-level": "silent", data, ...flags }, env })
  const server = await startServer(config)
  starting.defer(() => server.close())
  const resources = starting.move()
  return Object.assign(server, { [Symbol.asyncDispose]: () => resources.disposeAsync() })
}

async function statusOf(url: string, authorization?: string): Promise<number> {
  const headers = authorization === undefined ? {} : { authorization }
  return (await fetch(url, { headers })).status
}

test("metrics are on the API's port and open, unless they have a port or a token of their own", async () => {
  await using server = await started({})
  expect(server.metricsUrl).toBeUndefined()
  expect(await statusOf(server.url + paths.metrics)).toBe(200)
  expect(await (await fetch(server.url)).text()).toContain('href="/metrics"')
})

test("metrics with their own port are absent from the API's port, description and page, alone on theirs", async () => {
  await using server = await started({ "metrics-port": "0", "metrics-host": "127.0.0.1" })
  const { url, metricsUrl = "" } = server
  expect(new URL(metricsUrl).port).not.toBe(new URL(url).port)
  const scraped = await fetch(metricsUrl)
  expect(scraped.headers.get("content-type")).toContain("text/plain")
  expect(await scraped.text()).toMatch(/^sluice_http_requests_total|^# HELP sluice_/m)

  expect(await statusOf(url + paths.metrics)).toBe(404)
  expect(await (await fetch(url)).text()).not.toContain("/metrics")
  const { paths: described } = (await (await fetch(url + paths.openapi)).json()) as { paths: object }
  expect(Object.keys(described)).not.toContain(paths.metrics)

  for (const path of [paths.home, paths.healthz, paths.openapi, paths.rules, paths.posts])
    expect(await statusOf(new URL(path, metricsUrl).href), path).toBe(404)
  const posted = await fetch(metricsUrl, { method: "POST" })
  expect([posted.status, posted.headers.get("allow")]).toEqual([405, "GET, HEAD"])
  await server[Symbol.asyncDispose]()
  await expect(fetch(metricsUrl)).rejects.toThrow("fetch failed")
})

test.each([{}, { "metrics-port": "0" }])("metrics with their own token need that token: %j", async (flags) => {
  await using server = await started(flags, { SLUICE_METRICS_TOKEN: token })
  const url = server.metricsUrl ?? server.url + paths.metrics
  expect(await statusOf(url, `Bearer ${token}`)).toBe(200)
  const operator = await server.apps.createToken("operator")
  const wrong = [undefined, "Bearer x", `Bearer ${token}x`, `Bearer ${token.slice(1)}`, `Basic ${token}`, token]
  for (const one of [...wrong, `Bearer ${operator}`]) expect(await statusOf(url, one), one ?? "none").toBe(401)
  const refused = await fetch(url)
  expect(refused.headers.get("www-authenticate")).toBe("Bearer")
  expect(await refused.json()).toMatchObject({ status: 401, title: "Unauthorized" })
  // It opens nothing else.
  expect(await statusOf(server.url + paths.linkDetails, `Bearer ${token}`)).toBe(401)
})

test.each([
  [{ "metrics-host": "127.0.0.1" }, {}, "metricsHost is set without metricsPort"],
  [{ port: "9464", "metrics-port": "9464" }, {}, "metricsPort (9464) is the port of the API."],
  [{ "metrics-port": "x" }, {}, 'metricsPort "x" (from --metrics-port) must be a whole number from 0 to 65535.'],
  [{}, { SLUICE_METRICS_TOKEN: "short" }, "metricsToken (from SLUICE_METRICS_TOKEN) must be 16 to 200 characters"],
  [{}, { SLUICE_METRICS_TOKEN: "sixteen characters" }, "must be 16 to 200 characters of A-Z"],
])("invalid settings of the metrics are refused: %j %j", (flags, env, message) => {
  const load = () => loadConfig({ posture: "serve", flags, env })
  expect(load).toThrow(ConfigError)
  expect(load).toThrow(message)
})
