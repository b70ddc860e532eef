import { createHmac } from "node:crypto"
import { expect, test } from "vitest"
import type { AppId, LinkId, MatchSeq, PostId, WebhookId } from "../../model/ids.ts"
import type { LinkToDeliver } from "../../model/link.ts"
import { createManualClock } from "../../runtime/manual-clock.testing.ts"
import { createRecordedEvents, createScriptedOutbound, harnessSecretBox } from "../links/link-harness.testing.ts"
import type { EndedAttempt } from "./attempt-history.ts"
import { LinkSender } from "./sender.ts"

const seq = 7 as MatchSeq
const entry = { seq, postId: "70" as PostId, atMs: 1, rulesJson: '[{"id":"5"}]', postJson: '{"id":"70"}' }

function sealed(key: Uint8Array): Uint8Array {
  return harnessSecretBox.seal(`whsec_${Buffer.from(key).toString("base64")}`)
}

const oldKey = Buffer.alloc(32, 1)
const newKey = Buffer.alloc(32, 2)

const link: LinkToDeliver = {
  id: "3" as LinkId,
  appId: "1" as AppId,
  webhookId: "100" as WebhookId,
  createdAtMs: 0,
  query: "",
  url: "https://example.com/",
  valid: true,
  position: 0 as MatchSeq,
  isOrdered: false,
  redeliveries: 0,
  consumerSecretSealed: harnessSecretBox.seal("secret"),
  signingKeySealed: sealed(oldKey),
}

function start(of: LinkToDeliver = link) {
  const clock = createManualClock()
  const outbound = createScriptedOutbound()
  const events = createRecordedEvents()
  const attempts: EndedAttempt[] = []
  const history = { add: (attempt: EndedAttempt) => void attempts.push(attempt) }
  const store = { invalidateWebhook: () => Promise.resolve(true) }
  const deps = {
    store,
    secretBox: harnessSecretBox,
    outbound,
    clock,
    events,
    history,
    attemptMsMax: 10_000,
  }
  return { clock, outbound, events, attempts, sender: new LinkSender(of, deps) }
}

/** The keys by which a request's signatures verify, in their order. */
function keysOf(request: { headers?: Readonly<Record<string, string>>; body?: string | Uint8Array }): string[] {
  const { "webhook-id": id, "webhook-timestamp": at, "webhook-signature": signatures = "" } = request.headers ?? {}
  return signatures.split(" ").map((given) => {
    const found = [oldKey, newKey].find((key) => {
      const signed = createHmac("sha256", key)
        .update(`${id}.${at}.${String(request.body)}`)
        .digest("base64")
      return given === `v1,${signed}`
    })
    return found === oldKey ? "old" : found === newKey ? "new" : "neither"
  })
}

test("an entry is rendered to the same bytes each time, and to none when it is damaged", () => {
  const { sender } = start()
  const text = '{"data":{"id":"70"},"matching_rules":[{"id":"5"}]}'
  expect(String(sender.render(entry))).toBe(text)
  expect(String(sender.render(entry))).toBe(text)
  const { postJson, ...damaged } = entry
  expect(postJson).toBeDefined()
  expect(sender.render(damaged)).toBeUndefined()
  expect(sender.eventIdOf(seq)).toBe("msg_3_7")
})

test("an attempt is sent, and reported to events and history with its bytes and its time", async () => {
  const { clock, outbound, events, attempts, sender } = start()
  const atMs = clock.nowMs()
  const sent = sender.send(entry, Buffer.from("é"))
  await clock.advance(30)
  outbound.open[0]?.respond(503, "9")
  const error = "responded with status 503"
  expect(await sent).toEqual({ outcome: "server_error", status: 503, retryAfterMs: 9_000, error })
  expect(attempts).toEqual([
    {
      linkId: "3",
      seq,
      atMs,
      durationMs: 30,
      outcome: "server_error",
      status: 503,
      bytes: 2,
      error,
      signatures: {
        x: outbound.received[0]?.request.headers?.["x-twitter-webhooks-signature"],
        client: outbound.received[0]?.request.headers?.["x-twitter-webhooks-signature-oauth2"],
        standard: outbound.received[0]?.request.headers?.["webhook-signature"],
      },
    },
  ])
  expect(events.outcomes).toEqual(["server_error"])
  expect(outbound.received[0]?.request).toMatchObject({ url: link.url, deadlineMs: 10_000 })
})

test("while signing keys change, both sign, the newer one first, until the old one expires", async () => {
  const { clock, outbound, sender } = start()
  outbound.respondToAll(() => 200)
  const body = Buffer.from("{}")
  await sender.send(entry, body)
  const untilMs = clock.nowMs() + 1_000
  sender.update({
    ...link,
    signingKeySealed: sealed(newKey),
    previousKey: { keySealed: link.signingKeySealed, untilMs },
  })
  await sender.send(entry, body)
  await clock.advance(999)
  await sender.send(entry, body)
  await clock.advance(1)
  await sender.send(entry, body)
  expect(outbound.received.map(({ request }) => keysOf(request))).toEqual([
    ["old"],
    ["new", "old"],
    ["new", "old"],
    ["new"],
  ])
})

test("secrets that cannot be opened are refused, and the sender keeps the ones it has", async () => {
  const { outbound, sender } = start()
  outbound.respondToAll(() => 200)
  expect(() =>
    sender.update({ ...link, url: "https://other.example.com/", signingKeySealed: Buffer.alloc(40) }),
  ).toThrow("authenticate data")
  await sender.send(entry, Buffer.from("{}"))
  expect(outbound.received.map(({ request }) => [request.url, ...keysOf(request)])).toEqual([[link.url, "old"]])
  expect(() => start({ ...link, consumerSecretSealed: Buffer.alloc(40) })).toThrow("authenticate data")
})
