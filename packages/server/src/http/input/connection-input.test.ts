import { once } from "node:events"
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http"
import { connect, type AddressInfo, type Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import fc from "fast-check"
import { expect, onTestFinished, test, vi } from "vitest"
import { systemClock } from "../../runtime/clock.ts"
import { ConnectionTracker } from "../connections/connection-tracker.ts"
import { InputTurns } from "./input-turns.ts"
import { everything } from "../../../../../test/support/raw-http.testing.ts"

/** A server whose connections are tracked, with the reasons why it cut some. */
async function trackedServer(
  handler: RequestListener,
  inputBytesMax = 1_000_000_000,
  callerOf?: (request: IncomingMessage) => string,
): Promise<{ readonly server: Server; readonly cuts: readonly string[]; readonly connect: () => Promise<Socket> }> {
  const cuts: string[] = []
  const connections = new ConnectionTracker({
    clock: systemClock,
    events: { connectionCut: ({ reason }) => void cuts.push(reason) },
    connectionsMax: 1_000,
    unreadMsMax: 60_000,
    unreadBytesMax: 1_000_000_000,
    inputBytesMax,
  })
  const server = createServer(connections.oneAtATime(handler, handler))
  connections.track(server, callerOf)
  server.on("clientError", (_error, socket) => {
    const destroy = (): void => void socket.destroy()
    connections.endMalformed(socket, destroy, destroy)
  })
  return { server, cuts, connect: await listening(server) }
}

async function listening(server: Server): Promise<() => Promise<Socket>> {
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server.listen(0, "127.0.0.1"), "listening")
  return async () => {
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1")
    socket.on("error", () => undefined)
    onTestFinished(() => void socket.destroy())
    await once(socket, "connect")
    return socket
  }
}

const chunkedHead = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"

test("chunks of one byte, on many connections, reach the server as few pieces", async () => {
  const connectionCount = 20
  const bytesOfEach = 20_000
  let pieces = 0
  let bytes = 0
  const { connect: open } = await trackedServer((request, response) => {
    request.on("data", (chunk: Buffer) => {
      pieces += 1
      bytes += chunk.length
    })
    request.on("end", () => response.end("done"))
  })
  const body = `${"1\r\nx\r\n".repeat(bytesOfEach)}0\r\n\r\n`
  const sockets = await Promise.all(Array.from({ length: connectionCount }, open))
  await Promise.all(
    sockets.map(async (socket, index) => {
      // Half of them with the head in the same packet.
      socket.write(index % 2 === 0 ? chunkedHead + body : chunkedHead)
      if (index % 2 === 1) socket.write(body)
      await once(socket, "data")
    }),
  )
  expect(bytes).toBe(connectionCount * bytesOfEach)
  // A read is 64 KiB at most, but may be smaller: far from a piece for each byte in any case.
  expect(pieces).toBeLessThan(bytes / 50)
})

test("in a turn of the event loop a bounded number of small chunks is read, over all connections", async () => {
  const connectionCount = 40
  const bytesOfEach = 20_000
  const read = { bytes: 0 }
  let requests = 0
  const { connect: open } = await trackedServer((request, response) => {
    requests += 1
    request.on("data", (chunk: Buffer) => (read.bytes += chunk.length))
    request.on("end", () => response.end("done"))
  })
  const sockets = await Promise.all(Array.from({ length: connectionCount }, open))
  const done = sockets.map((socket) => once(socket, "data"))
  for (const socket of sockets) socket.write(chunkedHead)
  await expect.poll(() => requests).toBe(connectionCount)
  for (const socket of sockets) socket.write(`${"1\r\nx\r\n".repeat(bytesOfEach)}0\r\n\r\n`)
  const all = connectionCount * bytesOfEach
  let most = 0
  for (let before = 0; before < all; before = read.bytes) {
    await new Promise(setImmediate)
    most = Math.max(most, read.bytes - before)
  }
  await Promise.all(done)
  // The bound, what goes on when it is reached, and two hundred of each connection whose chunks were not known to be small.
  expect(most).toBeLessThanOrEqual(20_000 + 200 + connectionCount * 200)
})

/** The most bytes that the sockets read in one turn of the event loop, until they have read so many in all. */
async function mostReadInATurn(sockets: readonly Socket[], total: number): Promise<number> {
  const bytesRead = (): number => sockets.reduce((sum, socket) => sum + socket.bytesRead, 0)
  let most = 0
  for (let before = bytesRead(); before < total; before = bytesRead()) {
    await new Promise(setImmediate)
    most = Math.max(most, bytesRead() - before)
  }
  return most
}

