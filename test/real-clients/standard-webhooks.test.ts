/**
 * The two signatures of a delivery, verified as users verify them: by the library of Standard Webhooks, and by the
 * sample of X's documents. Both get the bytes and the headers of the wire, from a real server.
 */
import { createHmac, timingSafeEqual } from "node:crypto"
import type { IncomingHttpHeaders } from "node:http"
import { Webhook, WebhookVerificationError } from "standardwebhooks"
import { afterEach, expect, test } from "vitest"
import { envelope, startTestServer, type TestServer } from "../support/test-server.testing.ts"
import { WebhookReceiver } from "../support/webhook-receiver.testing.ts"

type Received = WebhookReceiver["received"][number]

const closers: (() => PromiseLike<void>)[] = []

afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

/** A server with a linked webhook. */
async function linked(flags: Readonly<Record<string, string>> = {}): Promise<{
  server: TestServer
  receiver: WebhookReceiver
  keyPath: string
  /** Ingests a post; returns its delivery. */
  deliver: (text: string) => Promise<Received>
}> {
  const server = await startTestServer(flags)
  const receiver = await WebhookReceiver.start(server.app.consumer_secret)
  closers.push(
    () => server[Symbol.asyncDispose](),
    () => receiver[Symbol.asyncDispose](),
  )
  await server.send("POST", "/2/tweets/search/stream/rules", {
    add: [{ value: "cat", tag: "pets" }, { value: "cat OR dog" }],
  })
  const { body } = await server.send("POST", "/2/webhooks", { url: receiver.url })
  const { id } = body.data as { id: string }
  await server.send("POST", `/2/tweets/search/webhooks/${id}`)
  let posts = 0
  return {
    server,
    receiver,
    keyPath: `/sluice/v1/webhooks/${id}/signing_key`,
    async deliver(text) {
      const count = receiver.received.length
      posts += 1
      await server.ingest(envelope(posts, text))
      await receiver.arrived(count + 1)
      const delivery = receiver.received[count]
      if (delivery === undefined) throw new Error("nothing arrived")
      return delivery
    },
  }
}

function verifies(key: string, { headers, body }: Pick<Received, "headers" | "body">): boolean {
  try {
    new Webhook(key).verify(body, texts(headers))
    return true
  } catch (error) {
    if (error instanceof WebhookVerificationError) return false
    throw error
  }
}

function texts(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
}

/**
 * X's sample: the HMAC of the raw body under the consumer secret, in base64 after "sha256=", compared in constant time.
 * Source: docs.x.com, "Securing webhooks", "Validating the signature header".
 */
function isFromX(consumerSecret: string, { headers, body }: Pick<Received, "headers" | "body">): boolean {
  const expected = Buffer.from(`sha256=${createHmac("sha256", consumerSecret).update(body).digest("base64")}`)
  const given = Buffer.from(String(headers["x-twitter-webhooks-signature"]))
  return given.length === expected.length && timingSafeEqual(given, expected)
}

test("both verify a delivery, and neither verifies a changed one", async () => {
  const { server, keyPath, deliver } = await linked()
  const { signing_key: key } = (await server.call(keyPath)).body.data as { signing_key: string }
  const secret = server.app.consumer_secret
  const delivery = await deliver("a cat, größer als 😀 \u2028 and </script>")

  expect(verifies(key, delivery)).toBe(true)
  expect(new Webhook(key).verify(delivery.body, texts(delivery.headers))).toMatchObject({
    data: { id: "1" },
    matching_rules: [{ tag: "pets" }, { tag: "" }],
  })
  expect(isFromX(secret, delivery)).toBe(true)

  const changed = { ...delivery, body: delivery.body.replace("cat", "dog") }
  expect(verifies(key, changed)).toBe(false)
  expect(isFromX(secret, changed)).toBe(false)
  const otherId = { ...delivery, headers: { ...delivery.headers, "webhook-id": "msg_1_1" } }
  expect(verifies(key, otherId)).toBe(false)
  const old = { ...delivery, headers: { ...delivery.headers, "webhook-timestamp": "1700000000" } }
  expect(verifies(key, old)).toBe(false)
  expect(verifies(`whsec_${Buffer.alloc(32).toString("base64")}`, delivery)).toBe(false)
  expect(isFromX("another secret", delivery)).toBe(false)
})

test("while the key changes, a delivery verifies with the old one and with the new one", async () => {
  const { server, keyPath, deliver } = await linked()
  const { signing_key: oldKey } = (await server.call(keyPath)).body.data as { signing_key: string }
  const before = await deliver("the first cat")

  const { signing_key: newKey } = (await server.send("POST", keyPath)).body.data as { signing_key: string }
  expect(newKey).not.toBe(oldKey)
  expect(verifies(newKey, before)).toBe(false)

  await expect.poll(async () => verifies(newKey, await deliver("another cat"))).toBe(true)
  const during = await deliver("one more cat")
  expect(verifies(newKey, during)).toBe(true)
  expect(verifies(oldKey, during)).toBe(true)
  expect(String(during.headers["webhook-signature"])).toMatch(/^v1,\S+ v1,\S+$/)

  // A second change: the first key is no longer one of the two.
  const { signing_key: newestKey } = (await server.send("POST", keyPath)).body.data as { signing_key: string }
  await expect.poll(async () => verifies(newestKey, await deliver("a cat again"))).toBe(true)
  const after = await deliver("the last cat")
  expect([newestKey, newKey, oldKey].map((key) => verifies(key, after))).toEqual([true, true, false])
})

test("without a grace period only the new key verifies", async () => {
  const { server, keyPath, deliver } = await linked({ "signing-key-grace-hours": "0" })
  const { signing_key: oldKey } = (await server.call(keyPath)).body.data as { signing_key: string }
  const { signing_key: newKey } = (await server.send("POST", keyPath)).body.data as { signing_key: string }
  await expect.poll(async () => verifies(newKey, await deliver("a cat"))).toBe(true)
  expect(verifies(oldKey, await deliver("another cat"))).toBe(false)
})
