import { once } from "node:events"
import { createServer as createHttpServer, type RequestListener } from "node:http"
import { createServer as createHttpsServer } from "node:https"
import type { Server } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import * as tls from "node:tls"
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest"
import { endpointCases, endpointDeadlineMs, listening, portOf } from "./endpoint-cases.testing.ts"
import type { Resolve } from "./outbound-address.ts"
import { openConnections, responseBytesMax } from "./outbound-connections.ts"
import { createOutbound, type Outbound, type OutboundResult } from "./outbound.ts"
import { testCertificates } from "./certificates.testing.ts"

const closers: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

function outboundOf(
  options: { allowPrivate?: boolean; resolve?: Resolve; open?: typeof openConnections } = {},
): Outbound {
  const outbound = createOutbound({ allowPrivate: true, ...options })
  closers.push(() => outbound.close())
  return outbound
}

async function serving(server: Server & { closeAllConnections?: () => void }): Promise<number> {
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  closers.push(() => {
    server.close()
    server.closeAllConnections?.()
  })
  return portOf(server)
}

function get(outbound: Outbound, url: string, deadlineMs = 20_000): Promise<OutboundResult> {
  return outbound.send({ method: "GET", url, deadlineMs })
}

/** Port without a service. One that was free a moment ago may be taken again. */
const deadPort = 2

const toLoopback: Resolve = () => Promise.resolve([{ address: "127.0.0.1", family: 4 }])

test("a request for which nothing can be loaded fails here, and the next one is sent", async () => {
  let loads = 0
  const open: typeof openConnections = async (options) => {
    loads += 1
    if (loads === 1) throw new Error("EMFILE: too many open files")
    return openConnections(options)
  }
  const outbound = outboundOf({ open })
  const url = `http://127.0.0.1:${await responding((_, response) => response.end("here"))}/`
  expect(await get(outbound, url)).toMatchObject({ kind: "failure", outcome: "local_error" })
  expect(await get(outbound, url)).toMatchObject({ kind: "response", status: 200, body: "here" })
})

async function responding(listener: RequestListener): Promise<number> {
  return serving(createHttpServer(listener))
}

describe("responses", () => {
  test("a response comes with status, content type and body, and the request goes out as it was given", async () => {
    const seen: unknown[] = []
    const port = await responding((request, response) => {
      seen.push(request.method, request.url, request.headers["x-of-mine"])
      seen.push(request.headers["accept-encoding"], request.headers.host)
      request.on("data", (chunk) => seen.push(String(chunk)))
      request.on("end", () => response.writeHead(202, { "content-type": "text/plain" }).end("grüß dich"))
    })
    const result = await outboundOf().send({
      method: "POST",
      url: `http://127.0.0.1:${port}/a/b?c=%20d`,
      headers: { "x-of-mine": "1" },
      body: "größe",
      deadlineMs: 20_000,
    })
    expect(result).toMatchObject({
      kind: "response",
      status: 202,
      body: "grüß dich",
      received: { status: 202, bodyStart: "grüß dich", bodyBytes: 11 },
    })
    expect(seen).toEqual(["POST", "/a/b?c=%20d", "1", "identity", `127.0.0.1:${port}`, "größe"])
  })

  test("a redirect is returned as the response, and nothing is sent to its target", async () => {
    let elsewhere = 0
    const target = await responding((_request, response) => {
      elsewhere += 1
      response.end()
    })
    const port = await responding((_request, response) => {
      response.writeHead(307, { location: `http://127.0.0.1:${target}/` }).end()
    })
    expect(await get(outboundOf(), `http://127.0.0.1:${port}/`)).toMatchObject({
      kind: "response",
      status: 307,
    })
    expect(elsewhere).toBe(0)
  })

  test("a response of more than 64 KiB fails whatever its status, and no more of it is read", async () => {
    const dropped = Promise.withResolvers<void>()
    let written = 0
    const port = await responding((_request, response) => {
      response.on("close", () => dropped.resolve())
      response.statusCode = 503
      const write = (): void => {
        while (!response.destroyed && response.write("x".repeat(10_000))) written += 10_000
      }
      response.on("drain", write)
      write()
    })
    const result = await get(outboundOf(), `http://127.0.0.1:${port}/`)
    expect(result).toMatchObject({
      kind: "failure",
      outcome: "too_large",
      detail: "responded with 503 and more than 64 KiB",
      received: { status: 503, bodyStart: "x".repeat(4_096) },
    })
    await dropped.promise
    // The buffers of two sockets hold bytes that were sent and not read.
    expect(written).toBeLessThan(20_000_000)
  })

  test("a response has its retry-after header, the first of several", async () => {
    const values = [["7"], ["Sun, 06 Nov 1994 08:49:37 GMT"], ["1", "2"], ["NaN"], []]
    const port = await responding((_request, response) => {
      response.setHeader("retry-after", values.shift() ?? []).end()
    })
    const outbound = outboundOf()
    const seen: unknown[] = []
    for (let count = 0; count < 4; count++) {
      const result = await get(outbound, `http://127.0.0.1:${port}/`)
      seen.push("retryAfter" in result ? result.retryAfter : result)
    }
    expect(seen).toEqual(["7", "Sun, 06 Nov 1994 08:49:37 GMT", "1", "NaN"])
    expect(await get(outbound, `http://127.0.0.1:${port}/`)).not.toHaveProperty("retryAfter")
  })

  test("a response of exactly 64 KiB leaves the connection open", async () => {
    const sockets = new Set<unknown>()
    const port = await responding((request, response) => {
      sockets.add(request.socket)
      response.end("x".repeat(responseBytesMax))
    })
    const outbound = outboundOf()
    for (let count = 0; count < 3; count++) {
      const result = await get(outbound, `http://127.0.0.1:${port}/`)
      expect(result).toMatchObject({ kind: "response", body: "x".repeat(responseBytesMax) })
      // The connection is free a moment after the response's end.
      await sleep(10)
    }
    expect(sockets.size).toBe(1)
  })

  test("a response in many pieces is put together", async () => {
    const text = "äöü€😀".repeat(500)
    const port = await responding((_request, response) => {
      for (const byte of Buffer.from(text)) response.write(Uint8Array.of(byte))
      response.end()
    })
    expect(await get(outboundOf(), `http://127.0.0.1:${port}/`)).toMatchObject({ body: text })
  })
})

