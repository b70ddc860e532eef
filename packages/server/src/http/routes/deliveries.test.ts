import { createHmac } from "node:crypto"
import {
  paths,
  pathOf,
  type DeadLetter,
  type LinkAttempt,
  type LinkAttemptBody,
  type LinkDetail,
  type PageMeta,
} from "@sluice/api"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { startTestServer, type TestResponse, type TestServer } from "../../../../../test/support/test-server.testing.ts"
import { WebhookReceiver } from "../../../../../test/support/webhook-receiver.testing.ts"

let at: TestServer
let operator: string
let receiver: WebhookReceiver
let webhook: string
let statePath: string

/** A number that no other post has. */
let lastId = 1_000

beforeAll(async () => {
  at = await startTestServer({
    "delivery-attempts-max": "2",
    "retry-seconds-min": "1",
    "retry-seconds-max": "1",
    "signing-key-grace-hours": "1",
  })
  operator = await at.running.apps.createToken("operator")
  receiver = await WebhookReceiver.start(at.app.consumer_secret)
  receiver.statusOf = ({ body }) => (body.includes("poison") ? 400 : 200)
  const made = await at.send("POST", paths.webhooks, { url: receiver.url })
  webhook = (made.body as { data: { id: string } }).data.id
  statePath = paths.linkDetail.replace(":webhook_id", webhook)
  await at.send("POST", paths.rules, { add: [{ value: "cat" }] })
  expect((await at.call(`${paths.links}/${webhook}`, { method: "POST" })).status).toBe(200)
})

afterAll(async () => {
  await at[Symbol.asyncDispose]()
  await receiver[Symbol.asyncDispose]()
})

async function ingest(...texts: readonly string[]): Promise<string[]> {
  const ids = texts.map(() => String((lastId += 1)))
  const lines = texts.map((text, index) => JSON.stringify({ data: { id: ids[index], text, author_id: "7" } }))
  const { body } = await at.call(paths.posts, {
    method: "POST",
    headers: { "content-type": "application/x-ndjson" },
    body: lines.join("\n"),
  })
  expect(body).toMatchObject({ accepted: texts.length })
  return ids
}

async function state(): Promise<LinkDetail> {
  return ((await at.call(statePath)).body as { data: LinkDetail }).data
}

async function deadLetters(query = "", token = at.app.bearer_token): Promise<DeadLetter[]> {
  const { body } = await at.call(paths.deadLetters + query, { token })
  return (body as { data: DeadLetter[] }).data
}

function sends(eventId: string): number {
  return receiver.received.filter(({ headers }) => headers["webhook-id"] === eventId).length
}

function message({ status, body }: TestResponse): unknown {
  expect(status).toBe(400)
  const [error] = (body as { errors: { message: string; detail: string }[] }).errors
  return error?.detail
}

