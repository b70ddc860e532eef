import { createHmac } from "node:crypto"
import { clientSignatureHeader, signatureHeader } from "@sluice/api"
import { afterEach, describe, expect, test } from "vitest"
import { endpointCases, endpointDeadlineMs, listening } from "../../runtime/outbound/endpoint-cases.testing.ts"
import { systemClock, type Clock } from "../../runtime/clock.ts"
import { createManualClock } from "../../runtime/manual-clock.testing.ts"
import {
  createOutbound,
  type Outbound,
  type OutboundRequest,
  type OutboundResult,
} from "../../runtime/outbound/outbound.ts"
import { clientSecretOf } from "../../runtime/client-secret.ts"
import { signature } from "../../runtime/signatures.ts"
import { deliveryHeaders } from "../../model/delivery-headers.ts"
import { attemptResult, type AttemptResult } from "./attempt.ts"
import { DeliverySigner, type DeliveryKeys } from "./delivery-signer.ts"
import { keptResponse } from "./kept-response.ts"

const outbound = createOutbound({ allowPrivate: true })
const closers: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

describe("an attempt to deliver", () => {
  test.each(endpointCases.map((endpoint) => [endpoint.name, endpoint.delivery, endpoint] as const))(
    "to an endpoint with %s ends as %s",
    async (_name, expected, endpoint) => {
      const server = await listening(endpoint.respond)
      closers.push(() => server.close())
      const delivery = { ...deliveryTo(server.port), deadlineMs: endpointDeadlineMs(endpoint) }
      const result = await attemptDelivery(outbound, delivery, systemClock)
      expect(result.outcome).toBe(expected)
      const isResponse = ["delivered", "redirect", "rejected", "gone", "server_error"].includes(expected)
      expect(result.status !== undefined).toBe(isResponse)
      expect(result.error === undefined).toBe(expected === "delivered")
      expect(result.error ?? "").toMatch(/^[^\p{Cc}]{0,200}$/u)
      expect(Object.keys(result)).toEqual(["outcome", "status", "retryAfterMs", "error", "received"])
    },
  )

  test.each([
    [429, "7", { outcome: "rejected", status: 429, retryAfterMs: 7_000 }],
    [503, "Fri, 15 Jan 2027 08:00:05 GMT", { outcome: "server_error", status: 503, retryAfterMs: 5_000 }],
    [503, "Fri, 15 Jan 2027 07:59:00 GMT", { outcome: "server_error", status: 503, retryAfterMs: -60_000 }],
    [503, "NaN", { outcome: "server_error", status: 503, retryAfterMs: undefined }],
    [302, "1", { outcome: "redirect", status: 302, retryAfterMs: 1_000 }],
    [410, "1", { outcome: "gone", status: 410, retryAfterMs: 1_000 }],
    [200, "1", { outcome: "delivered", status: 200, retryAfterMs: undefined }],
  ] as const)("an attempt with status %i and Retry-After %s has this result", async (status, retryAfter, expected) => {
    const server = await listening((socket) => {
      socket.write(`HTTP/1.1 ${status} Status\r\nretry-after: ${retryAfter}\r\ncontent-length: 0\r\n\r\n`)
    })
    closers.push(() => server.close())
    const clock = createManualClock(Date.UTC(2027, 0, 15, 8))
    expect(await attemptDelivery(outbound, deliveryTo(server.port), clock)).toMatchObject(expected)
  })

  test.each([
    [responseOf(404), "responded with status 404"],
    [responseOf(301), "responded with status 301; redirects are not followed"],
    [responseOf(410), "responded with status 410: gone for good"],
    [failureOf("DNS\n\u001b[31mfailed\u202e \ud800"), "DNS [31mfailed  \ufffd"],
    [failureOf("😀".repeat(200)), "😀".repeat(200)],
    [failureOf("😀".repeat(201)), `${"😀".repeat(199)}…`],
  ])("an attempt describes in a few words what went wrong: %j", async (result, error) => {
    const responding: Outbound = { send: () => Promise.resolve(result), close: () => Promise.resolve() }
    expect(await attemptDelivery(responding, deliveryTo(1), systemClock)).toMatchObject({ error })
  })
})