describe("connections", () => {
  test("connections are kept alive, and no more are made than requests are in flight", async () => {
    const sockets = new Set<unknown>()
    const port = await responding((request, response) => {
      sockets.add(request.socket)
      setTimeout(() => response.end(), 5)
    })
    const outbound = outboundOf()
    const url = `http://127.0.0.1:${port}/`
    for (let round = 0; round < 20; round++) {
      const results = await Promise.all(Array.from({ length: 3 }, () => get(outbound, url)))
      expect(results.every((result) => result.kind === "response")).toBe(true)
    }
    expect(sockets.size).toBe(3)
  })

  test("connections that slow endpoints hold delay no other endpoint of the same origin", async () => {
    let isOver = false
    const held: (() => void)[] = []
    const port = await responding((request, response) => {
      if (request.url === "/fast") response.end()
      else held.push(() => response.end())
    })
    const outbound = outboundOf()
    const origin = `http://127.0.0.1:${port}`
    const slow = ["/a", "/b", "/c", "/d"].flatMap((path) =>
      Array.from({ length: 32 }, () => get(outbound, origin + path, 60_000)),
    )
    void Promise.race(slow).then(() => (isOver = true))
    await expect.poll(() => held.length).toBe(slow.length)
    for (let count = 0; count < 4; count++) {
      expect(await get(outbound, `${origin}/fast`)).toMatchObject({ kind: "response", status: 200 })
    }
    expect(isOver).toBe(false)
    for (const release of held) release()
    for (const result of slow) expect(await result).toMatchObject({ kind: "response", status: 200 })
  })

  test("connections of timed-out requests serve the next one", async () => {
    const urls: unknown[] = []
    const sockets = new Set<unknown>()
    const port = await responding((request, response) => {
      sockets.add(request.socket)
      urls.push(request.url)
      response.end()
    })
    const resolved = Promise.withResolvers<Awaited<ReturnType<Resolve>>>()
    let lookups = 0
    const outbound = outboundOf({
      resolve: () => {
        lookups += 1
        return resolved.promise
      },
    })
    const origin = `http://hook.example.com:${port}`
    expect(await get(outbound, `${origin}/given-up`, 50)).toEqual({
      kind: "failure",
      outcome: "timeout",
      detail: "not connected within 0.05 s",
    })
    resolved.resolve([{ address: "127.0.0.1", family: 4 }])
    await sleep(50)
    expect(await get(outbound, `${origin}/next`)).toMatchObject({ kind: "response", status: 200 })
    expect([urls, sockets.size, lookups]).toEqual([["/next"], 1, 1])
  })

  test("connections are closed after 4 s without a request, whatever their endpoint says", async () => {
    let open = 0
    const server = await listening((socket) => {
      open += 1
      socket.on("close", () => (open -= 1))
      socket.write("HTTP/1.1 200 OK\r\nkeep-alive: timeout=3600\r\ncontent-length: 0\r\n\r\n")
    })
    closers.push(() => server.close())
    const result = await get(outboundOf(), `http://127.0.0.1:${server.port}/`)
    expect(result).toMatchObject({ kind: "response", status: 200 })
    expect(open).toBe(1)
    await expect.poll(() => open).toBe(0)
  })

  test("connections go to the address that the name resolved to, under the name", async () => {
    const hosts: unknown[] = []
    const port = await responding((request, response) => {
      hosts.push(request.headers.host)
      response.end()
    })
    const outbound = outboundOf({ resolve: toLoopback })
    expect(await get(outbound, `http://hook.example.com:${port}/`)).toMatchObject({ kind: "response" })
    expect(hosts).toEqual([`hook.example.com:${port}`])
  })

  test("connections are tried to the next address when one does not respond", async () => {
    const port = await responding((_request, response) => void response.end())
    const addresses = [
      { address: "127.0.0.2", family: 4 },
      { address: "::1", family: 6 },
      { address: "127.0.0.1", family: 4 },
    ]
    const resolve: Resolve = () => Promise.resolve(addresses)
    const result = await get(outboundOf({ resolve }), `http://hook.example.com:${port}/`)
    expect(result).toMatchObject({ kind: "response", status: 200 })
  })
})

