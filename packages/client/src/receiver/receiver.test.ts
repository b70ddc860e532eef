import { beforeEach, expect, test } from "vitest"
import { receiver, type Delivery, type Receiver, type ReceiverOptions } from "./receiver.ts"
import { memoryRepeats } from "./repeats.ts"
import type { WebhookSecrets } from "./signatures.ts"
import {
  body,
  clientSecret,
  consumerSecret,
  headersOf,
  requestOf,
  signedByX,
  signingKey,
} from "./signed-delivery.testing.ts"

const otherKey = `whsec_${Buffer.alloc(32, 8).toString("base64")}`

let deliveries: Delivery[]
let refusals: string[]
let onDelivery: () => number | void | Promise<number | void>
let receive: Receiver

beforeEach(() => {
  deliveries = []
  refusals = []
  onDelivery = () => undefined
  receive = receiverOf({ signingKeys: [signingKey] })
})

function receiverOf(more: Partial<ReceiverOptions>): Receiver {
  return receiver({
    consumerSecret,
    onDelivery: (delivery) => {
      deliveries.push(delivery)
      return onDelivery()
    },
    onRefusal: (reason) => refusals.push(reason),
    ...more,
  })
}

async function send(headers: Readonly<Record<string, string>>, text = body): Promise<number> {
  return (await receive(requestOf(headers, text))).status
}

test("a challenge is answered under the app's secret, whatever its nonce", async () => {
  const response = await receive(new Request("http://receiver/?a=b&crc_token=abc%2B&nonce=MTYwNjc2ODU5NzI5MQ"))
  expect(response.headers.get("content-type")).toBe("application/json")
  expect(await response.json()).toEqual({ response_token: signedByX("abc+") })
})

test("a challenge is answered under the client secret where there is one", async () => {
  for (const secrets of [{ clientSecret }, { clientSecret, consumerSecret: undefined }]) {
    receive = receiverOf(secrets)
    const response = await receive(new Request("http://receiver/?crc_token=abc"))
    expect(await response.json()).toEqual({ response_token: signedByX("abc", clientSecret) })
  }
})

const older = { "x-twitter-webhooks-signature": signedByX(body) }
const newer = { "x-twitter-webhooks-signature-oauth2": signedByX(body, clientSecret) }

test.each<[which: string, secrets: WebhookSecrets, taken: object[], refused: object[]]>([
  [
    "the client secret",
    { consumerSecret: undefined, clientSecret },
    [newer, { ...newer, ...older }, { ...newer, "x-twitter-webhooks-signature": "sha256=x" }],
    [older, { "x-twitter-webhooks-signature": signedByX(body, clientSecret) }, {}],
  ],
  [
    "the consumer secret",
    { consumerSecret },
    [older, { ...newer, ...older }, { ...older, "x-twitter-webhooks-signature-oauth2": "sha256=x" }],
    [newer, { "x-twitter-webhooks-signature-oauth2": signedByX(body) }, {}],
  ],
  [
    "both",
    { consumerSecret, clientSecret },
    [newer, older, { ...newer, ...older }],
    [
      { "x-twitter-webhooks-signature": signedByX(body, clientSecret) },
      { "x-twitter-webhooks-signature-oauth2": signedByX(body) },
      {},
    ],
  ],
])("a receiver with %s checks the header that is signed under it", async (_, secrets, taken, refused) => {
  for (const [headers, status] of [
    ...taken.map((one) => [one, 200] as const),
    ...refused.map((one) => [one, 403] as const),
  ]) {
    receive = receiverOf({ ...secrets, repeats: false })
    expect(await send(headers as Record<string, string>), JSON.stringify(headers)).toBe(status)
  }
  expect(deliveries).toHaveLength(taken.length)
})

test("a copy of a delivery without one of X's two headers is a repeat of it", async () => {
  receive = receiverOf({ clientSecret })
  for (const headers of [{ ...newer, ...older }, newer, older]) expect(await send(headers)).toBe(200)
  expect(deliveries).toHaveLength(1)
})

