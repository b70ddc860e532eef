/** Two servers on one database: the responses of each after changes at the other. */
import { randomBytes } from "node:crypto"
import { paths, type LinkDetail } from "@sluice/api"
import { setTimeout as sleep } from "node:timers/promises"
import { isSampled } from "@sluice/rules"
import { afterEach, beforeEach, expect, test } from "vitest"
import {
  loadConfig,
  rotateMasterKey,
  startServer,
  type AppCredentials,
  type RunningServer,
} from "../packages/server/src/index.ts"
import {
  createTestDatabase,
  type TestDatabase,
} from "../packages/server/src/store/cluster/connection/postgres.testing.ts"
import { WebhookReceiver } from "./support/webhook-receiver.testing.ts"

let database: TestDatabase
let config: ReturnType<typeof loadConfig>
let servers: readonly [RunningServer, RunningServer]
let app: AppCredentials
let resources: AsyncDisposableStack

beforeEach(async () => {
  resources = new AsyncDisposableStack()
  database = resources.use(await createTestDatabase())
  const flags = { port: "0", "log-level": "silent", database: database.url }
  config = loadConfig({ posture: "dev", flags, env: { SLUICE_MASTER_KEY: randomBytes(32).toString("hex") } })
  const start = async (): Promise<RunningServer> => {
    const server = await startServer(config)
    resources.defer(() => server.close())
    return server
  }
  servers = [await start(), await start()]
  app = await servers[0].apps.create("test")
})

afterEach(async () => {
  await resources.disposeAsync()
})

