import type { IncomingHttpHeaders } from "node:http"
import { text } from "node:stream/consumers"
import { expect, test } from "vitest"
import { createClient } from "./client.ts"
import { ApiError } from "./errors.ts"
import { listening } from "../../../test/support/listening.testing.ts"

interface Recorded {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly type: string | undefined
  readonly token: string | undefined
  readonly body: string
}

/** A server that keeps what it is sent and responds to every request with this JSON. */
async function recording(
  content: unknown,
): Promise<{ readonly url: string; readonly requests: readonly Recorded[] } & AsyncDisposable> {
  const requests: Recorded[] = []
  const server = await listening((request, response) => {
    const { method, url, headers } = request
    const { "content-type": type, authorization: token } = headers
    const respond = async (): Promise<void> => {
      requests.push({ method, url, type, token, body: await text(request) })
      response.end(JSON.stringify(content))
    }
    void respond()
  })
  return { ...server, requests }
}

test("a request carries the token, its path with parameters escaped, its query and its JSON", async () => {
  await using server = await recording({ data: { ordered: true } })
  const client = createClient({ url: `${server.url}/`, token: "t" })
  const returned = await client.request("PATCH", "linkDetail", {
    parameters: { webhook_id: "7/..?" },
    query: { a: 1, b: true, c: undefined },
    body: { ordered: true },
  })
  expect(returned).toEqual({ data: { ordered: true } })
  expect(server.requests).toEqual([
    {
      method: "PATCH",
      url: "/sluice/v1/links/7%2F..%3F?a=1&b=true",
      type: "application/json",
      token: "Bearer t",
      body: '{"ordered":true}',
    },
  ])
})

test("a query that is given as text is sent as it is, and a body of bytes as NDJSON", async () => {
  await using server = await recording({})
  const client = createClient({ url: server.url, token: "t" })
  await client.request("POST", "link", { parameters: { webhook_id: "1" }, query: "?a=b,c&a=d" })
  await client.request("POST", "posts", { body: Buffer.from('{"data":{}}\n') })
  expect(server.requests).toMatchObject([
    { url: "/2/tweets/search/webhooks/1?a=b,c&a=d", body: "" },
    { url: "/sluice/v1/posts", type: "application/x-ndjson", body: '{"data":{}}\n' },
  ])
})

test("an error of the server is thrown with its status, its body and the wait that it requests", async () => {
  const body = {
    title: "Busy",
    detail: "Try again.",
    errors: [{ message: "a is wrong" }, { message: "b is" }],
  }
  await using server = await listening((_, response) =>
    response.writeHead(503, { "retry-after": "7" }).end(JSON.stringify(body)),
  )
  const request = createClient({ url: server.url, token: "t" }).request("GET", "webhooks")
  await expect(request).rejects.toThrow(ApiError)
  await expect(request).rejects.toMatchObject({
    message: "Busy: Try again.",
    status: 503,
    body,
    kind: "problem",
    type: "about:blank",
    title: "Busy",
    detail: "Try again.",
    errors: body.errors,
    isTransient: true,
    details: ["a is wrong", "b is"],
    retryAfterMs: 7_000,
  })
})

test("an error that is not in X's form is thrown with its status alone, and a redirect is not followed", async () => {
  await using server = await listening((request, response) =>
    response.writeHead(request.method === "GET" ? 302 : 500, { location: "/elsewhere" }).end("<html>"),
  )
  const client = createClient({ url: server.url, token: "t" })
  const unknown = { kind: "response", body: undefined, retryAfterMs: undefined }
  await expect(client.request("GET", "rules")).rejects.toMatchObject({ ...unknown, status: 302 })
  const post = client.request("POST", "rules", { body: {} })
  await expect(post).rejects.toMatchObject({ ...unknown, message: "The server responded with status 500." })
})

test("a response that is not JSON is refused", async () => {
  await using server = await listening((_, response) => response.end("<html>hello</html>"))
  const request = createClient({ url: server.url, token: "t" }).request("GET", "rules")
  await expect(request).rejects.toMatchObject({ kind: "response", status: undefined })
  await expect(request).rejects.toThrow("responded with something that is not JSON.")
})