test("a receiver without any secret of the app is refused at once", () => {
  expect(() => receiverOf({ consumerSecret: undefined, signingKeys: [signingKey] })).toThrow(TypeError)
})

test("a delivery with both signatures is handed on, with its id, its time and its content", async () => {
  const at = new Date(Math.floor(Date.now() / 1000) * 1000)
  expect(await send(headersOf(body, { at }))).toBe(200)
  expect(deliveries).toMatchObject([{ id: "msg_1_1", sentAt: at, text: body, kind: "match" }])
  const [delivery] = deliveries
  if (delivery?.kind !== "match") throw new Error("it is no match")
  expect(delivery.event.data.text).toBe("é")
  expect(delivery.event.matching_rules).toEqual([{ id: "5", tag: "cats" }])
  expect(delivery.headers.get("webhook-id")).toBe("msg_1_1")
})

test("the end of a replay is distinguished from a match, and so is an event that Sluice does not send", async () => {
  const status = '{"replay_job_status":{"job_id":"1","job_state":"Complete"}}'
  const others = ['{"for_user_id":"1"}', "null", "no JSON"]
  for (const [at, text] of [status, ...others].entries()) {
    expect(await send(headersOf(text, { id: `msg_${String(at)}` }), text)).toBe(200)
  }
  expect(deliveries.map(({ kind }) => kind)).toEqual(["replay-status", "unknown", "unknown", "unknown"])
  expect(deliveries[0]?.event).toEqual(JSON.parse(status))
})

test("a delivery is accepted under any of several signatures, as while keys are rotated", async () => {
  const [now, before] = [headersOf(body), headersOf(body, { key: otherKey })]
  const both = `${before["webhook-signature"]} ${now["webhook-signature"]}`
  expect(await send({ ...now, "webhook-signature": both })).toBe(200)
  receive = receiverOf({ signingKeys: [otherKey, signingKey] })
  expect(await send(headersOf(body, { id: "msg_1_2" }))).toBe(200)
})

test.each<[what: string, headers: Readonly<Record<string, string>>]>([
  ["without any signature", {}],
  ["without X's signature", { ...headersOf(body), "x-twitter-webhooks-signature": "" }],
  ["with X's signature of other bytes", { ...headersOf(body), "x-twitter-webhooks-signature": signedByX(`${body} `) }],
  [
    "with X's signature under another secret",
    { ...headersOf(body), "x-twitter-webhooks-signature": signedByX(body, "x") },
  ],
  [
    "with X's signature in another case",
    { ...headersOf(body), "x-twitter-webhooks-signature": signedByX(body).toLowerCase() },
  ],
  ["with the begin of X's signature", { ...headersOf(body), "x-twitter-webhooks-signature": "sha256=" }],
  ["with more than X's signature", { ...headersOf(body), "x-twitter-webhooks-signature": `${signedByX(body)}=` }],
  ["with X's signature alone, which anyone may repeat", { "x-twitter-webhooks-signature": signedByX(body) }],
  ["with a signature under another key", headersOf(body, { key: otherKey })],
  ["with a signature of other bytes", { ...headersOf(`${body} `), "x-twitter-webhooks-signature": signedByX(body) }],
  ["with the id of another delivery", { ...headersOf(body), "webhook-id": "msg_1_2" }],
  [
    "with a time that is not the signed one",
    { ...headersOf(body), "webhook-timestamp": String(Math.floor(Date.now() / 1000) + 1) },
  ],
  ["without an id", headersOf(body, { id: "" })],
])("a delivery %s is refused", async (_, headers) => {
  expect(await send(headers)).toBe(403)
  expect(deliveries).toEqual([])
  expect(refusals).toHaveLength(1)
})

test.each([-6, 6])("a delivery that was signed %i minutes from now is stale and refused", async (minutes) => {
  const at = new Date(Date.now() + minutes * 60_000)
  expect(await send(headersOf(body, { at }))).toBe(403)
  expect(refusals).toEqual(["webhook-timestamp is stale"])
  expect(await send(headersOf(body, { at: new Date(Date.now() + (minutes / 2) * 60_000) }))).toBe(200)
})

