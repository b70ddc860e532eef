/** Deliveries to webhooks: body, signatures, failures. Each test bears the id of its row of docs/compatibility.md. */
import { createHmac } from "node:crypto"
import { text as bodyText } from "node:stream/consumers"
import { setTimeout as sleep } from "node:timers/promises"
import { paths, webhookResponseMsMax, type Envelope } from "@sluice/api"
import { expect, vi } from "vitest"
import { listening } from "../support/listening.testing.ts"
import { openStream } from "../support/open-stream.testing.ts"
import { envelope, startTestServer, type TestApp } from "../support/test-server.testing.ts"
import {
  addRules,
  appWithReceiver,
  hourMs,
  idsIn,
  ingestNew,
  link,
  newId,
  test,
  webhookPath,
} from "./support.testing.ts"

test("delivery-body: a webhook receives data, includes and matching_rules, signed as X signs", async ({ server }) => {
  await using linked = await appWithReceiver(server)
  const [cats, pets] = await addRules(linked, { value: "cat" }, { value: "cat OR dog", tag: "pets" })
  await link(
    linked,
    await linked.webhook(),
    "?tweet.fields=created_at,author_id&expansions=author_id&user.fields=verified",
  )
  const id = newId()
  await ingestNew(server, envelope(id, "a cat"))
  await linked.receiver.arrived(1)
  const [delivery] = linked.receiver.received
  const signed = createHmac("sha256", linked.app.consumer_secret)
    .update(delivery?.body ?? "")
    .digest("base64")
  expect(delivery?.headers["x-twitter-webhooks-signature"]).toBe(`sha256=${signed}`)
  const body = JSON.parse(delivery?.body ?? "") as { matching_rules: object[] }
  expect(Object.keys(body)).toEqual(["data", "includes", "matching_rules"])
  expect(body).toStrictEqual({
    data: {
      id,
      text: "a cat",
      author_id: "7",
      created_at: "2026-03-14T09:26:53.000Z",
      edit_history_tweet_ids: [id],
    },
    includes: { users: [{ id: "7", username: "wren", name: "Wren", verified: true }] },
    matching_rules: expect.arrayContaining([
      { id: cats, tag: "" },
      { id: pets, tag: "pets" },
    ]) as object[],
  })
  expect(body.matching_rules).toHaveLength(2)
})

test("matching-rules-tag: a match of a rule without a tag has an empty tag on streams, in deliveries and in replays", async ({
  server,
}) => {
  await using linked = await appWithReceiver(server)
  const [plain, tagged] = await addRules(linked, { value: "cat" }, { value: "cat OR dog", tag: "pets" })
  const webhookId = await linked.webhook()
  await link(linked, webhookId)
  await using stream = await openStream(linked)
  const minuteNow = (): string => new Date().toISOString().replaceAll(/\D/g, "").slice(0, 12)
  const fromDate = minuteNow()
  await ingestNew(server, envelope(newId(), "a cat"))
  await linked.receiver.arrived(1)
  const replay = { webhook_id: webhookId, from_date: fromDate, to_date: minuteNow() }
  expect((await linked.send("POST", paths.webhookReplay, replay)).status).toBe(200)
  await linked.receiver.arrived(2)

  const rules = [
    { id: plain, tag: "" },
    { id: tagged, tag: "pets" },
  ]
  expect((await stream.next()) as unknown).toMatchObject({ matching_rules: rules })
  for (const delivery of linked.receiver.received.slice(0, 2)) {
    expect(JSON.parse(delivery.body)).toMatchObject({ matching_rules: rules })
  }
  expect((await linked.call(paths.rules)).body.data).toEqual([
    { id: tagged, value: "cat OR dog", tag: "pets" },
    { id: plain, value: "cat" },
  ])
})

