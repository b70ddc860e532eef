import { paths, pathOf, type DisconnectType, type LinkAttempt, type Trouble } from "@sluice/api"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { openStream } from "../../../../../test/support/open-stream.testing.ts"
import {
  envelope,
  startTestServer,
  type TestResponse,
  type TestApp,
  type TestServer,
} from "../../../../../test/support/test-server.testing.ts"
import { WebhookReceiver } from "../../../../../test/support/webhook-receiver.testing.ts"

let at: TestServer
let other: TestApp
let receiver: WebhookReceiver
let webhook: string
let lastId = 1_000

beforeAll(async () => {
  at = await startTestServer({ "retry-seconds-min": "1", "retry-seconds-max": "1" })
  other = await at.newApp()
  receiver = await WebhookReceiver.start(at.app.consumer_secret)
  const made = await at.send("POST", paths.webhooks, { url: receiver.url })
  webhook = made.body.data.id as string
  await at.send("POST", paths.rules, { add: [{ value: "cat" }] })
  expect((await at.call(`${paths.links}/${webhook}`, { method: "POST" })).status).toBe(200)
})

beforeEach(async () => {
  await at.call(paths.troubles, { method: "DELETE" })
})

afterAll(async () => {
  await at[Symbol.asyncDispose]()
  await receiver[Symbol.asyncDispose]()
})

const add = (body: unknown, app: TestApp = at): Promise<TestResponse> => app.send("POST", paths.troubles, body)

async function waiting(app: TestApp = at): Promise<readonly Trouble[]> {
  return (await app.call(paths.troubles)).body.data as readonly Trouble[]
}

async function ingestOne(): Promise<string> {
  const id = String((lastId += 1))
  expect((await at.ingest(envelope(id, "a cat"))).body).toMatchObject({ accepted: 1 })
  return id
}

const timesReceived = (id: string): number => receiver.postIds.filter((postId) => postId === id).length

async function newestAttempts(count: number): Promise<readonly LinkAttempt[]> {
  const { body } = await at.call(`${pathOf(paths.attempts, { webhook_id: webhook })}?max_results=${String(count)}`)
  return body.data as readonly LinkAttempt[]
}

describe("deliveries", () => {
  test("get the requested response, and are retried as after a real one", async () => {
    const added = await add({ kind: "responses", webhook_id: webhook, response: "503", next: 1 })
    expect(added.body.data).toEqual({
      id: expect.stringMatching(/^\d+$/) as string,
      kind: "responses",
      webhook_id: webhook,
      response: "503",
      remaining: 1,
      applied: 0,
      created_at: expect.stringMatching(/Z$/) as string,
    })
    expect(await waiting()).toEqual([added.body.data])
    const id = await ingestOne()
    await expect.poll(() => timesReceived(id), { timeout: 10_000 }).toBe(1)
    await expect
      .poll(async () => (await newestAttempts(2)).map(({ outcome, status }) => ({ outcome, status })))
      .toEqual([
        { outcome: "delivered", status: 200 },
        { outcome: "server_error", status: 503 },
      ])
    expect(await waiting()).toEqual([])
  })

  test("whose response is cut arrive again, under the same event id", async () => {
    await add({ kind: "responses", response: "cut" })
    const id = await ingestOne()
    await expect.poll(() => timesReceived(id), { timeout: 10_000 }).toBe(2)
    const eventIds = receiver.received.filter(({ body }) => body.includes(id)).map(({ eventId }) => eventId)
    expect(new Set(eventIds).size).toBe(1)
  })

  test("are repeated, signed and with the same event id", async () => {
    await add({ kind: "repeats", next: 1 })
    const [id, next] = [await ingestOne(), await ingestOne()]
    await expect.poll(() => timesReceived(id) + timesReceived(next)).toBe(3)
    expect(receiver.refusals).toEqual([])
  })
})

test("a challenge fails as often as requested, and makes the webhook invalid", async () => {
  const own = await at.webhook()
  await add({ kind: "challenges", webhook_id: own, next: 1 })
  const validate = async (): Promise<unknown> => (await at.call(`${paths.webhooks}/${own}`, { method: "PUT" })).body
  expect(await validate()).toMatchObject({ data: { valid: false } })
  expect((await at.call(paths.webhooks)).body.data).toContainEqual(expect.objectContaining({ id: own, valid: false }))
  expect(await validate()).toMatchObject({ data: { valid: true } })
  await add({ kind: "challenges", response: "503" })
  const refused = await at.send("POST", paths.webhooks, { url: `${receiver.url}/new` })
  expect(refused.body).toMatchObject({ status: 400, errors: [{ message: expect.stringContaining("503") as string }] })
})