describe("failures", () => {
  test.each([
    ["loopback", "https://127.0.0.1/", "The URL has the host 127.0.0.1, which is a loopback address."],
    ["loopback in disguise", "https://0x7f.1/", "The URL has the host 127.0.0.1, which is a loopback address."],
    ["IPv6 loopback", "https://[::1]/", "The URL has the host [::1], which is a loopback address."],
    ["http", "http://example.com/", "The URL begins with http:; only https is accepted."],
    ["nonsense", "nonsense", "The URL is not an absolute one."],
    ["localhost", "https://localhost/", "The URL has the host localhost, which is not a public name."],
  ])("a request fails at %s before anything is sent", async (_name, url, detail) => {
    expect(await get(outboundOf({ allowPrivate: false }), url)).toEqual({
      kind: "failure",
      outcome: "blocked_address",
      detail,
    })
  })

  test("a request fails when its name resolves to a private address, one among others or none, each time that it connects", async () => {
    const answers = [["10.0.0.1"], ["1.1.1.1", "127.0.0.1"], ["::ffff:127.0.0.1"]]
    const resolve: Resolve = () => Promise.resolve((answers.shift() ?? []).map((address) => ({ address, family: 4 })))
    const outbound = outboundOf({ allowPrivate: false, resolve })
    const details: unknown[] = []
    for (let count = 0; count < 4; count++) details.push(await get(outbound, "https://hook.example.com/"))
    const nothing = { kind: "failure", outcome: "dns", detail: "hook.example.com has no public address" }
    expect(details).toEqual([nothing, nothing, nothing, nothing])
  })

  test("a request fails when DNS does not respond in time", async () => {
    const outbound = outboundOf({ resolve: () => new Promise(() => undefined) })
    expect(await get(outbound, "http://hook.example.com/", 100)).toMatchObject({ outcome: "timeout" })
  })

  test("a request fails when nothing listens", async () => {
    const result = await get(outboundOf(), `http://127.0.0.1:${deadPort}/`)
    expect(result).toMatchObject({ kind: "failure", outcome: "connect", detail: /ECONNREFUSED/ })
  })

  test.each(["000", "042", "099", "100", "101"])(
    "a request fails at status %s, with a message of its own",
    async (status) => {
      const server = await listening((socket) => void socket.write(`HTTP/1.1 ${status} Status\r\n\r\n`))
      closers.push(() => server.close())
      expect(await get(outboundOf(), `http://127.0.0.1:${server.port}/`)).toEqual({
        kind: "failure",
        outcome: "invalid_response",
        detail: "a response whose status HTTP does not allow there",
      })
    },
  )

  test("a request fails when its signal is aborted, before it is sent or while it is in flight", async () => {
    const port = await responding(() => undefined)
    const outbound = outboundOf()
    const url = `http://127.0.0.1:${port}/`
    const controller = new AbortController()
    const result = outbound.send({ method: "GET", url, deadlineMs: 9_000, signal: controller.signal })
    setTimeout(() => controller.abort(), 20)
    expect(await result).toEqual({
      kind: "failure",
      outcome: "local_error",
      detail: "given up by this server",
    })
    const again = outbound.send({ method: "GET", url, deadlineMs: 9_000, signal: controller.signal })
    expect(await again).toEqual({
      kind: "failure",
      outcome: "local_error",
      detail: "given up by this server",
    })
  })

  test("a request fails when `close` is called, before it is sent or while it is in flight", async () => {
    const port = await responding(() => undefined)
    const outbound = createOutbound({ allowPrivate: true })
    const url = `http://127.0.0.1:${port}/`
    const waiting = [get(outbound, url, 9_000), get(outbound, url, 9_000)]
    setTimeout(() => void outbound.close(), 20)
    for (const result of waiting) expect(await result).toMatchObject({ kind: "failure", outcome: "local_error" })
    expect(await get(outbound, url)).toMatchObject({ kind: "failure", outcome: "local_error" })
  })
})