test("matching-rules-size: a match names its oldest rules up to 64 KiB, and says how many more there are", async ({
  server,
}) => {
  await using linked = await appWithReceiver(server)
  const tag = "😀".repeat(127)
  const ids: string[] = []
  for (const start of [0, 100, 200]) {
    const rules = Array.from({ length: 100 }, (_, at) => ({ value: `cat -w${start + at}`, tag }))
    ids.push(...(await addRules(linked, ...rules)))
  }
  await link(linked, await linked.webhook())
  await using stream = await openStream(linked)
  await ingestNew(server, envelope(newId(), "a cat"))
  await linked.receiver.arrived(1)
  const streamed = (await stream.next()) as unknown
  const delivered: unknown = JSON.parse(linked.receiver.received[0]?.body ?? "")
  expect(delivered).toEqual(streamed)
  const { matching_rules: named, matching_rules_omitted: omitted } = streamed as {
    matching_rules: { id: string }[]
    matching_rules_omitted: number
  }
  expect(Buffer.byteLength(JSON.stringify(named))).toBeLessThanOrEqual(65_536)
  expect(named.length).toBeGreaterThan(100)
  expect(idsIn(named)).toEqual(ids.toSorted().slice(0, named.length))
  expect(omitted).toBe(300 - named.length)
  // The server renders metrics once a second, for all readers.
  const metrics = async (): Promise<string> => (await linked.call("/metrics")).text
  await expect.poll(metrics).toContain(`\nsluice_matching_rules_omitted_total ${omitted}\n`)
})

test("client-secret: an endpoint verifies with the client secret or the consumer secret alone, each under its own header", async ({
  server,
}) => {
  const app = await server.newApp()
  const hmac = (secret: string, text: string): string =>
    `sha256=${createHmac("sha256", secret).update(text).digest("base64")}`
  const endpointOf = async (secret: string, header: string) => {
    const taken: string[] = []
    const refused: string[] = []
    const endpoint = await listening((request, response) => {
      const query = new URL(request.url ?? "", "http://endpoint").searchParams
      const challenge = query.get("crc_token")
      if (challenge !== null) {
        expect(query.get("nonce")).toMatch(/^[\w-]{16}$/)
        response.end(JSON.stringify({ response_token: hmac(secret, challenge) }))
        return
      }
      void (async () => {
        const body = await bodyText(request)
        const isRight = request.headers[header] === hmac(secret, body)
        ;(isRight ? taken : refused).push((JSON.parse(body) as { data: { id: string } }).data.id)
        response.writeHead(isRight ? 200 : 403).end()
      })()
    })
    return Object.assign(endpoint, { taken, refused })
  }
  await using newer = await endpointOf(app.app.client_secret, "x-twitter-webhooks-signature-oauth2")
  await using older = await endpointOf(app.app.consumer_secret, "x-twitter-webhooks-signature")
  await using stranger = await endpointOf(
    (await server.newApp()).app.client_secret,
    "x-twitter-webhooks-signature-oauth2",
  )

  await addRules(app, { value: "cat" })
  for (const { url } of [newer, older]) {
    const made = await app.send("POST", paths.webhooks, { url })
    expect(made.status, made.text).toBe(200)
    await link(app, made.body.data.id as string)
  }
  const refused = await app.send("POST", paths.webhooks, { url: stranger.url })
  expect(refused.status).toBe(400)
  expect(refused.body.errors[0].message).toMatch(
    /^CrcValidationFailed: URL returned bad response during CRC with error: Invalid `response_token`\. The endpoint /,
  )
  const id = newId()
  await ingestNew(server, envelope(id, "a cat"))
  await expect.poll(() => [newer.taken, older.taken]).toEqual([[id], [id]])
  expect([newer.refused, older.refused]).toEqual([[], []])

  // It signs deliveries and answers challenges, and obtains no token.
  const basic = Buffer.from(`${app.app.client_id}:${app.app.client_secret}`).toString("base64")
  const asked = await server.call(paths.oauthToken, {
    method: "POST",
    headers: { authorization: `Basic ${basic}`, "content-type": "application/x-www-form-urlencoded" },
    body: "grant_type=client_credentials",
  })
  expect(asked.status).toBe(403)
})

test("standard-webhooks: a delivery has the three headers of Standard Webhooks, signed with the webhook's key", async ({
  server,
}) => {
  await using linked = await appWithReceiver(server)
  await addRules(linked, { value: "cat" })
  const ids = [await linked.webhook(), await linked.webhook()]
  for (const id of ids) await link(linked, id)
  const beforeS = Math.floor(Date.now() / 1000)
  await ingestNew(server, envelope(newId(), "a cat"))
  await linked.receiver.arrived(2)

  const keys = await signingKeys(linked, ids)
  expect(new Set(keys).size).toBe(2)
  expect(keys).not.toContain(linked.app.consumer_secret)
  const signers = linked.receiver.received.map(({ headers, body }) => {
    const { "webhook-id": id, "webhook-timestamp": atS } = headers
    expect(id).toMatch(/^msg_\d+_\d+$/)
    expect(Number(atS)).toBeGreaterThanOrEqual(beforeS)
    expect(Number(atS)).toBeLessThanOrEqual(Date.now() / 1000)
    return keys.findIndex((key) => {
      const secret = Buffer.from(key.replace("whsec_", ""), "base64")
      const signed = createHmac("sha256", secret)
        .update(`${String(id)}.${String(atS)}.${body}`)
        .digest("base64")
      return headers["webhook-signature"] === `v1,${signed}`
    })
  })
  expect(new Set(signers)).toEqual(new Set([0, 1]))
})