test("page tokens that were issued count as expired, and new ones do not", async () => {
  await at.send("POST", paths.rules, { add: [{ value: "dog" }, { value: "heron" }] })
  const page = (query: string): Promise<TestResponse> => at.call(`${paths.rules}?max_results=1${query}`)
  const token = (await page("")).body.meta.next_token as string
  expect((await page(`&pagination_token=${token}`)).status).toBe(200)
  const added = await add({ kind: "page_tokens" })
  expect(added.body.data).toMatchObject({ issued_until: expect.stringMatching(/Z$/) as string })
  const refused = await page(`&pagination_token=${token}`)
  expect(refused.status).toBe(400)
  expect(refused.text).toContain("has expired")
  await new Promise((resolve) => setTimeout(resolve, 2))
  const fresh = (await page("")).body.meta.next_token as string
  expect((await page(`&pagination_token=${fresh}`)).status).toBe(200)
  expect(await waiting()).toMatchObject([{ applied: 1 }])
})

const disconnects: readonly DisconnectType[] = [
  "OperationalDisconnect",
  "UpstreamOperationalDisconnect",
  "ForceDisconnect",
  "UpstreamUncleanDisconnect",
  "SlowReader",
  "InternalError",
  "ClientApplicationStateDegraded",
  "InvalidRules",
]

describe("stream connections", () => {
  test.each(disconnects)("end with %s, and the app may connect again at once", async (disconnect_type) => {
    await using stream = await openStream(at)
    const ended = await at.send("POST", paths.troubleDisconnect, { disconnect_type })
    expect(ended.body).toEqual({ data: { disconnected: 1 } })
    const last: unknown = await stream.next()
    expect(last).toMatchObject({
      errors: [{ title: "operational-disconnect", disconnect_type, detail: expect.any(String) as string }],
    })
    await expect(stream.next()).rejects.toThrow("the stream has ended")
    await using _again = await openStream(at)
  })

  test("are cut without a message when that is requested; another app's are not", async () => {
    await other.send("POST", paths.rules, { add: [{ value: "cat" }] })
    await using stream = await openStream(at)
    await using foreign = await openStream(other)
    const ended = await at.send("POST", paths.troubleDisconnect, { disconnect_type: "none" })
    expect(ended.body).toEqual({ data: { disconnected: 1 } })
    await expect(stream.next()).rejects.toThrow(/terminated|has ended/)
    const id = await ingestOne()
    expect(await foreign.next()).toMatchObject({ data: { id } })
  })
})

describe("troubles", () => {
  test("are an app's own: another app neither sees nor clears them", async () => {
    const { id } = (await add({ kind: "repeats", next: 5 })).body.data as Trouble
    expect(await waiting(other)).toEqual([])
    const one = pathOf(paths.trouble, { trouble_id: id })
    expect((await other.call(one, { method: "DELETE" })).status).toBe(404)
    expect((await other.call(paths.troubles, { method: "DELETE" })).body).toEqual({ data: { cleared: 0 } })
    expect((await add({ kind: "repeats", webhook_id: webhook }, other)).status).toBe(404)
    expect((await at.call(one, { method: "DELETE" })).body).toEqual({ data: { cleared: 1 } })
    expect(await waiting()).toEqual([])
  })

  test("that are invalid are refused", async () => {
    const refused = await add({ kind: "page_tokens", percent: 5 })
    expect(refused.status).toBe(400)
    expect(refused.text).toContain("`percent` is not for page_tokens")
    expect((await add({ kind: "earthquakes" })).text).toContain(
      "must be one of responses, repeats, challenges, page_tokens",
    )
    expect((await add({ kind: "repeats", next: 1_001 })).text).toContain("between 1 and 1000")
  })
})

test("a server for production has no trouble, and reports it", async () => {
  await using production = await startTestServer({}, "serve")
  const responses = [
    await production.call(paths.troubles),
    await add({ kind: "repeats" }, production),
    await production.call(paths.troubles, { method: "DELETE" }),
    await production.call(pathOf(paths.trouble, { trouble_id: "1" }), { method: "DELETE" }),
    await production.send("POST", paths.troubleDisconnect, { disconnect_type: "SlowReader" }),
  ]
  for (const { status, body } of responses) {
    expect(status).toBe(403)
    expect(body).toMatchObject({ detail: expect.stringContaining("only for `sluice dev`") as string })
  }
})