test("no forged or stale delivery of 1,000 is handed on", async () => {
  // A fixed sequence of numbers: Lehmer's generator.
  let seed = 20_260_314
  const below = (bound: number): number => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed % bound
  }
  const changed = (text: string): string => {
    const at = below(text.length)
    const other = String.fromCharCode(33 + below(94))
    return text[at] === other ? changed(text) : text.slice(0, at) + other + text.slice(at + 1)
  }
  const sent: Promise<number>[] = []
  for (let count = 0; count < 1_000; count++) {
    const text = body.replace('"1"', `"${String(below(1e9))}"`)
    const good = headersOf(text, { id: `msg_${String(count)}` })
    const forgeries: readonly (() => Promise<number>)[] = [
      () => send(good, changed(text.replace("é", "e"))),
      () => send({ ...good, "x-twitter-webhooks-signature": changed(good["x-twitter-webhooks-signature"]) }, text),
      () => send({ ...good, "webhook-signature": changed(good["webhook-signature"]) }, text),
      () => send({ ...good, "webhook-id": changed(good["webhook-id"]) }, text),
      () => send({ ...good, "webhook-timestamp": changed(good["webhook-timestamp"]) }, text),
      () => send(headersOf(text, { at: new Date(Date.now() - 301_000 - below(1e9)) }), text),
      () => send(headersOf(text, { at: new Date(Date.now() + 302_000 + below(1e9)) }), text),
      () => send(headersOf(text, { key: `whsec_${Buffer.alloc(32, below(7)).toString("base64")}` }), text),
    ]
    sent.push(forgeries[count % forgeries.length]?.() ?? expect.unreachable())
  }
  expect(new Set(await Promise.all(sent))).toEqual(new Set([403]))
  expect(refusals).toHaveLength(1_000)
  expect(deliveries).toEqual([])
})

test("without signing keys X's signature is enough, as from X itself, and identifies repeats", async () => {
  receive = receiverOf({})
  const headers = { "x-twitter-webhooks-signature": signedByX(body) }
  expect(await send(headers)).toBe(200)
  expect(await send(headers)).toBe(200)
  expect(deliveries).toMatchObject([{ id: signedByX(body), sentAt: undefined, kind: "match" }])
  receive = receiverOf({ consumerSecret: "x" })
  expect(await send(headers)).toBe(403)
})

test.each([{ consumerSecret: "" }, { clientSecret: "" }, { signingKeys: ["whsec_"] }, { signingKeys: ["whsec_§"] }])(
  "an invalid secret is refused at once: %j",
  (secrets) => {
    expect(() => receiverOf(secrets)).toThrow(TypeError)
  },
)

test("secrets are read again for each request, and no delivery is accepted under an empty one", async () => {
  let secret = consumerSecret
  receive = receiver({
    get consumerSecret() {
      return secret
    },
    onDelivery: (delivery) => void deliveries.push(delivery),
  })
  secret = "another"
  const headers = { "x-twitter-webhooks-signature": signedByX(body, "another") }
  expect(await send(headers)).toBe(200)
  secret = ""
  expect(await send({ "x-twitter-webhooks-signature": signedByX(body, "") })).toBe(500)
  expect(deliveries).toHaveLength(1)
})

test("a repeat gets a 200 and is not handed on again, whatever its time", async () => {
  expect(await send(headersOf(body))).toBe(200)
  expect(await send(headersOf(body, { at: new Date(Date.now() - 60_000) }))).toBe(200)
  expect(deliveries).toHaveLength(1)
  expect(await send(headersOf(body, { id: "msg_1_2" }))).toBe(200)
  expect(deliveries).toHaveLength(2)
})

test("a handler that throws causes a 500, and gets the delivery again", async () => {
  onDelivery = () => Promise.reject(new Error("no room"))
  expect(await send(headersOf(body))).toBe(500)
  expect(refusals).toEqual(["the delivery was not handled"])
  onDelivery = () => undefined
  expect(await send(headersOf(body))).toBe(200)
  expect(await send(headersOf(body))).toBe(200)
  expect(deliveries).toHaveLength(2)
})

