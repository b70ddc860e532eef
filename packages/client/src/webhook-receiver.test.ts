/** Signatures are made here by hand, after the documents, and not by the code under test. */
import { createHmac } from "node:crypto"
import { connect } from "node:net"
import { Webhook } from "standardwebhooks"
import { afterEach, beforeEach, expect, test } from "vitest"
import { startWebhookReceiver, type Delivery, type WebhookReceiver } from "./webhook-receiver.ts"
import { verifyDelivery } from "./webhook-signatures.ts"

const consumerSecret = "the app's secret"
const signingKey = `whsec_${Buffer.alloc(32, 7).toString("base64")}`
const otherKey = `whsec_${Buffer.alloc(32, 8).toString("base64")}`
const body = '{"data":{"id":"1","text":"é"}}'

const signedByX = (text: string, key = consumerSecret): string =>
  `sha256=${createHmac("sha256", key).update(text).digest("base64")}`

/** Headers of a delivery as Sluice sends it. */
function headersOf(text: string, { key = signingKey, id = "msg_1_1", at = new Date() } = {}) {
  return {
    "x-twitter-webhooks-signature": signedByX(text),
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
    "webhook-signature": new Webhook(key).sign(id, at, text),
  }
}

let deliveries: Delivery[]
let refusals: string[]
let onDelivery: () => number | void | Promise<number | void>
let receiver: WebhookReceiver

beforeEach(async () => {
  deliveries = []
  refusals = []
  onDelivery = () => undefined
  receiver = await startWebhookReceiver({
    consumerSecret,
    signingKeys: [signingKey],
    onDelivery: (delivery) => {
      deliveries.push(delivery)
      return onDelivery()
    },
    onRefusal: (reason) => refusals.push(reason),
  })
})
afterEach(() => receiver[Symbol.asyncDispose]())

async function send(headers: Readonly<Record<string, string>>, text = body): Promise<number> {
  return (await fetch(receiver.url, { method: "POST", headers, body: text })).status
}

test("a challenge is answered under the app's secret", async () => {
  const response = await fetch(`${receiver.url}?crc_token=abc`)
  expect(response.headers.get("content-type")).toBe("application/json")
  expect(await response.json()).toEqual({ response_token: signedByX("abc") })
})

test("a delivery with both signatures is taken, with the id to drop repeats by", async () => {
  expect(await send(headersOf(body))).toBe(200)
  expect(deliveries).toMatchObject([{ body, eventId: "msg_1_1" }])
})

test("a delivery is taken under any of several signatures, as while keys are rotated", async () => {
  const [now, before] = [headersOf(body), headersOf(body, { key: otherKey })]
  const both = `${before["webhook-signature"]} ${now["webhook-signature"]}`
  expect(await send({ ...now, "webhook-signature": both })).toBe(200)
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
  ["with X's signature alone, as somebody may repeat it", { "x-twitter-webhooks-signature": signedByX(body) }],
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

test("without signing keys X's signature is enough, as from X itself", () => {
  const headers = { "x-twitter-webhooks-signature": signedByX(body) }
  const delivery = { headers, body: Buffer.from(body) }
  expect(verifyDelivery(delivery, { consumerSecret }, 0)).toEqual({ ok: true, eventId: undefined })
  expect(verifyDelivery(delivery, { consumerSecret: "x" }, 0)).toMatchObject({ ok: false })
})

test("an empty secret is no secret, and nothing is taken under it", () => {
  const headers = { ...headersOf(body), "x-twitter-webhooks-signature": signedByX(body, "") }
  const delivery = { headers, body: Buffer.from(body) }
  expect(() => verifyDelivery(delivery, { consumerSecret: "" }, Date.now())).toThrow(TypeError)
  const emptyKey = { consumerSecret, signingKeys: ["whsec_"] }
  expect(() => verifyDelivery(delivery, emptyKey, Date.now())).toThrow(TypeError)
})

test("the owner chooses the status, and a handler that throws is answered 500, to be tried again", async () => {
  onDelivery = () => 410
  expect(await send(headersOf(body))).toBe(410)
  onDelivery = () => Promise.reject(new Error("no room"))
  expect(await send(headersOf(body))).toBe(500)
  expect(refusals).toEqual(["the delivery was not handled"])
})

test("a body without an end is refused, and so is what is neither a challenge nor a delivery", async () => {
  expect((await fetch(receiver.url)).status).toBe(405)
  expect((await fetch(`${receiver.url}?crc_token=`)).status).toBe(405)
  const { hostname, port } = new URL(receiver.url)
  const socket = connect({ host: hostname, port: Number(port) })
  const answer = Promise.withResolvers<string>()
  socket.once("data", (chunk) => answer.resolve(String(chunk))).on("error", () => undefined)
  socket.write("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
  const chunk = Buffer.from(`100000\r\n${"x".repeat(1 << 20)}\r\n`)
  for (let count = 0; count < 17; count++) socket.write(chunk)
  expect(await answer.promise).toMatch(/^HTTP\/1\.1 413 /)
  socket.destroy()
  expect(deliveries).toEqual([])
})