describe("dead letters", () => {
  test("a match whose attempts are exhausted becomes a dead letter, which can be sent again", async () => {
    const [, poison] = await ingest("a cat", "a poison cat", "another cat")
    await expect.poll(async () => (await deadLetters()).length).toBe(1)
    const [letter] = await deadLetters()
    expect(letter).toEqual({
      id: expect.stringMatching(/^\d+$/) as string,
      webhook_id: webhook,
      application_id: at.app.application_id,
      event_id: expect.stringMatching(/^msg_\d+_2$/) as string,
      post_id: poison,
      failures: 2,
      outcome: "rejected",
      fault: "endpoint",
      status: 400,
      error: "responded with status 400",
      matched_at: expect.stringMatching(/Z$/) as string,
      dead_lettered_at: expect.stringMatching(/Z$/) as string,
    })
    const { id = "", event_id: eventId = "", dead_lettered_at: deadLetteredAt = "" } = letter ?? {}
    expect(sends(eventId)).toBe(2)
    expect(await state()).toMatchObject({
      position: 3,
      lag: 0,
      ordered: false,
      down: false,
      total: { delivered: 2, retrying: 0, dead_letters: 1, expired: 0, missed: 0, withdrawn: 0 },
      gaps: [],
    })

    const attemptsPath = paths.attempts.replace(":webhook_id", webhook)
    await expect
      .poll(async () => {
        const { body } = await at.call(attemptsPath)
        return (body as { meta: { result_count: number } }).meta.result_count
      })
      .toBe(4)
    const attempts = ((await at.call(attemptsPath)).body as { data: LinkAttempt[] }).data
    const failed = attempts.filter((one) => one.event_id === eventId)
    expect(failed).toHaveLength(2)
    expect(failed[0]).toEqual({
      id: expect.stringMatching(/^[1-4]$/) as string,
      at: expect.stringMatching(/Z$/) as string,
      duration_ms: expect.any(Number) as number,
      outcome: "rejected",
      fault: "endpoint",
      status: 400,
      event_id: eventId,
      bytes: Buffer.byteLength(receiver.received.find(({ headers }) => headers["webhook-id"] === eventId)?.body ?? ""),
      error: "responded with status 400",
    })
    expect(
      attempts
        .map((one) => one.at)
        .toSorted()
        .toReversed(),
    ).toEqual(attempts.map((one) => one.at))
    expect(attempts.find((one) => one.outcome === "delivered")).not.toHaveProperty("fault")
    const { body: one } = await at.call(`${attemptsPath}?max_results=1`)
    expect(one).toEqual({ data: [attempts[0]], meta: { result_count: 1 } })

    // It still fails: it is dead again, under the same event id, as another letter.
    expect((await at.send("POST", paths.redeliver, { ids: [id, "999"] })).body).toEqual({
      data: { redelivered: 1 },
    })
    await expect.poll(() => sends(eventId)).toBe(4)
    await expect.poll(async () => (await deadLetters())[0]?.id).not.toBe(id)
    await expect.poll(async () => (await deadLetters()).length).toBe(1)

    // And now it does not.
    const before = receiver.statusOf
    receiver.statusOf = () => 200
    expect((await at.send("POST", paths.redeliver, { all: true, since: "2999-01-01T00:00:00Z" })).body).toEqual({
      data: { redelivered: 0 },
    })
    expect((await at.send("POST", paths.redeliver, { all: true, webhook_id: "1" })).body).toEqual({
      data: { redelivered: 0 },
    })
    const again = { all: true, webhook_id: webhook, since: deadLetteredAt }
    expect((await at.send("POST", paths.redeliver, again)).body).toEqual({ data: { redelivered: 1 } })
    await expect
      .poll(async () => (await state()).total)
      .toEqual({
        delivered: 3,
        retrying: 0,
        dead_letters: 0,
        expired: 0,
        missed: 0,
        withdrawn: 0,
      })
    expect(sends(eventId)).toBe(5)
    expect(await deadLetters()).toEqual([])
    receiver.statusOf = before
  })

  test("dead letters are listed in pages, forwards and backwards", async () => {
    const ids = await ingest("poison cat 1", "poison cat 2", "poison cat 3", "a fine cat")
    await expect.poll(async () => (await deadLetters()).length).toBe(3)
    const page = async (query: string): Promise<{ ids: string[]; meta: PageMeta }> => {
      const { body } = await at.call(`${paths.deadLetters}?max_results=2&webhook_id=${webhook}${query}`)
      const { data, meta } = body as { data: DeadLetter[]; meta: PageMeta }
      return { ids: data.map((letter) => letter.post_id), meta }
    }
    const first = await page("")
    const second = await page(`&pagination_token=${first.meta.next_token}`)
    expect([...first.ids, ...second.ids].toSorted()).toEqual(ids.slice(0, 3))
    expect(second.meta).not.toHaveProperty("next_token")
    expect((await page(`&pagination_token=${second.meta.previous_token}`)).ids).toEqual(first.ids)
    const all = `${paths.deadLetters}?pagination_token=${first.meta.next_token}`
    expect((await at.call(all)).status, "the token belongs to the webhook's list").toBe(400)
    expect((await at.call(all, { token: operator })).status).toBe(400)
  })

  test("an operator sees and redelivers the dead letters of all apps, and an app no other app's", async () => {
    expect(await deadLetters("", operator)).toHaveLength(3)
    const { app: other } = await at.newApp()
    expect(await deadLetters("", other.bearer_token)).toEqual([])
    expect(await deadLetters(`?webhook_id=${webhook}`, other.bearer_token)).toEqual([])
    const ids = (await deadLetters()).map((letter) => letter.id)
    for (const request of [{ ids }, { all: true }, { all: true, webhook_id: webhook }]) {
      const { body } = await at.send("POST", paths.redeliver, request, other.bearer_token)
      expect(body).toEqual({ data: { redelivered: 0 } })
    }
    expect(await deadLetters()).toHaveLength(3)
    const { body } = await at.send("POST", paths.redeliver, { ids: ids.slice(0, 1) }, operator)
    expect(body).toEqual({ data: { redelivered: 1 } })
  })

  test.each([
    ["{}", /^Say which dead letters/],
    ['{"all":false}', /^Say which dead letters/],
    ['{"ids":["1"],"all":true}', /^Say which dead letters/],
    ['{"webhook_id":"1"}', /^Say which dead letters/],
    ['{"ids":["1"],"since":"2026-01-01T00:00:00Z"}', /^Say which dead letters/],
    ['{"ids":[]}', /`ids` must hold at least 1/],
    ['{"ids":[1]}', /`ids\[0\]` must be a string/],
    ['{"ids":["x"]}', /`ids\[0\]` must be 1 to 19 decimal digits/],
    ['{"all":"true"}', /`all` must be true or false/],
    ['{"all":true,"since":"yesterday"}', /`since` must be a moment in RFC 3339/],
    ['{"all":true,"since":"2026-02-30T00:00:00Z"}', /`since` must be a moment in RFC 3339/],
    ['{"all":true,"limit":1}', /`limit` is not known here/],
  ])("a redelivery request of %s is refused", async (body, expected) => {
    expect(message(await at.send("POST", paths.redeliver, body))).toMatch(expected)
  })
})

