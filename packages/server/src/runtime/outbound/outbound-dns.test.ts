import { once } from "node:events"
import { createServer } from "node:http"
import type { LookupFunction, Server } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { afterEach, describe, expect, test } from "vitest"
import {
  addressesFor,
  dnsServer,
  type DnsAnswer,
  type DnsQuery,
  type DnsRecord,
  type DnsServer,
} from "./dns-server.testing.ts"
import { portOf } from "./endpoint-cases.testing.ts"
import { AddressRefused, guardedLookup, NameUnresolved, resolveBy } from "./outbound-address.ts"
import { createOutbound, type Outbound } from "./outbound.ts"

const hook = "hook.example.com"

const closers: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

async function asking(
  answer: (query: DnsQuery) => DnsAnswer | Promise<DnsAnswer>,
  timeoutMs?: number,
): Promise<DnsServer> {
  const server = await dnsServer(answer, timeoutMs)
  closers.push(() => server[Symbol.asyncDispose]())
  return server
}

/** Returns the addresses that the guard of `serve` passes to a connection, or the class and the words of its error. */
async function lookedUp(lookup: LookupFunction): Promise<unknown> {
  return new Promise((resolve) => {
    lookup(hook, { all: true }, (error, addresses) => {
      if (error instanceof AddressRefused) resolve(["address", error.message])
      else if (error instanceof NameUnresolved) resolve([error.isLocal ? "local" : "dns", error.message])
      else if (error !== null) resolve(error)
      else if (Array.isArray(addresses)) resolve(addresses.map(({ address }) => address))
    })
  })
}

function guarded(server: DnsServer): LookupFunction {
  return guardedLookup(
    { allowPrivate: false },
    resolveBy(() => server.resolver),
  )
}

const has =
  (...addresses: string[]) =>
  (query: DnsQuery) =>
    addressesFor(query, addresses)

/** Aliases from the name that is asked for to the last one, and there an address. */
const aliased =
  (names: readonly string[], address: string) =>
  (query: DnsQuery): DnsAnswer => {
    const aliases = names.map((data, index): DnsRecord => ({
      name: names[index - 1] ?? hook,
      type: "CNAME",
      data,
    }))
    const answer = addressesFor(query, [address])
    const records = "object" === typeof answer && "records" in answer ? answer.records : []
    return { records: [...aliases, ...records.map((record) => ({ ...record, name: names.at(-1) ?? hook }))] }
  }

const numbered = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `1.${index >> 8}.${index & 255}.1`)

/** In the same words whether there is no such name or it means something inside this network. */
const nothingPublic = ["dns", `${hook} has no public address`]
const unresolved = (why: string) => ["dns", `${hook}: ${why}`]
const badAnswer = unresolved("DNS failed (EBADRESP)")
const silent = unresolved("DNS did not answer (ETIMEOUT)")

/** Time to wait for a response that never comes. Cases with a response wait longer, so that none is lost. */
const silenceMs = 300

