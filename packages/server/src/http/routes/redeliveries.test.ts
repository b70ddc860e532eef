import { pathOf, paths, type LinkDetail, type RedeliveredMatchesBody } from "@sluice/api"
import { afterAll, beforeAll, expect, test } from "vitest"
import {
  envelope,
  startTestServer,
  type TestResponse,
  type TestServer,
} from "../../../../../test/support/test-server.testing.ts"
import { WebhookReceiver } from "../../../../../test/support/webhook-receiver.testing.ts"

let at: TestServer
let receiver: WebhookReceiver
let webhook: string
let lastId = 0

beforeAll(async () => {
  // Nothing is retried by itself while the tests run.
  at = await startTestServer({ "retry-seconds-min": "3600", "retry-seconds-max": "3600" })
  receiver = await WebhookReceiver.start(at.app.consumer_secret)
  const made = await at.send("POST", paths.webhooks, { url: receiver.url })
  webhook = (made.body as { data: { id: string } }).data.id
  await at.send("POST", paths.rules, { add: [{ value: "cat" }] })
  expect((await at.call(pathOf(paths.link, { webhook_id: webhook }), { method: "POST" })).status).toBe(200)
})

afterAll(async () => {
  await at[Symbol.asyncDispose]()
  await receiver[Symbol.asyncDispose]()
})

async function state(): Promise<LinkDetail> {
  return ((await at.call(pathOf(paths.linkDetail, { webhook_id: webhook }))).body as { data: LinkDetail }).data
}

/** Waits until the result of every match is in the store. */
async function settled(): Promise<void> {
  await expect
    .poll(async () => {
      const { delivered, retrying, dead_letters: dead } = (await state()).total
      return delivered + retrying + dead
    })
    .toBe(lastId)
}

/** Ingests so many matches and waits until each was tried once; their event ids. */
async function tried(count: number): Promise<string[]> {
  receiver.received.length = 0
  await at.ingest(...Array.from({ length: count }, () => envelope((lastId += 1), "a cat")))
  await expect.poll(() => receiver.received.length).toBe(count)
  await settled()
  const sent = receiver.received.map(({ eventId }) => eventId)
  receiver.received.length = 0
  return sent
}

function redeliver(body: unknown, token = at.app.bearer_token): Promise<TestResponse> {
  return at.send("POST", paths.redeliverMatches, body, token)
}

function arrived(): string[] {
  return receiver.received.map(({ eventId }) => eventId).toSorted()
}

test("a match that was delivered is sent again under its id with its body, and is counted once", async () => {
  receiver.statusOf = () => 200
  await at.ingest(envelope((lastId += 1), "a cat to be sent twice"))
  await expect.poll(() => receiver.received.length).toBe(1)
  const [first] = receiver.received
  await settled()
  expect((await redeliver({ event_ids: [first?.eventId] })).body).toEqual({ data: { redelivered: 1, refused: [] } })
  await expect.poll(() => receiver.received.length).toBe(2)
  expect(receiver.received[1]).toMatchObject({ eventId: first?.eventId, body: first?.body })
  await expect.poll(async () => (await state()).total).toMatchObject({ delivered: 1, retrying: 0 })
})

test("a match that waits for its next attempt is sent at once, by its id or with all failed matches", async () => {
  receiver.statusOf = () => 503
  const [one = "", ...others] = (await tried(3)).toSorted()
  await expect.poll(async () => (await state()).total.retrying).toBe(3)
  receiver.statusOf = () => 200
  expect((await redeliver({ event_ids: [one] })).body).toEqual({ data: { redelivered: 1, refused: [] } })
  await expect.poll(arrived).toEqual([one])
  await expect.poll(async () => (await state()).total.retrying).toBe(2)
  expect((await redeliver({ webhook_id: webhook, failed: true })).body).toEqual({
    data: { redelivered: 2, refused: [] },
  })
  await expect.poll(arrived).toEqual([one, ...others])
  await expect.poll(async () => (await state()).total).toMatchObject({ retrying: 0, dead_letters: 0 })
  expect((await redeliver({ webhook_id: webhook, failed: true })).body).toEqual({
    data: { redelivered: 0, refused: [] },
  })
})

test("a match that is redelivered and fails is a retry", async () => {
  receiver.statusOf = () => 200
  const [one = ""] = await tried(1)
  const { delivered } = (await state()).total
  receiver.statusOf = () => 500
  await redeliver({ event_ids: [one] })
  await expect.poll(arrived).toEqual([one])
  await expect.poll(async () => (await state()).total).toMatchObject({ delivered: delivered - 1, retrying: 1 })
})

test("another app's matches, and matches that never existed, are refused alike; an operator may send any", async () => {
  receiver.statusOf = () => 200
  const [one = ""] = await tried(1)
  const { app: other } = await at.newApp()
  const unknown = [one, one.replace(/\d+$/, "999999"), "msg_1_1", "msg_x_1", ""]
  const { body } = await redeliver({ event_ids: unknown }, other.bearer_token)
  expect((body as RedeliveredMatchesBody).data).toEqual({
    redelivered: 0,
    refused: unknown.map((id) => ({ event_id: id, reason: "unknown" })),
  })
  expect((await redeliver({ webhook_id: webhook, failed: true }, other.bearer_token)).status).toBe(404)
  const operator = await at.running.apps.createToken("operator")
  expect((await redeliver({ event_ids: [one, one] }, operator)).body).toEqual({ data: { redelivered: 1, refused: [] } })
  await expect.poll(arrived).toEqual([one])
})

test.each([
  {},
  { failed: true },
  { webhook_id: "1" },
  { webhook_id: "1", failed: false },
  { event_ids: ["msg_1_1"], failed: true },
  { event_ids: [] },
  { event_ids: [1] },
  { event_ids: ["msg_1_1"], all: true },
])("a request of %j is refused", async (body) => {
  expect((await redeliver(body)).status).toBe(400)
})

test("a match of a deleted post that is sent again is withdrawn, and nothing arrives", async () => {
  receiver.statusOf = () => 200
  const [one = ""] = await tried(1)
  const { delivered, withdrawn, retrying } = (await state()).total
  const operator = await at.running.apps.createToken("operator")
  await at.send("POST", paths.deletions, { post_ids: [String(lastId)] }, operator)
  expect((await redeliver({ event_ids: [one] })).body).toEqual({ data: { redelivered: 1, refused: [] } })
  await expect
    .poll(async () => (await state()).total)
    .toMatchObject({ delivered: delivered - 1, retrying, withdrawn: withdrawn + 1 })
  expect(arrived()).toEqual([])
})