test("signing-key-rotation: the previous signing key signs too during its grace period", async ({ server }) => {
  await using linked = await appWithReceiver(server)
  await addRules(linked, { value: "cat" })
  const id = await linked.webhook()
  await link(linked, id)
  const keyPath = paths.signingKey.replace(":webhook_id", id)
  const [before] = await signingKeys(linked, [id])
  const rotated = await linked.send("POST", keyPath)
  expect(rotated.status).toBe(200)
  const { signing_key: now, previous_valid_until: untilAt } = rotated.body.data as Record<string, string>
  expect(now).not.toBe(before)
  expect(Date.parse(untilAt ?? "") - Date.now()).toBeLessThanOrEqual(24 * hourMs)
  expect(Date.parse(untilAt ?? "") - Date.now()).toBeGreaterThan(23 * hourMs)
  expect((await linked.call(keyPath)).body).toEqual(rotated.body)
  // A link learns of it a moment later; until then it signs with the key before, which is valid as well.
  const latest = () => linked.receiver.received.at(-1)
  await expect
    .poll(async () => {
      const count = linked.receiver.received.length
      await ingestNew(server, envelope(newId(), "a cat"))
      await linked.receiver.arrived(count + 1)
      return String(latest()?.headers["webhook-signature"]).split(" ").length
    })
    .toBe(2)
  const arrived = latest()
  const { "webhook-id": eventId, "webhook-timestamp": atS, "webhook-signature": signatures } = arrived?.headers ?? {}
  const signed = `${String(eventId)}.${String(atS)}.${arrived?.body}`
  expect(signatures).toBe(
    [now ?? "", before ?? ""]
      .map((key) => Buffer.from(key.replace("whsec_", ""), "base64"))
      .map((secret) => `v1,${createHmac("sha256", secret).update(signed).digest("base64")}`)
      .join(" "),
  )
})

test("endpoint-gone: a 410 invalidates a webhook, and its links send pending matches once it is valid again", async ({
  server,
}) => {
  await using linked = await appWithReceiver(server)
  await addRules(linked, { value: "cat" })
  const id = await linked.webhook()
  await link(linked, id)
  linked.receiver.statusOf = () => 410
  const [first, second] = [newId(), newId()]
  await ingestNew(server, envelope(first, "a cat"))
  await expect
    .poll(async () => (await linked.call(paths.linkDetails)).body.data)
    .toMatchObject([{ valid: false, invalid_reason: "responded with 410 Gone" }])
  linked.receiver.statusOf = () => 200
  await ingestNew(server, envelope(second, "another cat"))
  await sleep(100)
  expect(linked.receiver.received).toHaveLength(1)
  expect((await linked.send("PUT", webhookPath(id))).body).toEqual({ data: { valid: true } })
  await linked.receiver.arrived(3)
  const delivered = linked.receiver.received.slice(1).map(({ body }) => (JSON.parse(body) as Envelope).data.id)
  expect(delivered.toSorted()).toEqual([first, second].toSorted())
})

test("dead-letters: the server lists a delivery that exhausted its attempts, and redelivers it under its event id", async ({
  otherServer,
}) => {
  await using linked = await appWithReceiver(otherServer)
  await addRules(linked, { value: "cat" })
  const id = await linked.webhook()
  await link(linked, id)
  linked.receiver.statusOf = () => 400
  const postId = newId()
  await otherServer.ingest(envelope(postId, "a cat"))
  await expect
    .poll(async () => (await linked.call(paths.deadLetters)).body.data)
    .toMatchObject([{ webhook_id: id, post_id: postId, failures: 1, outcome: "rejected", status: 400 }])
  linked.receiver.statusOf = () => 200
  const redelivered = await linked.send("POST", paths.redeliver, { all: true })
  expect(redelivered.body).toEqual({ data: { redelivered: 1 } })
  await linked.receiver.arrived(2)
  const [first, second] = linked.receiver.received
  expect(second?.headers["webhook-id"]).toBe(first?.headers["webhook-id"])
  expect(second?.body).toBe(first?.body)
  expect((await linked.call(paths.deadLetters)).body).toEqual({ data: [], meta: { result_count: 0 } })
})