/** Answers to either question, and what comes of them. */
const cases: readonly (readonly [name: string, answer: (query: DnsQuery) => DnsAnswer, expected: unknown])[] = [
  ["a public address", has("1.1.1.1"), ["1.1.1.1"]],
  ["a public IPv6 address alone", has("2606:4700::1"), ["2606:4700::1"]],
  ["addresses of both families", has("1.1.1.1", "2606:4700::1"), ["1.1.1.1", "2606:4700::1"]],
  ["aliases to a public name", aliased(["a.example.net", "b.example.net"], "1.1.1.1"), ["1.1.1.1"]],
  [
    "12 aliases",
    aliased(
      numbered(12).map((label) => `a${label}.example.net`),
      "1.1.1.1",
    ),
    ["1.1.1.1"],
  ],
  ["an alias to a private address", aliased(["localhost"], "127.0.0.1"), nothingPublic],
  ["an alias to nothing", () => ({ records: [{ type: "CNAME", data: "gone.example.net" }] }), nothingPublic],
  ["an alias to itself", () => ({ records: [{ type: "CNAME", data: hook }] }), nothingPublic],
  ["500 public addresses, over TCP", has(...numbered(500)), numbered(8)],
  ["500 addresses, one private", has(...numbered(499), "10.0.0.1"), nothingPublic],
  // Not public.
  ["loopback", has("127.0.0.1"), nothingPublic],
  ["loopback by another number", has("127.8.8.8"), nothingPublic],
  ["a private address", has("192.168.1.1"), nothingPublic],
  ["a private address of 172.16/12", has("172.31.255.255"), nothingPublic],
  ["CGNAT", has("100.127.255.255"), nothingPublic],
  ["cloud metadata", has("169.254.169.254"), nothingPublic],
  ["Azure's metadata", has("168.63.129.16"), nothingPublic],
  ["Oracle's metadata", has("192.0.0.192"), nothingPublic],
  ["Alibaba's metadata", has("100.100.100.200"), nothingPublic],
  ["AWS's metadata over IPv6", has("fd00:ec2::254"), nothingPublic],
  ["no address", has("0.0.0.0"), nothingPublic],
  ["this network", has("0.1.2.3"), nothingPublic],
  ["broadcast", has("255.255.255.255"), nothingPublic],
  ["multicast", has("224.0.0.251"), nothingPublic],
  ["a 6to4 relay", has("192.88.99.1"), nothingPublic],
  ["IPv6 loopback", has("::1"), nothingPublic],
  ["IPv4-mapped loopback", has("::ffff:127.0.0.1"), nothingPublic],
  ["IPv4-mapped and public", has("::ffff:1.1.1.1"), nothingPublic],
  ["IPv4-compatible", has("::7f00:1"), nothingPublic],
  ["NAT64", has("64:ff9b::7f00:1"), nothingPublic],
  ["NAT64, local use", has("64:ff9b:1::a00:1"), nothingPublic],
  ["6to4", has("2002:7f00:1::"), nothingPublic],
  ["Teredo", has("2001::1"), nothingPublic],
  ["link-local", has("fe80::1"), nothingPublic],
  ["documentation, new", has("3fff::1"), nothingPublic],
  ["segment routing", has("5f00::1"), nothingPublic],
  ["what is given out to nobody", has("4000::1"), nothingPublic],
  ["a public address and a private one", has("1.1.1.1", "10.0.0.1"), nothingPublic],
  ["a public address and IPv6 loopback", has("1.1.1.1", "::1"), nothingPublic],
  [
    "a private address under another name",
    () => ({ records: [{ name: "other.example.net", type: "A", data: "10.0.0.1" }] }),
    nothingPublic,
  ],
  // No addresses.
  ["nothing", has(), nothingPublic],
  ["no such name", () => ({ code: 3 }), nothingPublic],
  ["a failing server", () => ({ code: 2 }), unresolved("DNS failed (ESERVFAIL)")],
  ["a server that refuses", () => ({ code: 5 }), unresolved("DNS failed (EREFUSED)")],
  ["a server that finds the question wrong", () => ({ code: 1 }), unresolved("DNS failed (EFORMERR)")],
  ["a server that cannot do that", () => ({ code: 4 }), unresolved("DNS failed (ENOTIMP)")],
  ["an address of IPv6, and a failure for IPv4", failingFor("A", "2606:4700::1"), ["2606:4700::1"]],
  ["an address of IPv4, and a failure for IPv6", failingFor("AAAA", "1.1.1.1"), ["1.1.1.1"]],
  ["a failure for IPv4, and nothing for IPv6", failingFor("A"), unresolved("DNS failed (ESERVFAIL)")],
  ["nothing for IPv4, and a failure for IPv6", failingFor("AAAA"), unresolved("DNS failed (ESERVFAIL)")],
  // No answers.
  ["silence", () => "nothing", silent],
  ["an answer with the number of another question", () => ({ records: [], isOfAnother: true }), silent],
  ["an answer to another question", () => ({ records: [], question: "other.example.net" }), silent],
  ["garbage", () => ({ bytes: Buffer.alloc(400, 0xa5) }), badAnswer],
  ["an answer cut short", () => ({ bytes: Buffer.from("8180000100", "hex") }), badAnswer],
  ["an IPv4 address of 5 bytes", () => ({ records: [{ type: "A", data: Buffer.of(1, 1, 1, 1, 1) }] }), ["1.1.1.1"]],
  ["an IPv6 address of 4 bytes", () => ({ records: [{ type: "AAAA", data: Buffer.of(1, 1, 1, 1) }] }), badAnswer],
]

function failingFor(type: "A" | "AAAA", ...addresses: string[]): (query: DnsQuery) => DnsAnswer {
  return (query) => (query.type === type ? { code: 2 } : addressesFor(query, addresses))
}

