import { pathOf, paths } from "@sluice/api"
import { receiver } from "@sluice/client/receiver"
import { expect, test } from "vitest"
import { startTestServer, type TestApp } from "./support/test-server.testing.ts"
import { WebhookReceiver } from "./support/webhook-receiver.testing.ts"

async function registered(app: TestApp, url: string): Promise<string> {
  const { body } = await app.send("POST", paths.webhooks, { url })
  return body.data.id as string
}

const sendTest = (app: TestApp, id: string, token?: string) =>
  app.send("POST", pathOf(paths.webhookTest, { webhook_id: id }), undefined, token)

test("a test is one signed delivery of a made-up post, with the fields of the link, and is not in the log", async () => {
  await using at = await startTestServer()
  await using endpoint = await WebhookReceiver.start(at.app.consumer_secret)
  const id = await registered(at, endpoint.url)
  const sent = await sendTest(at, id)
  expect(sent.body.data).toMatchObject({
    event_id: expect.stringMatching(/^test_[0-9]{1,19}$/) as string,
    outcome: "delivered",
    status: 200,
    bytes: endpoint.received[0]?.body.length,
    response: { status: 200 },
  })
  const [delivery] = endpoint.received
  expect(delivery?.eventId).toBe(sent.body.data.event_id)
  const text = "A test of this webhook. Nobody wrote this post."
  const postId = (sent.body.data.event_id as string).replace("test_", "")
  expect(JSON.parse(delivery?.body ?? "")).toEqual({
    data: { id: postId, text, edit_history_tweet_ids: [postId] },
    matching_rules: [{ id: "0", tag: "test" }],
  })
  const { body: key } = await at.call(pathOf(paths.signingKey, { webhook_id: id }))
  const verified: string[] = []
  const standard = receiver({
    consumerSecret: at.app.consumer_secret,
    signingKeys: [key.data.signing_key as string],
    onDelivery: ({ id: eventId }) => void verified.push(eventId),
  })
  const { headers = {}, body = "" } = delivery ?? {}
  expect((await standard(new Request("http://127.0.0.1/", { method: "POST", headers, body }))).status).toBe(200)
  expect(verified).toEqual([delivery?.eventId])

  const query = "expansions=author_id&user.fields=username&tweet.fields=created_at"
  await at.send("POST", `${pathOf(paths.link, { webhook_id: id })}?${query}`)
  await sendTest(at, id)
  expect(JSON.parse(endpoint.received[1]?.body ?? "")).toMatchObject({
    data: { text, author_id: at.app.business_user_id, created_at: expect.stringMatching(/Z$/) as string },
    includes: { users: [{ id: at.app.business_user_id, username: "test" }] },
  })
  const { body: state } = await at.call(pathOf(paths.linkDetail, { webhook_id: id }))
  expect(state.data).toMatchObject({ position: 0, head: 0, delivered: 0, total: { delivered: 0 } })
  expect((await at.call(pathOf(paths.attempts, { webhook_id: id }))).body.data).toEqual([])
  expect((await at.call(paths.metrics)).text).not.toContain("sluice_delivery_attempts_total{")
})

test("a test says why it was not delivered, and a failed one changes nothing", async () => {
  await using at = await startTestServer()
  await using endpoint = await WebhookReceiver.start(at.app.consumer_secret)
  const id = await registered(at, endpoint.url)
  endpoint.statusOf = () => 410
  expect((await sendTest(at, id)).body.data).toMatchObject({
    outcome: "gone",
    fault: "endpoint",
    status: 410,
    error: "responded with status 410: gone for good",
  })
  expect((await at.call(pathOf(paths.webhookDetail, { webhook_id: id }))).body.data).toMatchObject({ valid: true })
  endpoint.passesChallenges = false
  await at.send("PUT", pathOf(paths.webhook, { webhook_id: id }))
  const refused = await sendTest(at, id)
  expect([refused.status, refused.text]).toEqual([409, expect.stringContaining("Validate it first.")])
  expect(endpoint.received).toHaveLength(1)
})

test("only the webhook's app sends a test, and tests count as challenges do", async () => {
  await using at = await startTestServer({ "challenges-per-app-max": "3" })
  await using endpoint = await WebhookReceiver.start(at.app.consumer_secret)
  const id = await registered(at, endpoint.url)
  const other = await at.newApp()
  expect((await sendTest(other, id)).status).toBe(404)
  const operator = await at.running.apps.createToken("operator")
  expect((await sendTest(at, id, operator)).status).toBe(403)
  expect((await sendTest(at, "1")).status).toBe(404)
  const statuses: number[] = []
  for (let sent = 0; sent < 3; sent += 1) statuses.push((await sendTest(at, id)).status)
  expect(statuses).toEqual([200, 200, 429])
  expect(endpoint.received).toHaveLength(2)
})
