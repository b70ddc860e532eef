/** Receivers behind the servers that people use, over real HTTP. */
import { once } from "node:events"
import { createServer } from "node:http"
import { connect, type AddressInfo } from "node:net"
import express from "express"
import fastify from "fastify"
import { expect, test } from "vitest"
import { listening } from "../../../../test/support/listening.testing.ts"
import { fastifyPlugin, nodeHandler } from "./adapters.ts"
import { byExpress, servers, type Start } from "./receiver-servers.testing.ts"
import { receiver, type Delivery } from "./receiver.ts"
import { body, consumerSecret, headersOf, signedByX, signingKey } from "./signed-delivery.testing.ts"

async function started(start: Start) {
  const deliveries: Delivery[] = []
  const state = { status: 200 }
  const server = await start(
    receiver({
      consumerSecret,
      signingKeys: [signingKey],
      bodyBytesMax: 100_000,
      onDelivery(delivery) {
        deliveries.push(delivery)
        if (state.status === 500) throw new Error("no room")
        return state.status
      },
    }),
  )
  const post = async (headers: Readonly<Record<string, string>>, text: string): Promise<number> =>
    (await fetch(`${server.url}/hook`, { method: "POST", headers, body: text })).status
  return { ...server, deliveries, state, post, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

test.each(servers)("behind %s, challenges are answered and deliveries checked by their bytes", async (_, start) => {
  await using server = await started(start)
  const challenge = await fetch(`${server.url}/hook?crc_token=abc`)
  expect(challenge.headers.get("content-type")).toMatch(/^application\/json/)
  expect(await challenge.json()).toEqual({ response_token: signedByX("abc") })
  // Parsed and written again it would be other bytes.
  const spaced = body.replace("{", "{ ")
  expect(await server.post(headersOf(spaced), spaced)).toBe(200)
  expect(server.deliveries).toMatchObject([{ id: "msg_1_1", text: spaced, kind: "match" }])
  expect(await server.post(headersOf(spaced), body)).toBe(403)
  expect(await server.post({}, body)).toBe(403)
  server.state.status = 500
  expect(await server.post(headersOf(body, { id: "msg_1_2" }), body)).toBe(500)
  server.state.status = 200
  expect(await server.post(headersOf(body, { id: "msg_1_2" }), body)).toBe(200)
  expect(await server.post(headersOf(body, { id: "msg_1_2" }), body)).toBe(200)
  expect(server.deliveries).toHaveLength(3)
  const large = `${body}${" ".repeat(100_000)}`
  // The connection may be closed while the client still sends.
  expect(await server.post(headersOf(large), large).catch(() => 413)).toBe(413)
  expect((await fetch(`${server.url}/hook`, { method: "PUT", body })).status).toBe(405)
})

test("a body without an end is refused and its connection closed", async () => {
  await using server = await started((receive) => listening(nodeHandler(receive)))
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1")
  const response = Promise.withResolvers<string>()
  socket.once("data", (chunk) => response.resolve(String(chunk))).on("error", () => undefined)
  const closed = once(socket, "close")
  const signed = Object.entries(headersOf(body)).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`POST / HTTP/1.1\r\nHost: x\r\n${signed.join("")}Transfer-Encoding: chunked\r\n\r\n`)
  const chunk = Buffer.from(`8000\r\n${"x".repeat(0x8000)}\r\n`)
  for (let count = 0; count < 5; count++) socket.write(chunk)
  expect(await response.promise).toMatch(/^HTTP\/1\.1 413 /)
  await closed
  expect(server.deliveries).toEqual([])
})

test("behind a parser that has read the body, Express gets an error that says what to do", async () => {
  const errors: unknown[] = []
  await using server = await started(
    byExpress((app, receive) => {
      app.use(express.json(), nodeHandler(receive))
      app.use((error: unknown, _request: unknown, response: { sendStatus(code: number): void }, _next: unknown) => {
        errors.push(error)
        response.sendStatus(500)
      })
    }),
  )
  expect(await server.post(headersOf(body), body)).toBe(500)
  expect(String(errors)).toContain("put the receiver before express.json()")
})

test("Fastify's own parsers work as before with the plugin", async () => {
  const app = fastify()
  app.post("/json", async (request) => request.body)
  await app.register(fastifyPlugin(receiver({ consumerSecret, onDelivery: () => undefined })), { prefix: "/hook" })
  const response = await app.inject({ method: "POST", url: "/json", payload: { a: 1 } })
  expect(response.json()).toEqual({ a: 1 })
  await app.close()
})

test("the adapter for node:http responds with 500 when a receiver rejects, which it should never do", async () => {
  const server = createServer(nodeHandler(() => Promise.reject(new Error("broken")))).listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  const response = await fetch(`http://127.0.0.1:${String(port)}/`)
  expect(response.status).toBe(500)
  server.close()
})