test("delivery-deadline: a delivery fails when its response has not ended after 10 s", async () => {
  expect(webhookResponseMsMax).toBe(10_000)
  await using slow = await startTestServer()
  // Responds at once, and never ends a response from the second delivery on.
  let delivered = 0
  const givenUp = Promise.withResolvers<void>()
  const posted = Promise.withResolvers<void>()
  await using endpoint = await listening((request, response) => {
    const challenge = new URL(request.url ?? "", "http://endpoint").searchParams.get("crc_token")
    if (challenge !== null) {
      response.end(JSON.stringify({ response_token: responseToken(slow, challenge) }))
      return
    }
    request.resume()
    delivered += 1
    if (delivered === 1) {
      response.end()
      return
    }
    response.once("close", () => givenUp.resolve())
    response.writeHead(200, { "content-type": "text/plain" }).write("and so on ", () => posted.resolve())
  })
  await addRules(slow, { value: "cat" })
  const { body } = await slow.send("POST", paths.webhooks, { url: endpoint.url })
  await link(slow, body.data.id as string)
  // The link delivers before the clock stops.
  await slow.ingest(envelope(1, "a cat"))
  await expect.poll(() => stateOf(slow)).toMatchObject({ in_flight: 0, delivered: 1 })
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
  try {
    await slow.ingest(envelope(2, "a cat"))
    await posted.promise
    vi.advanceTimersByTime(9_999)
    expect(await Promise.race([givenUp.promise.then(() => "given up"), sleep(100, "waiting")])).toBe("waiting")
    expect(await stateOf(slow)).toMatchObject({ in_flight: 1, failed: 0, delivered: 1 })
    vi.advanceTimersByTime(1)
    // Does not poll: polling would advance these timers.
    expect(await Promise.race([givenUp.promise.then(() => "given up"), sleep(5_000, "waiting")])).toBe("given up")
    expect(await stateOf(slow)).toMatchObject({ in_flight: 0, failed: 1, delivered: 1 })
  } finally {
    vi.useRealTimers()
  }
})

/** The only link's state. */
async function stateOf(app: TestApp): Promise<unknown> {
  const { data } = (await app.call(paths.linkDetails)).body as { data: unknown[] }
  return data[0]
}

/** The webhooks' signing keys, as the API shows them to their app. */
function signingKeys(linked: TestApp, webhookIds: readonly string[]): Promise<readonly string[]> {
  return Promise.all(
    webhookIds.map(async (id) => {
      const { body } = await linked.call(`/sluice/v1/webhooks/${id}/signing_key`)
      return body.data.signing_key as string
    }),
  )
}

function responseToken({ app }: TestApp, challenge: string): string {
  return `sha256=${createHmac("sha256", app.consumer_secret).update(challenge).digest("base64")}`
}

test("attempt-outcomes: attempts, dead letters and metrics use the new names of the four outcomes", async ({
  otherServer,
}) => {
  await using linked = await appWithReceiver(otherServer)
  await addRules(linked, { value: "cat" })
  const id = await linked.webhook()
  await link(linked, id)
  linked.receiver.statusOf = () => 500
  await ingestNew(otherServer, envelope(newId(), "a cat"))
  const failed = [{ outcome: "server_error", fault: "endpoint", status: 500 }]
  const attempts = paths.attempts.replace(":webhook_id", id)
  await expect.poll(async () => (await linked.call(attempts)).body.data).toMatchObject(failed)
  await expect.poll(async () => (await linked.call(paths.deadLetters)).body.data).toMatchObject(failed)
  const { text: metrics } = await linked.call(paths.metrics)
  expect(metrics).toMatch(/^sluice_delivery_attempts_total\{outcome="server_error"\} \d/m)
  expect(metrics).toMatch(/^sluice_dead_letters_total\{outcome="server_error"\} \d/m)
  const { text: spec } = await linked.call(paths.openapi)
  const outcomes = /"enum":(\["delivered".*?\])/.exec(spec)?.[1] ?? "[]"
  expect(JSON.parse(outcomes)).toEqual([
    "delivered",
    "dns",
    "blocked_address",
    "connect",
    "tls",
    "timeout",
    "redirect",
    "rejected",
    "gone",
    "server_error",
    "invalid_response",
    "too_large",
    "local_error",
    "damaged",
    "post_deleted",
  ])
})