test("the handler chooses the status, and gets a delivery again when that is not 2xx", async () => {
  onDelivery = () => 410
  expect(await send(headersOf(body))).toBe(410)
  onDelivery = () => 204
  expect(await send(headersOf(body))).toBe(204)
  expect(await send(headersOf(body))).toBe(200)
  expect(deliveries).toHaveLength(2)
})

test("an attempt that comes while the one before is handled gets a 503 with a wait, and is not handed on", async () => {
  const handled = Promise.withResolvers<void>()
  onDelivery = () => handled.promise
  const first = send(headersOf(body))
  await expect.poll(() => deliveries).toHaveLength(1)
  const second = await receive(requestOf(headersOf(body)))
  expect([second.status, second.headers.get("retry-after")]).toEqual([503, "1"])
  handled.resolve()
  expect(await first).toBe(200)
  expect(await send(headersOf(body))).toBe(200)
  expect(deliveries).toHaveLength(1)
})

test("with `repeats: false` every attempt is handed on", async () => {
  receive = receiverOf({ repeats: false })
  for (let count = 0; count < 3; count++) expect(await send(headersOf(body))).toBe(200)
  expect(deliveries).toHaveLength(3)
})

test("a store that fails to begin a delivery causes a 500, and the delivery is not handed on", async () => {
  const down = (): never => {
    throw new Error("the store is down")
  }
  receive = receiverOf({ repeats: { ...memoryRepeats(), begin: down } })
  expect(await send(headersOf(body))).toBe(500)
  expect(deliveries).toEqual([])
  receive = receiverOf({ repeats: { ...memoryRepeats(), forget: down } })
  onDelivery = () => 503
  expect(await send(headersOf(body))).toBe(503)
})

test("a body that is too large is refused, announced or not", async () => {
  receive = receiverOf({ bodyBytesMax: Buffer.byteLength(body) })
  expect(await send(headersOf(body))).toBe(200)
  expect(await send(headersOf(`${body} `), `${body} `)).toBe(413)
  let pulled = 0
  const endless = new ReadableStream<Uint8Array>({
    pull(controller) {
      pulled += 1
      controller.enqueue(new Uint8Array(1024))
    },
  })
  const init = { method: "POST", headers: headersOf(body), body: endless, duplex: "half" } as RequestInit
  expect((await receive(new Request("http://receiver/", init))).status).toBe(413)
  expect(pulled).toBeLessThan(10)
})

test("the body of a request without X's signature is not read", async () => {
  const unread = new ReadableStream<Uint8Array>({ pull: () => expect.unreachable() }, { highWaterMark: 0 })
  const init = { method: "POST", body: unread, duplex: "half" } as RequestInit
  expect((await receive(new Request("http://receiver/", init))).status).toBe(403)
})

test("the answer to a challenge is no signature of a delivery", async () => {
  receive = receiverOf({ signingKeys: undefined })
  for (const text of ["abc", "null", "12"]) {
    const challenge = await receive(new Request(`http://receiver/?crc_token=${text}`))
    const { response_token: forged } = (await challenge.json()) as { response_token: string }
    expect(await send({ "x-twitter-webhooks-signature": forged }, text)).toBe(403)
  }
  expect(deliveries).toEqual([])
})

test("a request that is neither a challenge nor a delivery is refused", async () => {
  const statusOf = async (url: string, method: string) => (await receive(new Request(url, { method }))).status
  expect(await statusOf("http://receiver/", "GET")).toBe(405)
  expect(await statusOf("http://receiver/?crc_token=", "GET")).toBe(405)
  // The answer would be X's signature of a body with this text.
  const forged = encodeURIComponent('{"data":{"id":"1","text":"x"},"matching_rules":[]}')
  expect(await statusOf(`http://receiver/?crc_token=${forged}`, "GET")).toBe(400)
  expect(await statusOf(`http://receiver/?crc_token=${"a".repeat(257)}`, "GET")).toBe(400)
  expect(await statusOf("http://receiver/?crc_token=abc", "PUT")).toBe(405)
})