test("in a turn of the event loop a bounded part of discarded bodies is read, over all connections", async () => {
  const connectionCount = 30
  const { server, connect: open } = await trackedServer((_request, response) => {
    response.writeHead(413, { "content-length": 0 }).end()
  })
  const theirs: Socket[] = []
  server.on("connection", (socket: Socket) => theirs.push(socket))
  const sockets = await Promise.all(Array.from({ length: connectionCount }, open))
  const length = 1_000_000
  for (const socket of sockets) socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`)
  await Promise.all(sockets.map((socket) => once(socket, "data")))
  for (const socket of sockets) socket.write(Buffer.alloc(length))
  const most = await mostReadInATurn(theirs, connectionCount * length)
  // A megabyte, and for each connection one read that finds the turn over.
  expect(most).toBeLessThanOrEqual(1_000_000 + (connectionCount + 1) * 65_536)
  // Each connection goes on after its body.
  await Promise.all(
    sockets.map(async (socket) => {
      socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
      await once(socket, "data")
    }),
  )
})

test("in a turn of the event loop a bounded part of all bodies is read, over all connections", async () => {
  const connectionCount = 30
  const length = 1_000_000
  const { server, connect: open } = await trackedServer((request, response) => {
    request.resume().on("end", () => response.end("done"))
  })
  const theirs: Socket[] = []
  server.on("connection", (socket: Socket) => theirs.push(socket))
  const sockets = await Promise.all(Array.from({ length: connectionCount }, open))
  const done = sockets.map((socket) => once(socket, "data"))
  for (const socket of sockets) socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`)
  for (const socket of sockets) socket.write(Buffer.alloc(length))
  const most = await mostReadInATurn(theirs, connectionCount * length)
  await Promise.all(done)
  // Two megabytes, and for each connection two reads that find the turn over.
  expect(most).toBeLessThanOrEqual(2_000_000 + (connectionCount + 1) * 2 * 65_536)
})

test("the body of a waiting request stays in the socket until it is read", async () => {
  const requests: IncomingMessage[] = []
  const { server, connect: open } = await trackedServer((request, response) => {
    requests.push(request)
    request.on("end", () => response.end("done"))
  })
  const accepted = once(server, "connection")
  const socket = await open()
  const [theirs] = (await accepted) as [Socket]
  const length = 2_000_000
  socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`)
  socket.write(Buffer.alloc(length, "x"))
  await expect.poll(() => requests).toHaveLength(1)
  await sleep(100)
  expect(requests[0]?.readableLength).toBe(0)
  expect(theirs.bytesRead).toBeLessThan(200_000)
  let bytes = 0
  requests[0]?.on("data", (chunk: Buffer) => (bytes += chunk.length))
  await once(socket, "data")
  expect(bytes).toBe(length)
})

test("a small body that is whole is passed on at once, and one of another request after that request is read", async () => {
  const requests: IncomingMessage[] = []
  const { server, connect: open } = await trackedServer((request, response) => {
    requests.push(request)
    request.on("end", () => response.end("done"))
  })
  const parsed: IncomingMessage[] = []
  server.on("request", (request) => parsed.push(request))
  const socket = await open()
  const whole = (length: number): string =>
    `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n${"x".repeat(length)}`
  socket.write(whole(16_000))
  await expect.poll(() => requests).toHaveLength(1)
  const [first] = requests
  await expect.poll(() => [first?.complete, first?.readableLength]).toEqual([true, 16_000])
  socket.write(whole(16_000))
  await expect.poll(() => parsed).toHaveLength(2)
  await sleep(50)
  expect([requests.length, parsed[1]?.readableLength]).toEqual([1, 0])
  first?.resume()
  await expect.poll(() => requests).toHaveLength(2)
  requests[1]?.resume()
  await expect.poll(() => requests[1]?.readableEnded).toBe(true)
  // Together they are two requests of which the first is not the last of its read, and the second is queued.
  const other = await open()
  other.write(whole(2_000) + whole(2_000))
  await expect.poll(() => requests).toHaveLength(3)
  await sleep(50)
  expect([requests[2]?.complete, requests[2]?.readableLength]).toEqual([false, 0])
  requests[2]?.resume()
  await expect.poll(() => requests).toHaveLength(4)
})

test("small bodies that were passed on count until they are read", async () => {
  const requests: IncomingMessage[] = []
  const { cuts, connect: open } = await trackedServer((request, response) => {
    requests.push(request)
    request.on("end", () => response.end("done"))
  }, 20_000)
  const text = `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 16000\r\n\r\n${"x".repeat(16_000)}`
  for (let round = 1; round <= 4; round++) {
    const socket = await open()
    socket.write(text)
    await expect.poll(() => requests).toHaveLength(round)
    requests.at(-1)?.resume()
    await once(socket, "data")
  }
  expect(cuts).toEqual([])
  const sockets = await Promise.all([open(), open(), open(), open()])
  for (const socket of sockets) socket.write(text)
  await expect.poll(() => cuts.length).toBeGreaterThan(0)
  expect(new Set(cuts)).toEqual(new Set(["input"]))
})

test("a small body that waits for its turn counts once", async () => {
  const requests: IncomingMessage[] = []
  const {
    server,
    cuts,
    connect: open,
  } = await trackedServer((request, response) => {
    requests.push(request)
    request.on("end", () => response.end("done"))
  }, 20_000)
  // As after a turn that has read much.
  let isOver = false
  const isTurnOver = vi.spyOn(InputTurns.prototype, "isOver").mockImplementation(() => isOver)
  onTestFinished(() => isTurnOver.mockRestore())
  const resumed: (() => void)[] = []
  const wait = vi.spyOn(InputTurns.prototype, "wait").mockImplementation((_caller, resume) => {
    resumed.push(resume)
    return () => undefined
  })
  onTestFinished(() => wait.mockRestore())
  server.on("request", () => (isOver = true))
  const socket = await open()
  socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 16000\r\n\r\n${"x".repeat(16_000)}`)
  await expect.poll(() => resumed).toHaveLength(1)
  await sleep(50)
  // The rest of the read counts once, less what each connection has free.
  expect(cuts).toEqual([])
  isOver = false
  for (const resume of resumed) resume()
  requests[0]?.resume()
  expect((await once(socket, "data")).toString()).toContain("200")
})