describe("names", () => {
  test.each(cases)(
    "a name for which DNS has %s is resolved or refused as it should be",
    async (_name, answer, expected) => {
      const server = await asking(answer, expected === silent ? silenceMs : undefined)
      expect(await lookedUp(guarded(server))).toEqual(expected)
      for (const type of ["A", "AAAA"] as const) {
        expect(server.queries.filter((query) => query.type === type && query.over === "udp")).toHaveLength(1)
      }
    },
  )

  test("the DNS tests have at least 20 kinds of responses", () => {
    expect(cases.length).toBeGreaterThanOrEqual(20)
  })

  test("a name with 500 addresses is queried over TCP too", async () => {
    const server = await asking(has(...numbered(500)))
    await lookedUp(guarded(server))
    expect(server.queries.map(({ type, over }) => `${type} ${over}`).toSorted()).toEqual(["A tcp", "A udp", "AAAA udp"])
  })

  test("a name server that cannot be reached is not the endpoint's fault", async () => {
    const server = await asking(has())
    server.resolver.setServers(["127.0.0.1:9"])
    expect(await lookedUp(guarded(server))).toEqual(["local", `${hook}: DNS could not be asked (ECONNREFUSED)`])
  })

  test("a name with addresses of one family is used without a response for the other", async () => {
    const server = await asking((query) => (query.type === "A" ? addressesFor(query, ["1.1.1.1"]) : "nothing"), 9_000)
    const startedMs = performance.now()
    expect(await lookedUp(guarded(server))).toEqual(["1.1.1.1"])
    expect(performance.now() - startedMs).toBeLessThan(5_000)
  })

  test("changed name servers are queried from the next lookup on", async () => {
    const [gone, present] = [await asking(() => "nothing", silenceMs), await asking(has("1.1.1.1"))]
    const resolvers = [gone.resolver, present.resolver]
    const resolve = resolveBy(() => resolvers.shift() ?? present.resolver)
    const lookup = guardedLookup({ allowPrivate: false }, resolve)
    expect(await lookedUp(lookup)).toEqual(silent)
    expect(await lookedUp(lookup)).toEqual(["1.1.1.1"])
    expect(await lookedUp(lookup)).toEqual(["1.1.1.1"])
    expect(gone.queries).toHaveLength(2)
    expect(present.queries).toHaveLength(4)
  })

  test("a name that resolves to a public address now and a private one later is resolved once for a request", async () => {
    const server = await asking((query) => addressesFor(query, [query.earlier === 0 ? "1.1.1.1" : "127.0.0.1"]))
    const lookup = guarded(server)
    expect(await lookedUp(lookup)).toEqual(["1.1.1.1"])
    expect(server.queries.map(({ type }) => type).toSorted()).toEqual(["A", "AAAA"])
    expect(await lookedUp(lookup)).toEqual(nothingPublic)
  })
})

describe("requests by a name", () => {
  test("a request goes to the address that was checked, whatever the name resolves to a moment later", async () => {
    const dns = await asking((query) => addressesFor(query, [`127.0.0.${query.earlier + 1}`]))
    const reached: unknown[] = []
    const port = await serving(
      createServer((request, response) => {
        reached.push(request.socket.localAddress)
        response.end()
      }),
    )
    const outbound = outboundBy(dns)
    const url = `http://${hook}:${port}/`
    for (let count = 0; count < 3; count++) {
      expect(await outbound.send({ method: "POST", url, body: "{}", deadlineMs: 5_000 })).toMatchObject({
        status: 200,
      })
      // The connection is free a moment after the response's end.
      await sleep(10)
    }
    // Three requests over one connection, and one question for it.
    expect(reached).toEqual(["127.0.0.1", "127.0.0.1", "127.0.0.1"])
    expect(dns.queries.map(({ type }) => type).toSorted()).toEqual(["A", "AAAA"])
  })

  test.each([
    ["no such name", { code: 3 }, "dns"],
    ["a failing server", { code: 2 }, "dns"],
    ["nothing", { records: [] }, "dns"],
    ["a private address", { records: [{ type: "A", data: "10.0.0.1" }] }, "dns"],
  ] as const)("a request by a name for which there is %s fails as %s", async (_name, answer, outcome) => {
    const outbound = outboundBy(await asking(() => answer), false)
    expect(await outbound.send({ method: "GET", url: `https://${hook}/`, deadlineMs: 5_000 })).toMatchObject({
      kind: "failure",
      outcome,
    })
  })

  test("a request waits for DNS no longer than its deadline, and a hundred that wait delay no other", async () => {
    const dns = await asking(
      (query) => (query.name === "quick.example.com" ? addressesFor(query, ["127.0.0.1"]) : "nothing"),
      10_000,
    )
    const port = await serving(createServer((_request, response) => void response.end()))
    const outbound = outboundBy(dns)
    const send = (name: string, deadlineMs: number) =>
      outbound.send({ method: "GET", url: `http://${name}:${port}/`, deadlineMs })
    const startedMs = performance.now()
    let isOver = false
    const sent = Array.from({ length: 100 }, (_, index) => send(`slow-${index}.example.com`, 3_000))
    void Promise.race(sent).then(() => (isOver = true))
    expect(await send("quick.example.com", 20_000)).toMatchObject({ kind: "response", status: 200 })
    expect(isOver).toBe(false)
    const results = await Promise.all(sent)
    // By themselves the questions would be given up after 10 s.
    expect(performance.now() - startedMs).toBeLessThan(9_000)
    expect(new Set(results.map((result) => result.kind === "failure" && result.outcome))).toEqual(new Set(["timeout"]))
    expect(new Set(dns.queries.map(({ name }) => name)).size).toBe(101)
  })
})

function outboundBy(dns: DnsServer, allowPrivate = true): Outbound {
  const outbound = createOutbound({
    allowPrivate,
    resolve: resolveBy(() => dns.resolver),
  })
  closers.push(() => outbound.close())
  return outbound
}

/** Listens on every address of 127.0.0.0/8. */
async function serving(server: Server & { closeAllConnections?: () => void }): Promise<number> {
  server.listen(0, "0.0.0.0")
  await once(server, "listening")
  closers.push(() => {
    server.close()
    server.closeAllConnections?.()
  })
  return portOf(server)
}