describe("TLS", () => {
  const before = tls.getCACertificates("default")
  beforeAll(() => tls.setDefaultCACertificates([...before, testCertificates.authority]))
  afterAll(() => tls.setDefaultCACertificates(before))

  test.each([
    ["a good certificate", testCertificates.good, { kind: "response", status: 200, body: "secure" }],
    ["one of another host", testCertificates.wrongHost, { outcome: "tls", detail: /ERR_TLS_CERT_ALTNAME_INVALID/ }],
    ["one that has expired", testCertificates.expired, { outcome: "tls", detail: /CERT_HAS_EXPIRED/ }],
    ["one signed by itself", testCertificates.selfSigned, { outcome: "tls", detail: /DEPTH_ZERO_SELF_SIGNED_CERT/ }],
  ])("a certificate is checked: %s", async (_name, certificate, expected) => {
    const port = await serving(createHttpsServer(certificate, (_request, response) => response.end("secure")))
    const outbound = outboundOf({ resolve: toLoopback })
    expect(await get(outbound, `https://hook.example.com:${port}/`)).toMatchObject(expected)
  })

  test("TLS is checked even where the environment says not to", async () => {
    vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0")
    closers.push(() => vi.unstubAllEnvs())
    const port = await serving(createHttpsServer(testCertificates.selfSigned, (_, response) => response.end()))
    const outbound = outboundOf({ resolve: toLoopback })
    expect(await get(outbound, `https://hook.example.com:${port}/`)).toMatchObject({ outcome: "tls" })
  })

  test("a server without TLS is a TLS error", async () => {
    const port = await responding((_request, response) => void response.end())
    const result = await get(outboundOf(), `https://127.0.0.1:${port}/`)
    expect(result).toMatchObject({ kind: "failure", outcome: "tls" })
  })

  test("a reset within the TLS handshake is no TLS error", async () => {
    const port = await serving(tls.createServer({}))
    const server = await listening(() => undefined)
    server.on("connection", (socket) => socket.resetAndDestroy())
    closers.push(() => server.close())
    const outbound = outboundOf()
    expect(await get(outbound, `https://127.0.0.1:${server.port}/`)).toMatchObject({ outcome: "connect" })
    // A server without a certificate ends the handshake with an alert, which is one.
    expect(await get(outbound, `https://127.0.0.1:${port}/`)).toMatchObject({ outcome: "tls" })
  })

  test("a TLS handshake without a response times out", async () => {
    const server = await listening(() => undefined)
    closers.push(() => server.close())
    const result = await get(outboundOf(), `https://127.0.0.1:${server.port}/`, 100)
    expect(result).toMatchObject({ outcome: "timeout" })
  })
})

describe("endpoints", () => {
  test.each(endpointCases.map((endpoint) => [endpoint.name, endpoint] as const))(
    "%s ends a request in time, and the next one is not hurt",
    async (_name, endpoint) => {
      const { respond, delivery } = endpoint
      const deadlineMs = endpointDeadlineMs(endpoint)
      let requests = 0
      const server = await listening((socket, right) => {
        requests += 1
        if (requests === 1) respond(socket, right)
        else socket.end("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
      })
      closers.push(() => server.close())
      const outbound = outboundOf()
      const url = `http://127.0.0.1:${server.port}/`
      const result = await outbound.send({ method: "POST", url, body: "{}", deadlineMs })
      const isResponse = ["delivered", "redirect", "rejected", "gone", "server_error"].includes(delivery)
      expect(result).toMatchObject(isResponse ? { kind: "response" } : { kind: "failure", outcome: delivery })
      expect(await get(outbound, url)).toMatchObject({ kind: "response", status: 200, body: "ok" })
    },
  )
})
