/**
 * The one deadline over all phases of a request, phase by phase, and what a failure in each is called. Endpoints are
 * real sockets; the one that cannot be connected to is a process that listens and is stopped.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createServer as createHttpsServer } from "node:https"
import { connect, createServer, type Server, type Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import * as tls from "node:tls"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import { testCertificates } from "./certificates.testing.ts"
import { addressesFor, dnsServer } from "./dns-server.testing.ts"
import { portOf } from "./endpoint-cases.testing.ts"
import { resolveBy, type Resolve } from "./outbound-address.ts"
import { createOutbound, type Outbound, type OutboundResult } from "./outbound.ts"

const deadlineMs = 400
const hook = "hook.example.com"

/** How late the cut may come on a slow machine: still before the 9 s in which the shortest silence, that of DNS, ends. */
const lateMsMax = 8_000

const closers: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

const toLoopback: Resolve = () => Promise.resolve([{ address: "127.0.0.1", family: 4 }])

function outboundBy(resolve = toLoopback): Outbound {
  const outbound = createOutbound({ allowPrivate: true, resolve })
  closers.push(() => outbound.close())
  return outbound
}

async function serving(server: Server): Promise<number> {
  const sockets = new Set<Socket>()
  server.on("connection", (socket: Socket) => {
    sockets.add(socket)
    socket.on("error", () => undefined)
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  closers.push(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return portOf(server)
}

/** Sends a POST, and says how long its end took. */
async function timed(outbound: Outbound, url: string): Promise<{ result: OutboundResult; tookMs: number }> {
  const startedMs = performance.now()
  const result = await outbound.send({ method: "POST", url, body: "{}", deadlineMs })
  return { result, tookMs: performance.now() - startedMs }
}

/** A port at which connections are neither taken nor refused: its queue is full and stays full. */
async function blackHole(): Promise<number> {
  const script = `const server = require("node:net").createServer().listen({ port: 0, host: "127.0.0.1", backlog: 1 },
    () => console.log(server.address().port))`
  const child = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] })
  const [line] = (await once(child.stdout, "data")) as [Buffer]
  const port = Number(line.toString())
  child.kill("SIGSTOP")
  const fillers = Array.from({ length: 8 }, () => connect(port, "127.0.0.1").on("error", () => undefined))
  closers.push(async () => {
    for (const filler of fillers) filler.destroy()
    child.kill("SIGKILL")
    await once(child, "exit")
  })
  // Those for which there is room are connected at once; the rest never will be.
  await expect.poll(() => fillers.filter((filler) => filler.connecting).length).toBeLessThan(8)
  await sleep(50)
  expect(fillers.some((filler) => filler.connecting)).toBe(true)
  return port
}

/** Destination of a request, and the resolution of its name if not to 127.0.0.1 at once. */
interface Endpoint {
  readonly scheme?: "https"
  readonly port: number
  readonly resolve?: Resolve
}

async function silentDns(): Promise<Endpoint> {
  const dns = await dnsServer(() => "nothing", 9_000)
  closers.push(() => dns[Symbol.asyncDispose]())
  return { port: 80, resolve: resolveBy(() => dns.resolver) }
}

/** Sends `first` when the request comes, and then `next` again and again. */
async function dripping(first: string, next: string): Promise<Endpoint> {
  const server = createServer((socket) => {
    socket.once("data", () => socket.write(first))
    const timer = setInterval(() => socket.write(next), 100)
    socket.on("close", () => clearInterval(timer))
  })
  return { port: await serving(server) }
}