test("a missing server is distinguished from one that breaks the connection", async () => {
  const nowhere = createClient({ url: "http://127.0.0.1:2", token: "t" }).request("GET", "rules")
  await expect(nowhere).rejects.toThrow(ApiError)
  await expect(nowhere).rejects.toMatchObject({
    message: "No response from http://127.0.0.1:2: connection refused.",
    kind: "connection",
    isUnreachable: true,
    isTransient: true,
  })
  await using server = await listening((_, response) => response.destroy())
  const broken = createClient({ url: server.url, token: "t" }).request("GET", "rules")
  await expect(broken).rejects.toMatchObject({ kind: "connection", isUnreachable: false })
})

test("a server without TLS behind an https URL is named as such", async () => {
  await using server = await listening((_, response) => response.end("{}"))
  const url = server.url.replace("http:", "https:")
  const refused = createClient({ url, token: "t" }).request("GET", "rules")
  await expect(refused).rejects.toMatchObject({ kind: "connection", isUnreachable: true })
  await expect(refused).rejects.toThrow("it does not speak TLS; a server without TLS has a URL that begins with http:.")
})

test("a response that takes too long throws an error", async () => {
  await using server = await listening((_, response) => response.writeHead(200).write("["))
  const client = createClient({ url: server.url, token: "t", responseMsMax: 50 })
  await expect(client.request("GET", "rules")).rejects.toThrow("it takes too long")
})

test("an aborted request throws the reason of its signal", async () => {
  await using server = await listening(() => undefined)
  const reason = new Error("no longer wanted")
  const client = createClient({ url: server.url, token: "t" })
  const signal = AbortSignal.abort(reason)
  await expect(client.request("GET", "rules", { signal })).rejects.toBe(reason)
})

test.each([200, 500])("a response without an end is cut off at the bound, whatever its status: %i", async (status) => {
  const responseBytesMax = 1 << 20
  let sentBytes = 0
  const closed = Promise.withResolvers<void>()
  await using server = await listening((_, response) => {
    const chunk = Buffer.alloc(1 << 16, "[")
    const send = (): void => {
      if (response.destroyed) return
      sentBytes += chunk.length
      if (response.write(chunk)) setImmediate(send)
    }
    response.on("drain", send).on("close", closed.resolve).writeHead(status)
    send()
  })
  const client = createClient({ url: server.url, token: "t", responseBytesMax })
  await expect(client.request("GET", "rules")).rejects.toThrow("responded with more than 1,048,576 bytes.")
  await closed.promise
  // The sockets of both sides hold more bytes, so the sent bytes exceed the limit.
  expect(sentBytes).toBeGreaterThan(responseBytesMax)
  expect(sentBytes).toBeLessThan(32 * responseBytesMax)
})

test("headers of the caller's own go with every request, read anew for each, and no token is sent without one", async () => {
  const sent: IncomingHttpHeaders[] = []
  await using server = await listening((request, response) => {
    sent.push(request.headers)
    response.end("{}")
  })
  let app = "1"
  const client = createClient({ url: server.url, headers: () => ({ "Sluice-App": app }) })
  await client.request("GET", "rules")
  app = "2"
  await client.stream({ reconnect: false }).next()
  expect(sent.map(({ authorization, "sluice-app": id }) => [authorization, id])).toEqual([
    [undefined, "1"],
    [undefined, "2"],
  ])
  await createClient({ url: server.url, token: "t", headers: { "sluice-csrf": "c" } }).request("GET", "rules")
  expect(sent.at(-1)).toMatchObject({ authorization: "Bearer t", "sluice-csrf": "c" })
})

test("credentials are passed to fetch, which in a browser decides by them whether to send cookies", async () => {
  const given: (string | undefined)[] = []
  const browser = async (_: string, init?: RequestInit): Promise<Response> => {
    given.push(init?.credentials)
    return new Response("{}")
  }
  await createClient({ url: "", credentials: "include", fetch: browser }).request("GET", "rules")
  await createClient({ url: "", fetch: browser }).request("GET", "rules")
  expect(given).toEqual(["include", undefined])
})
