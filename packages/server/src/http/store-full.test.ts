import { paths, problemTypes } from "@sluice/api"
import { afterEach, beforeEach, expect, test } from "vitest"
import { Activity } from "../control/activity.ts"
import type { Principal } from "../control/apps.ts"
import { storeUnavailable } from "../model/problem.ts"
import { systemClock } from "../runtime/clock.ts"
import { bareDeps } from "./bare-deps.testing.ts"
import type { HttpDeps, HttpServer } from "./deps.ts"
import { HeldPages } from "../queries/held-pages.ts"
import { createHttpServer } from "./server.ts"

const unreachable = Object.assign(new Error("connect ECONNREFUSED"), { code: "STORE_UNAVAILABLE" })

/** A disk without room, as it comes over from the thread that writes. */
const full = Object.assign(new Error("The disk is full."), { code: "STORE_FULL" })
const broken = Object.assign(new Error("no such table: rules"), { code: "ERR_OTHER" })

const emptyStore = { heads: async () => new Map<never, never>(), recentPosts: async function* () {} }

let http: HttpServer
let url: string
let thrown: Error
let failures: unknown[]
/** Whether the states of links cannot be read. */
let isAway: boolean

beforeEach(async () => {
  failures = []
  isAway = false
  const fail = (): Promise<never> => Promise.reject(thrown)
  const principal = { kind: "app", app: { id: "5", name: "own" } } as unknown as Principal
  const deps = {
    ...bareDeps(systemClock),
    apps: { principal: () => Promise.resolve(principal), active: () => Promise.resolve(undefined) },
    rulesets: {
      change: fail,
      list: () => Promise.resolve([]),
      count: () => Promise.resolve(0),
    },
    heldPages: new HeldPages(),
    webhookRegistry: {
      list: () => Promise.resolve([]),
      create: fail,
      validate: fail,
      delete: fail,
      describe: fail,
      rotateSigningKey: fail,
    },
    webhookLinks: { states: () => (isAway ? fail() : Promise.resolve([])) },
    activity: await Activity.begin({ store: emptyStore, clock: systemClock }),
    notReady: () => [],
    clockAheadMs: () => 0,
    links: { create: fail, delete: fail, setOrdered: fail, setPaused: fail, all: () => Promise.resolve([]) },
    deadLetters: { redeliver: fail },
    replayRequests: { create: fail },
    events: { requestFinished: () => undefined, failed: (event: unknown) => void failures.push(event) },
  }
  http = await createHttpServer(deps as unknown as HttpDeps)
  url = await http.listen({ host: "127.0.0.1", port: 0 })
})

afterEach(() => http.close())

function ask(method: string, path: string, body?: object): Promise<Response> {
  return fetch(url + path.replace(":webhook_id", "1"), {
    method,
    headers: {
      authorization: `Bearer sluice_app_${"A".repeat(43)}`,
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
}

const writes: readonly [method: string, path: string, body?: object][] = [
  ["POST", paths.rules, { add: [{ value: "cat" }] }],
  ["POST", paths.webhooks, { url: "https://example.com/" }],
  ["PUT", paths.webhook],
  ["DELETE", paths.webhook],
  ["PATCH", paths.webhookDetail, { name: "Zoo" }],
  ["POST", paths.signingKey],
  ["POST", paths.link],
  ["DELETE", paths.link],
  ["PATCH", paths.linkDetail, { ordered: true }],
  ["PATCH", paths.linkDetail, { paused: true }],
  ["POST", paths.redeliver, { all: true }],
  ["POST", paths.webhookReplay, { webhook_id: "1", from_date: "1", to_date: "1" }],
]

test.each(writes)("%s %s returns 503 and retry-after while the disk is full", async (method, path, body) => {
  thrown = full
  const response = await ask(method, path, body)
  expect(response.status).toBe(503)
  expect(response.headers.get("retry-after")).toBe("5")
  expect(await response.json()).toMatchObject({
    title: "Service Unavailable",
    type: problemTypes.unavailable,
    errors: [{ status: 503 }],
  })
  expect(failures, "unexpected failures").toEqual([])
})

test("a store that cannot be reached is a 503, with the time of a retry", async () => {
  thrown = unreachable
  const response = await ask("POST", paths.rules, { add: [{ value: "cat" }] })
  expect(response.status).toBe(503)
  expect(response.headers.get("retry-after")).toBe("5")
  expect(await response.json()).toMatchObject({ type: problemTypes.unavailable })
})

test("an overview that could not be made is made for the next request", async () => {
  thrown = unreachable
  isAway = true
  expect((await ask("GET", paths.overview)).status).toBe(503)
  isAway = false
  expect((await ask("GET", paths.overview)).status).toBe(200)
})

test("reads are served while the disk is full", async () => {
  thrown = full
  for (const path of [paths.rules, paths.links]) expect((await ask("GET", path)).status).toBe(200)
})

test("posts that could not be stored get the same 503", async () => {
  thrown = storeUnavailable(full)
  const response = await ask("POST", paths.rules, { add: [{ value: "cat" }] })
  expect(response.status).toBe(503)
  expect(response.headers.get("retry-after")).toBe("5")
})

test("any other failure of the store is a 500, and is reported", async () => {
  thrown = broken
  const response = await ask("POST", paths.rules, { add: [{ value: "cat" }] })
  expect(response.status).toBe(500)
  expect(failures).toEqual([{ where: "http", error: broken }])
})