async function call(server: RunningServer, method: string, path: string, body?: unknown): Promise<unknown> {
  const type = path === paths.posts ? "application/x-ndjson" : "application/json"
  const response = await fetch(server.url + path, {
    method,
    headers: { authorization: `Bearer ${app.bearer_token}`, ...(body !== undefined && { "content-type": type }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`)
  return JSON.parse(text.split("\n", 1)[0] ?? "")
}

async function statesAt(server: RunningServer): Promise<readonly LinkDetail[]> {
  return ((await call(server, "GET", paths.linkDetails)) as { data: readonly LinkDetail[] }).data
}

test("the state of a link is the same at every process, whichever drives it", async () => {
  const receiver = resources.use(await WebhookReceiver.start(app.consumer_secret))
  receiver.statusOf = () => 500
  // Makes a link for each process.
  for (const at of [1, 2]) {
    const url = `${receiver.url}/${at}`
    const { data } = (await call(servers[0], "POST", paths.webhooks, { url })) as { data: { id: string } }
    await call(servers[0], "POST", paths.link.replace(":webhook_id", data.id))
  }
  await call(servers[0], "POST", paths.rules, { add: [{ value: "cat" }] })
  await call(servers[1], "POST", paths.posts, { data: { id: "1", text: "a cat" } })
  const shown = ({ failed, failing_since, next_attempt_at, in_flight }: LinkDetail): unknown => ({
    failed,
    failing_since,
    hasNext: next_attempt_at !== undefined,
    in_flight,
  })
  await expect
    .poll(
      async () => {
        const [one, two] = [await statesAt(servers[0]), await statesAt(servers[1])]
        const isKnown =
          one.length === 2 && one.every(({ failed, failing_since }) => failed > 0 && failing_since !== undefined)
        return isKnown && JSON.stringify(one.map(shown)) === JSON.stringify(two.map(shown))
      },
      { timeout: 20_000 },
    )
    .toBe(true)
  receiver.statusOf = () => 200
  await call(servers[0], "POST", paths.posts, { data: { id: "2", text: "another cat" } })
  const delivered = async (): Promise<readonly (readonly number[])[]> =>
    Promise.all(servers.map(async (server) => (await statesAt(server)).map(({ delivered: count }) => count)))
  await expect.poll(delivered, { timeout: 30_000 }).toEqual([
    [2, 2],
    [2, 2],
  ])
}, 60_000)

test("a link that one process pauses is paused at whichever drives it, and what waits is delivered once, after a resume", async () => {
  const receiver = resources.use(await WebhookReceiver.start(app.consumer_secret))
  const ids: string[] = []
  // A link for each process.
  for (const at of [1, 2]) {
    const { data } = (await call(servers[0], "POST", paths.webhooks, { url: `${receiver.url}/${at}` })) as {
      data: { id: string }
    }
    await call(servers[0], "POST", paths.link.replace(":webhook_id", data.id))
    ids.push(data.id)
  }
  await call(servers[0], "POST", paths.rules, { add: [{ value: "cat" }] })
  await call(servers[1], "POST", paths.posts, { data: { id: "1", text: "a cat" } })
  await receiver.arrived(2)
  const setPaused = (server: RunningServer, paused: boolean): Promise<unknown> =>
    Promise.all(ids.map((id) => call(server, "PATCH", paths.linkDetail.replace(":webhook_id", id), { paused })))
  await setPaused(servers[0], true)
  // Attempts that are in flight end: a process hears of a change within two seconds.
  const pausedAt = async (server: RunningServer) => (await statesAt(server)).map(({ paused }) => paused)
  await expect.poll(() => pausedAt(servers[1])).toEqual([true, true])
  await sleep(2_500)
  for (const id of ["2", "3", "4"]) await call(servers[1], "POST", paths.posts, { data: { id, text: "a cat" } })
  await sleep(1_500)
  expect(receiver.received).toHaveLength(2)
  expect((await statesAt(servers[0])).map(({ undelivered, down }) => [undelivered, down])).toEqual([
    [3, false],
    [3, false],
  ])
  await setPaused(servers[1], false)
  await receiver.arrived(8)
  expect(receiver.eventIds.size).toBe(8)
  expect(receiver.postIds.toSorted()).toEqual(["1", "1", "2", "2", "3", "3", "4", "4"])
}, 60_000)

test("the command replaces the master key only when no server runs", async () => {
  const newKey = randomBytes(32).toString("hex")
  await servers[0].close()
  await expect(rotateMasterKey(config, newKey)).rejects.toThrow("A Sluice server runs on the database.")
  await servers[1].close()
  expect(await rotateMasterKey(config, newKey)).toEqual({ apps: 1, webhooks: 0 })
})

test("a sign-out of the console at one process ends the session at every other", async () => {
  const [one, two] = servers
  const signedIn = await fetch(one.url + paths.session, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token: app.bearer_token }),
  })
  const [cookie = ""] = signedIn.headers.get("set-cookie")?.split(";") ?? []
  const { data } = (await signedIn.json()) as { data: { csrf_token: string } }
  const headers = { cookie, "sluice-csrf": data.csrf_token }
  const statusAt = async ({ url }: RunningServer): Promise<number> =>
    (await fetch(url + paths.session, { headers })).status
  expect([await statusAt(one), await statusAt(two)]).toEqual([200, 200])
  expect((await fetch(one.url + paths.session, { method: "DELETE", headers })).status).toBe(200)
  expect([await statusAt(one), await statusAt(two)]).toEqual([401, 401])
})

test("requests of an app and the posts that it got are counted over both, and what is left counts down truly", async () => {
  const [one, two] = servers
  const id = app.application_id as Parameters<typeof one.apps.setLimits>[0]
  await one.apps.setLimits(id, { requests: { "GET /2/tweets/:id": { app: 40 } }, posts_per_month: 3 })
  const get = async ({ url }: RunningServer, path: string) => {
    const { status, headers } = await fetch(url + path, { headers: { authorization: `Bearer ${app.bearer_token}` } })
    return [status, headers.get("x-rate-limit-remaining")]
  }
  await expect.poll(() => get(two, "/2/tweets/9")).toEqual([200, expect.stringMatching(/^\d\d$/)])
  const [, before] = await get(one, "/2/tweets/9")
  const left = Number(before)
  for (let after = left - 1; after >= 0; after -= 1) {
    expect(await get(after % 3 === 0 ? two : one, "/2/tweets/9")).toEqual([200, String(after)])
  }
  expect([await get(one, "/2/tweets/9"), await get(two, "/2/tweets/9")]).toEqual([
    [429, "0"],
    [429, "0"],
  ])
  await call(one, "POST", paths.posts, { data: { id: "1", text: "a cat" } })
  await call(one, "POST", paths.posts, { data: { id: "2", text: "a cat" } })
  await call(one, "POST", paths.posts, { data: { id: "3", text: "a cat" } })
  await call(one, "GET", `${paths.postsById}?ids=1,2`)
  await call(two, "GET", `${paths.postsById}?ids=2,3`)
  const usageAt = async (server: RunningServer): Promise<unknown> =>
    ((await call(server, "GET", paths.usage)) as { data: { project_usage: string } }).data.project_usage
  await expect.poll(async () => [await usageAt(one), await usageAt(two)], { timeout: 10_000 }).toEqual(["3", "3"])
  await expect.poll(async () => (await get(two, `${paths.postsById}?ids=1`))[0], { timeout: 10_000 }).toBe(429)
  expect((await get(one, `${paths.postsById}?ids=1`))[0]).toBe(429)
})

test("an app's connections are listed and ended at every process, and X's message comes before the end", async () => {
  const [one, two] = servers
  await call(one, "POST", paths.rules, { add: [{ value: "cat" }] })
  const stream = await fetch(one.url + paths.stream, { headers: { authorization: `Bearer ${app.bearer_token}` } })
  expect(stream.status).toBe(200)
  const sample = await fetch(two.url + paths.sample, { headers: { authorization: `Bearer ${app.bearer_token}` } })
  expect(sample.status).toBe(200)
  type Listed = { data: { id: string; endpoint_name: string; disconnect_reason?: string }[] }
  const listedAt = async (server: RunningServer, query = ""): Promise<Listed["data"]> =>
    ((await call(server, "GET", paths.connections + query)) as Listed).data
  const open = await listedAt(two)
  expect(open.map(({ endpoint_name }) => endpoint_name)).toEqual(["sample_stream", "filtered_stream"])
  expect(await listedAt(one)).toEqual(open)
  const { data } = (await call(two, "DELETE", paths.connections, { uuids: [open[1]?.id] })) as { data: object }
  expect(data).toMatchObject({ successful_kills: 1, failed_kills: 0 })
  // It counts no more, so its app connects again at once.
  const again = await fetch(two.url + paths.stream, { headers: { authorization: `Bearer ${app.bearer_token}` } })
  expect(again.status).toBe(200)
  expect(JSON.parse((await stream.text()).trim())).toMatchObject({
    errors: [{ title: "operational-disconnect", disconnect_type: "ForceDisconnect" }],
  })
  await call(two, "DELETE", paths.allConnections)
  expect(await sample.text()).toContain("ForceDisconnect")
  expect(await again.text()).toContain("ForceDisconnect")
  expect(await listedAt(one)).toEqual([])
  const ended = await listedAt(one, "?status=inactive")
  expect(ended.map(({ disconnect_reason }) => disconnect_reason)).toEqual(
    Array.from({ length: 3 }, () => "ForceDisconnect"),
  )
}, 30_000)

test("a sample stream at one process has the posts that come to another, matched by a rule or not", async () => {
  const [one, two] = servers
  const headers = { authorization: `Bearer ${app.bearer_token}` }
  const stream = await fetch(one.url + paths.sample, { headers })
  const ids = Array.from({ length: 600 }, (_, at) => String(at + 1))
  const lines = ids.map((id) => JSON.stringify({ data: { id, text: "a post" } })).join("\n")
  const sent = { method: "POST", headers: { ...headers, "content-type": "application/x-ndjson" }, body: lines }
  expect((await fetch(two.url + paths.posts, sent)).status).toBe(200)
  const wanted = ids.filter((id) => isSampled(id, 1))
  let text = ""
  for await (const chunk of stream.body ?? []) {
    text += Buffer.from(chunk).toString()
    if ((text.match(/"data"/g) ?? []).length === wanted.length) break
  }
  expect(text.match(/"id":"\d+"/g)).toEqual(wanted.map((id) => `"id":"${id}"`))
}, 30_000)
