import type { IncomingHttpHeaders } from "node:http"
import { text } from "node:stream/consumers"
import { expect, test } from "vitest"
import { listening } from "../../../../test/support/listening.testing.ts"
import { forward } from "./forward.ts"

const body = '{"data":{"text":"鷺"}}'

test("a delivery is passed on with its own headers and bytes, and the target's response comes back", async () => {
  const received: { headers: IncomingHttpHeaders; body: string; url: string | undefined }[] = []
  await using target = await listening((request, response) => {
    const respond = async (): Promise<void> => {
      const bodyText = await text(request)
      received.push({ headers: request.headers, body: bodyText, url: request.url })
      response.writeHead(429, { "retry-after": "7", connection: "close", "content-type": "text/plain" }).end("later")
    }
    void respond()
  })
  const headers = new Headers({
    host: "127.0.0.1:1",
    connection: "keep-alive, x-hop",
    "keep-alive": "timeout=5",
    "transfer-encoding": "chunked",
    "content-length": "999",
    te: "trailers",
    "x-hop": "for the listener alone",
    "content-type": "application/json",
    "webhook-id": "msg_1_2",
    "x-twitter-webhooks-signature": "sha256=abc",
  })
  const returned = await forward(`${target.url}/hook?a=b`, { headers, body })
  expect(received).toHaveLength(1)
  const [delivery] = received
  expect(delivery).toMatchObject({ url: "/hook?a=b", body })
  expect(delivery?.headers).toMatchObject({
    host: new URL(target.url).host,
    "content-length": String(Buffer.byteLength(body)),
    "content-type": "application/json",
    "webhook-id": "msg_1_2",
    "x-twitter-webhooks-signature": "sha256=abc",
  })
  for (const name of ["x-hop", "keep-alive", "te", "transfer-encoding"])
    expect(delivery?.headers).not.toHaveProperty(name)
  expect(returned).toMatchObject({ status: 429, headers: { "retry-after": "7", "content-type": "text/plain" } })
  expect(returned.headers).not.toHaveProperty("connection")
  expect(Buffer.from(returned.body).toString()).toBe("later")
})

test("a target that cannot be reached is a 502, one that is slow a 504, and one that never ends a 502", async () => {
  await using gone = await listening((_request, response) => response.end())
  await gone[Symbol.asyncDispose]()
  expect(await forward(gone.url, { headers: new Headers(), body })).toMatchObject({
    status: 502,
    fault: expect.stringContaining("cannot be reached") as string,
  })
  await using slow = await listening(() => undefined)
  expect(await forward(slow.url, { headers: new Headers(), body }, 30)).toMatchObject({
    status: 504,
    fault: expect.stringContaining("did not respond within 0.03 s") as string,
  })
  await using large = await listening((_request, response) => response.end("x".repeat(65_537)))
  expect(await forward(large.url, { headers: new Headers(), body })).toMatchObject({
    status: 502,
    fault: expect.stringContaining("more than 65536 bytes") as string,
  })
})

test("a redirect is passed back, not followed", async () => {
  let requests = 0
  await using target = await listening((_request, response) => {
    requests += 1
    response.writeHead(302, { location: "/elsewhere" }).end()
  })
  expect(await forward(target.url, { headers: new Headers(), body })).toMatchObject({ status: 302 })
  expect(requests).toBe(1)
})
