import { createHmac } from "node:crypto"
import { signature, signatureHeader } from "@sluice/api"
import { afterEach, describe, expect, test } from "vitest"
import { endpointCases, endpointDeadlineMs, listening } from "../runtime/endpoint-cases.testing.ts"
import { createOutbound } from "../runtime/outbound.ts"
import { attemptDelivery, deliveryHeaders } from "./attempt.ts"

const outbound = createOutbound({ allowPrivate: true, connectionsPerOriginMax: 2 })
const closers: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

describe("an attempt to deliver", () => {
  test.each(endpointCases.map((endpoint) => [endpoint.name, endpoint.delivery, endpoint.respond] as const))(
    "to an endpoint with %s ends as %s",
    async (_name, expected, respond) => {
      const server = await listening(respond)
      closers.push(() => server.close())
      const result = await attemptDelivery(outbound, {
        url: `http://127.0.0.1:${server.port}/webhook`,
        headers: {},
        body: Buffer.from("{}"),
        deadlineMs: endpointDeadlineMs,
      })
      expect(result.outcome).toBe(expected)
      expect(result.status !== undefined).toBe(["delivered", "redirect", "refused"].includes(expected))
    },
  )
})

test("a delivery is signed as X signs it and as Standard Webhooks does, each under its own key", () => {
  const body = Buffer.from('{"data":{"id":"1","text":"grüß dich 😀"}}')
  const keys = { consumerSecret: "consumer secret", signingKey: Buffer.alloc(32, 7) }
  const headers = deliveryHeaders(keys, "msg_5_9", body, 1_767_225_600_999)
  const signed = createHmac("sha256", Buffer.alloc(32, 7))
    .update(`msg_5_9.1767225600.${body.toString()}`)
    .digest("base64")
  expect(headers).toEqual({
    "content-type": "application/json",
    [signatureHeader]: signature("consumer secret", body.toString()),
    "webhook-id": "msg_5_9",
    "webhook-timestamp": "1767225600",
    "webhook-signature": `v1,${signed}`,
  })
})

test("a Standard Webhooks signature is the one of the specification's example", () => {
  const keys = { consumerSecret: "x", signingKey: Buffer.from("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "base64") }
  const body = Buffer.from('{"test": 2432232314}')
  const headers = deliveryHeaders(keys, "msg_p5jXN8AQM9LWM0D4loKWxJek", body, 1_614_265_330_000)
  expect(headers["webhook-signature"]).toBe("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
})