describe("an attempt", () => {
  async function attempts(): Promise<LinkAttempt[]> {
    return ((await at.call(pathOf(paths.attempts, { webhook_id: webhook }))).body as { data: LinkAttempt[] }).data
  }

  function attempt(id: string, of = webhook, token = at.app.bearer_token): Promise<TestResponse> {
    return at.call(pathOf(paths.attempt, { webhook_id: of, attempt_id: id }), { token })
  }

  async function newestAttempt(postId: string): Promise<LinkAttemptBody["data"]> {
    const sent = await eventuallyReceived(postId)
    const ofEvent = async (): Promise<LinkAttempt | undefined> =>
      (await attempts()).find((one) => one.event_id === sent.headers["webhook-id"])
    await expect.poll(async () => (await ofEvent()) !== undefined).toBe(true)
    return ((await attempt((await ofEvent())?.id ?? "")).body as LinkAttemptBody).data
  }

  test("is shown with the request as it was sent and the response as it came", async () => {
    const [id = ""] = await ingest("a cat for the record, “quoted”")
    const shown = await newestAttempt(id)
    const { headers, body } = await eventuallyReceived(id)
    const { connection: _, host: __, ...sent } = headers
    expect(shown.request).toEqual({ method: "POST", url: receiver.url, headers: sent, body })
    expect(shown).toMatchObject({
      outcome: "delivered",
      bytes: Buffer.byteLength(body),
      response: { status: 200, headers: { date: expect.stringMatching(/GMT$/) as string }, body: "", bytes: 0 },
    })
    expect((await attempt(shown.id, webhook, operator)).body).toEqual({ data: shown })
  })

  test("of another app, of no link, or without a number is not found", async () => {
    const { app: other } = await at.newApp()
    const [newest] = await attempts()
    const missing = await attempt("999999")
    expect(missing.status).toBe(404)
    const others = await attempt(newest?.id ?? "", webhook, other.bearer_token)
    expect(others.status).toBe(404)
    expect(others.text.replaceAll(newest?.id ?? "", "999999")).toBe(missing.text)
    expect((await attempt("1", "404")).status).toBe(404)
    expect((await attempt("x")).status).toBe(400)
  })
})