describe("the record of a response", () => {
  async function responseTo(raw: string, responseBytesMax = 1_024) {
    const server = await listening((socket) => void socket.end(raw))
    closers.push(() => server.close())
    const { received } = await attemptDelivery(outbound, deliveryTo(server.port), systemClock)
    return received && keptResponse(received, responseBytesMax)
  }

  test("the record keeps status, headers and the beginning of the body, with any outcome", async () => {
    const raw = "HTTP/1.1 500 No\r\nX-Why: disk\r\nX-Why: full\r\nSet-Cookie: session=abc\r\n\r\n" + "ü".repeat(1_000)
    expect(await responseTo(raw, 11)).toEqual({
      status: 500,
      headers: [
        ["x-why", "disk, full"],
        ["set-cookie", "(not kept)"],
      ],
      body: "üüüüü\ufffd",
      bytes: 2_000,
    })
    const cut = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"
    expect(await responseTo(cut)).toMatchObject({ status: 200, body: "half", bytes: 4 })
  })

  test("the record keeps at most 40 headers and 2,048 characters of them", async () => {
    const many = Array.from({ length: 100 }, (_, index) => `h${index}: v\r\n`).join("")
    expect((await responseTo(`HTTP/1.1 200 OK\r\n${many}\r\n`))?.headers).toHaveLength(40)
    const long = Array.from({ length: 30 }, (_, index) => `h${index}: ${"v".repeat(190)}\r\n`).join("")
    const headers = (await responseTo(`HTTP/1.1 200 OK\r\n${long}\r\n`))?.headers ?? []
    expect(headers.flat().join("").length).toBeLessThanOrEqual(2_048)
    expect(headers.length).toBeGreaterThan(9)
  })

  test("there is no record without a response, or when the setting turns it off", async () => {
    expect(await responseTo("")).toBeUndefined()
    expect(await responseTo("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 0)).toBeUndefined()
  })
})

async function attemptDelivery(
  through: Pick<Outbound, "send">,
  delivery: OutboundRequest,
  clock: Pick<Clock, "nowMs">,
): Promise<AttemptResult> {
  return attemptResult(await through.send(delivery), clock)
}

function deliveryTo(port: number): OutboundRequest {
  return {
    method: "POST",
    url: `http://127.0.0.1:${port}/webhook`,
    headers: {},
    body: Buffer.from("{}"),
    deadlineMs: 10_000,
  }
}

function signedHeaders(keys: DeliveryKeys, eventId: string, body: Uint8Array, atMs: number): Record<string, string> {
  return deliveryHeaders(eventId, atMs, new DeliverySigner(keys).sign(eventId, body, atMs))
}

function responseOf(status: number): OutboundResult {
  return { kind: "response", status, body: "secret of somebody else" }
}

function failureOf(detail: string): OutboundResult {
  return { kind: "failure", outcome: "dns", detail }
}

test("a delivery is signed as X signs it, under both secrets, and as Standard Webhooks does, each under its own key", () => {
  const body = Buffer.from('{"data":{"id":"1","text":"grüß dich 😀"}}')
  const keys = { consumerSecret: "consumer secret", signingKeys: [Buffer.alloc(32, 7)] }
  const headers = signedHeaders(keys, "msg_5_9", body, 1_767_225_600_999)
  const signed = createHmac("sha256", Buffer.alloc(32, 7))
    .update(`msg_5_9.1767225600.${body.toString()}`)
    .digest("base64")
  expect(headers).toEqual({
    "content-type": "application/json",
    [signatureHeader]: signature("consumer secret", body.toString()),
    [clientSignatureHeader]: signature(clientSecretOf("consumer secret"), body.toString()),
    "webhook-id": "msg_5_9",
    "webhook-timestamp": "1767225600",
    "webhook-signature": `v1,${signed}`,
  })
})

test("a Standard Webhooks signature is the one of the specification's example", () => {
  const exampleKey = Buffer.from("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "base64")
  const keys = { consumerSecret: "x", signingKeys: [exampleKey] }
  const body = Buffer.from('{"test": 2432232314}')
  const headers = signedHeaders(keys, "msg_p5jXN8AQM9LWM0D4loKWxJek", body, 1_614_265_330_000)
  expect(headers["webhook-signature"]).toBe("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
})

test("each signing key adds a signature, the newest first", () => {
  const body = Buffer.from("{}")
  const signatureBy = (...signingKeys: Uint8Array[]): string | undefined =>
    signedHeaders({ consumerSecret: "x", signingKeys }, "msg_1_1", body, 0)["webhook-signature"]
  const [newer, older] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
  expect(signatureBy(newer, older)).toBe(`${signatureBy(newer)} ${signatureBy(older)}`)
})