const requestText = fc.oneof(
  fc.constant("GET /get HTTP/1.1\r\nHost: x\r\n\r\n"),
  fc.constant("\r\n\r\nGET /blank HTTP/1.1\r\nHost: x\r\n\r\n"),
  fc
    .string({ maxLength: 30, unit: "binary-ascii" })
    .map((text) => `POST /length HTTP/1.1\r\nHost: x\r\nContent-Length: ${text.length}\r\n\r\n${text}`),
  fc.array(fc.string({ minLength: 1, maxLength: 9, unit: "binary-ascii" }), { maxLength: 9 }).map((texts) => {
    const chunks = texts.map((text) => `${text.length.toString(16)};x=y\r\n${text}\r\n`)
    return `${chunkedHead}${chunks.join("")}0\r\n\r\n`
  }),
  fc.constant(`${chunkedHead}1\r\nx\r\n0\r\nA: b\r\nC: d\r\n\r\n`),
  fc.constant(`${chunkedHead}1\r\nxyz`),
  fc.constant("nonsense\r\n\r\n"),
)

/** Result of parsing one connection at a time: its requests, and the parser's failure. */
class Parsed {
  requests: string[] = []
  failures: (string | undefined)[] = []

  readonly handle: RequestListener = (request, response) => {
    const chunks: Buffer[] = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const { method, url, trailers } = request
      this.requests.push(JSON.stringify({ method, url, trailers, body: Buffer.concat(chunks).toString("latin1") }))
      response.end()
    })
  }

  /** Sends the packets on a new connection, and waits until it is closed. */
  async of(open: () => Promise<Socket>, packets: readonly string[]): Promise<unknown> {
    this.requests = []
    this.failures = []
    const socket = await open()
    socket.setNoDelay(true)
    const received = everything(socket, 10_000)
    for (const packet of packets) {
      socket.write(packet, "latin1")
      await sleep(1)
    }
    await received
    return { requests: this.requests, failure: this.failures[0] }
  }
}