describe("a link", () => {
  test("a link is switched to ordered delivery and back", async () => {
    for (const ordered of [true, false]) {
      const { status, body } = await at.send("PATCH", statePath, { ordered })
      expect(status).toBe(200)
      expect(body).toMatchObject({ data: { webhook_id: webhook, ordered } })
      expect(await state()).toMatchObject({ ordered })
    }
    const byOperator = await at.send("PATCH", statePath, { ordered: true }, operator)
    expect(byOperator.body).toMatchObject({ data: { ordered: true } })
    expect((await at.call(statePath, { token: operator })).body).toMatchObject({ data: { ordered: true } })
    await at.send("PATCH", statePath, { ordered: false })
  })

  test("a link is paused once, and delivers what came meanwhile when it is resumed", async () => {
    await expect.poll(state).toMatchObject({ undelivered: 0 })
    const earlier = new Set(receiver.received.map(({ eventId }) => eventId))
    const newEvents = (): string[] => receiver.received.map(({ eventId }) => eventId).filter((id) => !earlier.has(id))
    const { status, body } = await at.send("PATCH", statePath, { paused: true })
    expect(status).toBe(200)
    expect(body).toMatchObject({ data: { webhook_id: webhook, paused: true, ordered: false } })
    const { paused_since: since } = (body as { data: { paused_since: string } }).data
    expect(since).toMatch(/Z$/)
    const again = await at.send("PATCH", statePath, { paused: true }, operator)
    expect(again.body).toMatchObject({ data: { paused_since: since } })
    // The link hears of it within seconds, so not all of these must wait.
    await ingest("a cat", "another cat")
    expect(await state()).toMatchObject({ paused: true, down: false })
    const resumed = await at.send("PATCH", statePath, { paused: false, ordered: false })
    expect(resumed.body).toMatchObject({ data: { paused: false, ordered: false } })
    expect(resumed.body).not.toHaveProperty("data.paused_since")
    await expect.poll(() => newEvents().length).toBe(2)
    expect(new Set(newEvents()).size).toBe(2)
    await expect.poll(state).toMatchObject({ undelivered: 0 })
  })

  test.each(["{}", '{"ordered":"yes"}', '{"ordered":null}', '{"ordered":true,"paused":1}', '{"halted":true}', "[]"])(
    "a link is not changed by %s",
    async (body) => {
      expect((await at.send("PATCH", statePath, body)).status).toBe(400)
      expect(await state()).toMatchObject({ ordered: false })
    },
  )

  test.each(["0", "1001", "x"])("a link does not show %s attempts", async (count) => {
    const path = paths.attempts.replace(":webhook_id", webhook)
    expect((await at.call(`${path}?max_results=${count}`)).status).toBe(400)
  })

  test("a link whose webhook is invalid shows the reason", async () => {
    await using wrong = await WebhookReceiver.start(at.app.consumer_secret)
    const made = await at.send("POST", paths.webhooks, { url: wrong.url })
    const { id } = (made.body as { data: { id: string } }).data
    await at.call(`${paths.links}/${id}`, { method: "POST" })
    wrong.statusOf = () => 410
    await ingest("a cat for the gone")
    const path = paths.linkDetail.replace(":webhook_id", id)
    await expect
      .poll(async () => (await at.call(path)).body)
      .toMatchObject({
        data: { valid: false, invalid_reason: "responded with 410 Gone", total: { delivered: 0, dead_letters: 0 } },
      })
    wrong.statusOf = () => 200
    expect((await at.call(`${paths.webhooks}/${id}`, { method: "PUT" })).body).toEqual({
      data: { valid: true },
    })
    await expect
      .poll(async () => (await at.call(path)).body)
      .toMatchObject({
        data: { valid: true, total: { delivered: 1, retrying: 0 } },
      })
    await at.call(`${paths.webhooks}/${id}`, { method: "DELETE" })
  })
})

test("after a rotation deliveries verify under the old key and the new one", async () => {
  const keyPath = paths.signingKey.replace(":webhook_id", webhook)
  const keyOf = ({ body }: TestResponse): { signing_key: string; previous_valid_until?: string } =>
    (body as { data: { signing_key: string } }).data
  const before = keyOf(await at.call(keyPath))
  expect(before).not.toHaveProperty("previous_valid_until")
  const rotated = await at.call(keyPath, { method: "POST" })
  expect(rotated.status).toBe(200)
  const now = keyOf(rotated)
  expect(now.signing_key).not.toBe(before.signing_key)
  const graceMs = Date.parse(now.previous_valid_until ?? "") - Date.now()
  expect(graceMs).toBeGreaterThan(3_590_000)
  expect(graceMs).toBeLessThanOrEqual(3_600_000)
  expect(keyOf(await at.call(keyPath))).toEqual(now)

  // A link hears of it a moment later; until then it signs with the key before, which is as good.
  let delivered: WebhookReceiver["received"][number]
  do {
    const [id] = await ingest("a cat after the rotation")
    delivered = await eventuallyReceived(id ?? "")
  } while (!String(delivered.headers["webhook-signature"]).includes(" "))
  const { "webhook-id": eventId, "webhook-timestamp": atS, "webhook-signature": signed } = delivered.headers
  const expected = [now, before].map(({ signing_key: key }) => {
    const secret = Buffer.from(key.replace("whsec_", ""), "base64")
    return `v1,${createHmac("sha256", secret)
      .update(`${String(eventId)}.${String(atS)}.${delivered.body}`)
      .digest("base64")}`
  })
  expect(signed).toBe(expected.join(" "))
})

async function eventuallyReceived(postId: string): Promise<WebhookReceiver["received"][number]> {
  const find = () => receiver.received.find(({ body }) => body.includes(`"id":"${postId}"`))
  await expect.poll(() => find() !== undefined).toBe(true)
  const found = find()
  if (found === undefined) throw new Error("it has not arrived")
  return found
}