/** Takes most of the deadline for DNS, for TLS, for the head and for the body: for each it is in time. */
async function slowEverywhere(): Promise<Endpoint> {
  const pauseMs = 0.75 * deadlineMs
  const pause = (): Promise<void> => sleep(pauseMs)
  const dns = await dnsServer(async (query) => {
    await pause()
    return addressesFor(query, ["127.0.0.1"])
  }, 9_000)
  closers.push(() => dns[Symbol.asyncDispose]())
  const secure = await serving(
    createHttpsServer(testCertificates.good, (_request, response) => {
      const respond = async (): Promise<void> => {
        await pause()
        response.write("{")
        await pause()
        response.end("}")
      }
      void respond()
    }),
  )
  const proxy = createServer((socket) => {
    const open = async (): Promise<void> => {
      await pause()
      const through = connect(secure, "127.0.0.1").on("error", () => undefined)
      socket.pipe(through).pipe(socket)
      socket.on("close", () => through.destroy())
    }
    void open()
  })
  return { scheme: "https", port: await serving(proxy), resolve: resolveBy(() => dns.resolver) }
}

const before = tls.getCACertificates("default")
beforeAll(() => tls.setDefaultCACertificates([...before, testCertificates.authority]))
afterAll(() => tls.setDefaultCACertificates(before))

const notConnected = "not connected within 0.4 s"
const noResponse = "no response within 0.4 s"
const noEnd = "responded with 200, but the response did not end within 0.4 s"

const cases: readonly (readonly [name: string, detail: string | RegExp, start: () => Promise<Endpoint>])[] = [
  ["DNS never answers", notConnected, silentDns],
  ["the connection is black-holed", notConnected, async () => ({ port: await blackHole() })],
  [
    "the TLS handshake gets no response",
    notConnected,
    async () => ({ scheme: "https", port: await serving(createServer(() => undefined)) }),
  ],
  ["no response comes", noResponse, async () => ({ port: await serving(createServer((socket) => socket.resume())) })],
  ["the head comes byte by byte", noResponse, () => dripping("HTTP/1.1 200 OK\r\na: ", "b")],
  ["headers come one by one", noResponse, () => dripping("HTTP/1.1 200 OK\r\n", "a: b\r\n")],
  ["the body comes byte by byte", noEnd, () => dripping("HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n", "x")],
  ["each phase is in time, and all of them together are not", /0\.4 s$/, slowEverywhere],
]

describe("deadlines", () => {
  test.each(cases)("a request is cut at its deadline when %s", async (_name, detail, start) => {
    const { scheme = "http", port, resolve } = await start()
    const { result, tookMs } = await timed(outboundBy(resolve), `${scheme}://${hook}:${port}/`)
    expect(result).toMatchObject({ kind: "failure", outcome: "timeout", detail: expect.stringMatching(detail) })
    expect(tookMs).toBeGreaterThan(deadlineMs - 5)
    expect(tookMs).toBeLessThan(deadlineMs + lateMsMax)
  })

  test("an endpoint that is slow in every phase is reached when there is time enough", async () => {
    const { port, resolve } = await slowEverywhere()
    const url = `https://${hook}:${port}/`
    const result = await outboundBy(resolve).send({ method: "POST", url, body: "{}", deadlineMs: 20_000 })
    expect(result).toMatchObject({ kind: "response", status: 200, body: "{}" })
  })
})

describe("requests without a route", () => {
  const noRoute = { address: "255.255.255.255", family: 4 }
  const loopback = { address: "127.0.0.1", family: 4 }

  test("a request that this machine has no route for fails as local", async () => {
    const outbound = outboundBy(() => Promise.resolve([noRoute, noRoute]))
    const url = `http://${hook}:9/`
    const result = await outbound.send({ method: "POST", url, body: "{}", deadlineMs: 20_000 })
    expect(result).toMatchObject({
      outcome: "local_error",
      detail: expect.stringMatching(/ENETUNREACH|EACCES/),
    })
  })

  test("a request fails as the endpoint's when there is a route to another of its addresses", async () => {
    const outbound = outboundBy(() => Promise.resolve([noRoute, loopback]))
    // No service runs there, and no test is given that port.
    const url = `http://${hook}:2/`
    const result = await outbound.send({ method: "POST", url, body: "{}", deadlineMs: 20_000 })
    expect(result).toMatchObject({ outcome: "connect", detail: expect.stringMatching(/ECONNREFUSED/) })
  })
})