test("requests in reads of any size are parsed as Node alone parses them", async () => {
  const byNode = new Parsed()
  const plain = createServer(byNode.handle)
  plain.on("clientError", ({ code }: NodeJS.ErrnoException, socket) => {
    byNode.failures.push(code)
    // Those that were parsed before it are handled first.
    setTimeout(() => socket.destroy(), 5)
  })
  const openPlain = await listening(plain)
  const byInput = new Parsed()
  const { server, connect: openTracked } = await trackedServer(byInput.handle)
  server.on("clientError", ({ code }: NodeJS.ErrnoException) => byInput.failures.push(code))
  const last = "GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
  await fc.assert(
    fc.asyncProperty(
      fc.array(requestText, { maxLength: 4 }),
      fc.array(fc.nat(400), { maxLength: 6 }),
      async (texts, cuts) => {
        const text = texts.join("") + last
        const ends = [...cuts.map((at) => at % text.length).toSorted((a, b) => a - b), text.length]
        const packets = ends.map((end, index) => text.slice(ends[index - 1] ?? 0, end))
        expect(await byInput.of(openTracked, packets)).toEqual(await byNode.of(openPlain, [text]))
      },
    ),
    { numRuns: 60 },
  )
})

test("unfinished heads of all connections are bounded together, and the oldest connections are cut", async () => {
  const { cuts, connect: open } = await trackedServer((_request, response) => response.end(), 20_000)
  const closed: number[] = []
  for (let number = 0; number < 10; number++) {
    const socket = await open()
    socket.once("close", () => closed.push(number))
    // Half of it is free.
    socket.write(`GET / HTTP/1.1\r\nHost: x\r\nX: ${"x".repeat(12_000)}`)
    await sleep(20)
  }
  // Each counts 4 kB, so five are within the bound, and four when an eighth of it is freed.
  await expect.poll(() => closed.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5])
  expect(cuts).toEqual(Array.from({ length: 6 }, () => "input"))
  const ordinary = await open()
  ordinary.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
  await once(ordinary, "data")
  expect(closed).toHaveLength(6)
})

test("beyond the bound the caller who holds most is cut, and not the request that has lasted longest", async () => {
  const { cuts, connect: open } = await trackedServer(
    (_request, response) => void response.writeHead(200).write("a long response"),
    20_000,
    ({ headers }) => String(headers["x-caller"]),
  )
  const long = await open()
  long.write(`GET / HTTP/1.1\r\nHost: x\r\nX-Caller: one\r\nX: ${"x".repeat(9_000)}\r\n\r\n`)
  await once(long, "data")
  for (let number = 0; number < 10; number++) {
    const socket = await open()
    socket.write(`GET / HTTP/1.1\r\nHost: x\r\nX: ${"x".repeat(12_000)}`)
    await sleep(20)
  }
  await expect.poll(() => cuts.length).toBeGreaterThanOrEqual(6)
  expect([long.destroyed, long.readableEnded]).toEqual([false, false])
})

test("connections that have closed wait for no turn", async () => {
  let waiting = 0
  const wait = vi.spyOn(InputTurns.prototype, "wait").mockImplementation(() => {
    waiting += 1
    return () => void (waiting -= 1)
  })
  onTestFinished(() => wait.mockRestore())
  const closings: (() => void)[] = []
  const { connect: open } = await trackedServer((request) => {
    request.resume()
    closings.push(() => request.socket.destroy())
  })
  const sockets = await Promise.all(Array.from({ length: 10 }, open))
  for (const socket of sockets) socket.write(chunkedHead + "1\r\nx\r\n".repeat(20_000))
  await expect.poll(() => [closings.length, waiting > 0]).toEqual([10, true])
  for (const close of closings) close()
  await expect.poll(() => waiting).toBe(0)
})

test("heads of requests that are queued count until their responses are sent", async () => {
  const respond: (() => void)[] = []
  const { cuts, connect: open } = await trackedServer((_request, response) => {
    respond.push(() => response.end("done"))
  }, 100_000)
  const head = `GET / HTTP/1.1\r\nHost: x\r\nX: ${"x".repeat(10_000)}\r\n\r\n`
  const first = await open()
  first.write(head.repeat(8))
  await expect.poll(() => respond).toHaveLength(1)
  expect(cuts).toEqual([])
  const second = await open()
  const firstClosed = once(first, "close")
  second.write(head.repeat(8))
  await firstClosed
  expect(cuts).toEqual(["input"])
  // The second one's are sent, one after the other.
  let received = ""
  second.on("data", (chunk: Buffer) => (received += chunk.toString()))
  await expect.poll(() => respond).toHaveLength(2)
  for (let number = 1; number <= 8; number++) {
    await expect.poll(() => respond).toHaveLength(number + 1)
    respond[number]?.()
  }
  await expect.poll(() => received.match(/done/g)).toHaveLength(8)
  expect(cuts).toEqual(["input"])
})
