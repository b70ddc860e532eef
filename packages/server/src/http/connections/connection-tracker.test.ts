import { once } from "node:events"
import { createServer, ServerResponse, type IncomingMessage, type RequestListener } from "node:http"
import { connect, type AddressInfo, type Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { expect, onTestFinished, test } from "vitest"
import { systemClock } from "../../runtime/clock.ts"
import type { ConnectionCut } from "../../runtime/events/events.ts"
import { ConnectionTracker, type ConnectionTrackerDeps } from "./connection-tracker.ts"
import { responsesIn, everything } from "../../../../../test/support/raw-http.testing.ts"

/** Far more than what ends by itself takes, on a slow machine too. */
const msMax = 10_000

const get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
const post = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"

/** A server that closes like ours, and sockets to it. */
async function serverOf(
  handler: RequestListener,
  bounds: Partial<
    Pick<ConnectionTrackerDeps, "connectionsMax" | "unreadMsMax" | "unreadBytesMax" | "inputBytesMax">
  > = {},
): Promise<{
  open(start: string): Promise<{ socket: Socket; theirs: Socket; received: Promise<Buffer> }>
  /** Responses that Node keeps until they are sent, or until the connection closes. */
  readonly responsesMade: number
  readonly cuts: readonly ConnectionCut[]
  /** Why the parser stopped. */
  readonly parserErrors: readonly (string | undefined)[]
  readonly connections: ConnectionTracker
  close(drainMsMax: number): Promise<void>
}> {
  let responsesMade = 0
  class CountedResponse extends ServerResponse {
    constructor(request: IncomingMessage) {
      super(request)
      responsesMade += 1
    }
  }
  const cuts: ConnectionCut[] = []
  const connections = new ConnectionTracker({
    clock: systemClock,
    events: { connectionCut: ({ reason }) => void cuts.push(reason) },
    connectionsMax: 100,
    unreadMsMax: 60_000,
    unreadBytesMax: 1_000_000_000,
    inputBytesMax: 1_000_000_000,
    ...bounds,
  })
  const refuse: RequestListener = (_, response) => response.writeHead(503, { "content-length": 7 }).end("closing")
  const server = createServer({ ServerResponse: CountedResponse }, connections.oneAtATime(handler, refuse))
  connections.track(server)
  const parserErrors: (string | undefined)[] = []
  server.on("clientError", ({ code }: NodeJS.ErrnoException, socket) => {
    parserErrors.push(code)
    connections.endMalformed(
      socket,
      () => socket.destroy(),
      () => socket.destroy(),
    )
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return {
    async open(start) {
      const accepted = once(server, "connection")
      const socket = connect((server.address() as AddressInfo).port, "127.0.0.1")
      onTestFinished(() => void socket.destroy())
      const received = everything(socket, msMax)
      socket.write(start)
      const [theirs] = (await accepted) as [Socket]
      while (theirs.bytesRead < start.length) await once(theirs, "data")
      return { socket, theirs, received }
    },
    parserErrors,
    get responsesMade() {
      return responsesMade
    },
    cuts,
    connections,
    async close(drainMsMax) {
      const closed = once(server, "close")
      await connections.drain(drainMsMax)
      connections.close()
      server.close()
      await closed
    },
  }
}

test("a drain closes connections without a complete request at once", async () => {
  const server = await serverOf((_, response) => response.end("done"))
  const mute = await server.open("")
  const unfinished = await server.open("GET / HTTP/1.1\r\nHost: x\r\n")
  const idle = await server.open("")
  idle.socket.write(get)
  await once(idle.socket, "data")
  await server.close(60_000)
  expect((await mute.received).length + (await unfinished.received).length).toBe(0)
  expect(responsesIn(await idle.received)).toHaveLength(1)
})

test("a drain lets a response in progress finish, and the last response announces the end", async () => {
  const { promise: requested, resolve: onRequest } = Promise.withResolvers<void>()
  const { promise: mayRespond, resolve: respond } = Promise.withResolvers<void>()
  let count = 0
  const server = await serverOf((_, response) => {
    count += 1
    const body = `response ${count}`
    onRequest()
    void mayRespond.then(() => response.setHeader("content-length", body.length).end(body))
  })
  const { received } = await server.open(get + get)
  await requested
  const closed = server.close(60_000)
  respond()
  await closed
  const responses = responsesIn(await received)
  expect(responses.map(({ text }) => text)).toEqual(["response 1", "response 2"])
  expect(responses.map(({ headers }) => headers.get("connection"))).toEqual(["keep-alive", "close"])
})

test("a client that gets its response before it has sent its body receives the whole response", async () => {
  const whole = "x".repeat(100_000)
  const { promise: requested, resolve: onRequest } = Promise.withResolvers<void>()
  const { promise: mayRespond, resolve: respond } = Promise.withResolvers<void>()
  const server = await serverOf((request, response) => {
    request.once("data", onRequest)
    void mayRespond.then(() => response.end(whole))
  })
  const { socket, received } = await server.open(post)
  const sending = setInterval(() => socket.writable && socket.write("x".repeat(1_000)), 5)
  await requested
  // Still sending when it comes to read: a connection that was reset would be gone by then.
  socket.pause()
  const closed = server.close(60_000)
  respond()
  await sleep(200)
  socket.resume()
  await closed
  clearInterval(sending)
  expect((await received).includes(whole)).toBe(true)
})

test("a drain cuts a response that does not end in time", async () => {
  const { promise: requested, resolve: onRequest } = Promise.withResolvers<void>()
  const server = await serverOf((_, response) => {
    response.write("and so on")
    onRequest()
  })
  const { received } = await server.open(get)
  await requested
  await server.close(50)
  expect((await received).toString()).toContain("and so on")
})

test("during a drain new requests are refused until the responses in progress are sent", async () => {
  const { promise: requested, resolve: onRequest } = Promise.withResolvers<void>()
  const { promise: mayRespond, resolve: respond } = Promise.withResolvers<void>()
  const server = await serverOf((_, response) => {
    onRequest()
    void mayRespond.then(() => response.end("done"))
  })
  const kept = await server.open("")
  const working = await server.open(get)
  await requested
  const drained = server.connections.drain(60_000)
  const late = await server.open(get)
  kept.socket.write(get)
  const refusals = responsesIn(Buffer.concat([await late.received, await kept.received]))
  expect(refusals.map(({ status, headers }) => [status, headers.get("connection")])).toEqual([
    [503, "close"],
    [503, "close"],
  ])
  respond()
  await drained
  await server.close(0)
  expect((await working.received).toString()).toContain("done")
})

test("pipelined requests are handled one at a time, ten are queued, and the rest is not kept", async () => {
  const begun: ServerResponse[] = []
  const server = await serverOf((_, response) => void begun.push(response))
  const { socket, theirs, received } = await server.open(get)
  socket.write(get.repeat(12_000))
  while (server.cuts.length === 0) await sleep(5)
  await sleep(50)
  expect(begun).toHaveLength(1)
  // Those that are kept, and the one that was too many.
  expect(server.responsesMade).toBe(12)
  expect(theirs.bytesRead).toBeLessThan(3 * 65_536)
  // The rest is not parsed either.
  expect(server.parserErrors).toEqual([])
  for (let responded = 0; responded < 11; responded += 1) {
    while (begun.length === responded) await sleep(1)
    begun[responded]?.end(`response ${responded}`)
  }
  const responses = (await received).toString()
  expect(responses.match(/response \d+/g)).toEqual(Array.from({ length: 11 }, (_, index) => `response ${index}`))
  expect(responses.match(/Connection: close/gi)).toHaveLength(1)
  expect([begun.length, server.responsesMade, server.cuts]).toEqual([11, 12, ["pipelining"]])
  await server.close(0)
})

test("unread responses are bounded by their bytes, and the oldest are cut", async () => {
  const body = Buffer.alloc(24_000_000)
  const server = await serverOf((_, response) => response.end(body), { unreadBytesMax: 60_000_000 })
  const clients: Awaited<ReturnType<typeof server.open>>[] = []
  for (let count = 0; count < 4; count += 1) {
    const client = await server.open("")
    client.socket.pause()
    client.socket.write(get)
    while (client.theirs.writableLength === 0 && !client.theirs.destroyed) await sleep(1)
    clients.push(client)
  }
  expect(clients.map(({ theirs }) => theirs.destroyed)).toEqual([true, true, false, false])
  const held = clients.reduce((bytes, { theirs }) => bytes + (theirs.destroyed ? 0 : theirs.writableLength), 0)
  expect(held).toBeLessThan(60_000_000)
  expect(server.cuts).toEqual(["unread", "unread"])
  await server.close(0)
})

test("a response that its client does not read is cut in time", async () => {
  const server = await serverOf((_, response) => response.end(Buffer.alloc(24_000_000)), { unreadMsMax: 50 })
  const { socket, theirs } = await server.open("")
  socket.pause()
  socket.write(get)
  await once(theirs, "close")
  expect(server.cuts).toEqual(["unread"])
  await server.close(0)
})

test("a connection above the limit is closed at once, and one is accepted again when another has closed", async () => {
  const server = await serverOf((_, response) => response.end("done"), { connectionsMax: 2 })
  const first = await server.open("")
  await server.open("")
  const tooMany = await server.open("")
  expect((await tooMany.received).length).toBe(0)
  expect(server.cuts).toEqual(["over-limit"])
  first.socket.destroy()
  await once(first.theirs, "close")
  const { socket } = await server.open(get)
  await once(socket, "data")
  await server.close(0)
})
