import { once } from "node:events"
import { createServer, type RequestListener } from "node:http"
import { connect, type AddressInfo, type Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { expect, onTestFinished, test } from "vitest"
import { systemClock } from "../runtime/clock.ts"
import { OpenConnections } from "./open-connections.ts"
import { answersIn, everything } from "./test-server.testing.ts"

/** Far more than what ends by itself takes, on a slow machine too. */
const msMax = 10_000

const get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
const post = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"

/** A server that closes like ours, and sockets to it. */
async function serverOf(handler: RequestListener): Promise<{
  open(start: string): Promise<{ socket: Socket; received: Promise<Buffer> }>
  close(drainMsMax: number): Promise<void>
}> {
  const server = createServer(handler)
  const connections = new OpenConnections(systemClock)
  connections.follow(server)
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
      return { socket, received }
    },
    async close(drainMsMax) {
      const closed = once(server, "close")
      const drained = connections.drain(drainMsMax)
      server.close()
      await Promise.all([closed, drained])
    },
  }
}

test("connections without a whole request are closed at once", async () => {
  const server = await serverOf((_, response) => response.end("done"))
  const mute = await server.open("")
  const unfinished = await server.open("GET / HTTP/1.1\r\nHost: x\r\n")
  const idle = await server.open("")
  idle.socket.write(get)
  await once(idle.socket, "data")
  await server.close(60_000)
  expect((await mute.received).length + (await unfinished.received).length).toBe(0)
  expect(answersIn(await idle.received)).toHaveLength(1)
})

test("an answer under way is finished, and the last one says that it is", async () => {
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
  const { promise: mayAnswer, resolve: answer } = Promise.withResolvers<void>()
  let count = 0
  const server = await serverOf((_, response) => {
    count += 1
    const body = `answer ${count}`
    if (count === 2) ask()
    void mayAnswer.then(() => response.setHeader("content-length", body.length).end(body))
  })
  const { received } = await server.open(get + get)
  await asked
  const closed = server.close(60_000)
  answer()
  await closed
  const answers = answersIn(await received)
  expect(answers.map(({ text }) => text)).toEqual(["answer 1", "answer 2"])
  expect(answers.map(({ headers }) => headers.get("connection"))).toEqual(["keep-alive", "close"])
})

test("a client that is answered in the middle of its body gets the whole answer", async () => {
  const whole = "x".repeat(100_000)
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
  const { promise: mayAnswer, resolve: answer } = Promise.withResolvers<void>()
  const server = await serverOf((request, response) => {
    request.once("data", ask)
    void mayAnswer.then(() => response.end(whole))
  })
  const { socket, received } = await server.open(post)
  const sending = setInterval(() => socket.writable && socket.write("x".repeat(1_000)), 5)
  await asked
  // Still sending when it comes to read: a connection that was reset would be gone by then.
  socket.pause()
  const closed = server.close(60_000)
  answer()
  await sleep(200)
  socket.resume()
  await closed
  clearInterval(sending)
  expect((await received).includes(whole)).toBe(true)
})

test("an answer that does not end is cut", async () => {
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
  const server = await serverOf((_, response) => {
    response.write("and so on")
    ask()
  })
  const { received } = await server.open(get)
  await asked
  await server.close(50)
  expect((await received).toString()).toContain("and so on")
})
