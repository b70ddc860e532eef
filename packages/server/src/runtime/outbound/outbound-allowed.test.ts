import fc from "fast-check"
import { expect, test } from "vitest"
import { parseAllowedDestinations } from "./allowed-destinations.ts"
import { createOutbound } from "./outbound.ts"
import {
  addressFault,
  connectionFault,
  guardedLookup,
  outboundPostureOf,
  webhookUrlFault,
  type OutboundPosture,
} from "./outbound-address.ts"
import { listening } from "../../../../../test/support/listening.testing.ts"

const serve: OutboundPosture = { allowPrivate: false }
const allowing = (text: string): OutboundPosture =>
  outboundPostureOf({ posture: "serve", webhookAllow: parseAllowedDestinations(text) })

/** Returns the addresses passed to a connection to a name that resolves to `addresses`, or why none are. */
function reached(posture: OutboundPosture, name: string, port: number, addresses: readonly string[]): Promise<unknown> {
  const records = addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }))
  const lookup = guardedLookup(posture, () => Promise.resolve(records), port)
  return new Promise((resolve) =>
    lookup(name, { all: true }, (error, found) => {
      if (error !== null) resolve(error.message)
      else if (Array.isArray(found)) resolve(found.map(({ address }) => address))
    }),
  )
}

test("an allowed address is accepted over http and on its ports, and no other", () => {
  const posture = allowing("10.0.0.0/8:8080, 127.0.0.1:80, [fd12::/16]:443")
  for (const url of ["http://10.1.2.3:8080/", "https://10.1.2.3:8080/", "http://127.0.0.1/", "https://[fd12::1]:443/"])
    expect(webhookUrlFault(url, posture), url).toBeUndefined()
  expect(webhookUrlFault("http://10.1.2.3/", posture)).toBe("begins with http:; only https is accepted")
  expect(webhookUrlFault("https://10.1.2.3/", posture)).toBe("has the host 10.1.2.3, which is a private address")
  expect(webhookUrlFault("https://10.1.2.3:8081/", posture)).toContain("names a port;")
  expect(webhookUrlFault("http://127.0.0.2/", posture)).toContain("only https")
  expect(webhookUrlFault("http://1.1.1.1:8080/", posture)).toContain("only https")
  expect(webhookUrlFault("http://user@10.1.2.3:8080/", posture)).toContain("user name or password")
  expect(webhookUrlFault("ftp://10.1.2.3:8080/", posture)).toContain("begins with ftp:")
})

test("an allowed name is accepted over http and on its ports, and no other", () => {
  const posture = allowing("receiver:8080, *.lan, localhost")
  for (const url of ["http://receiver:8080/", "https://a.lan/", "http://a.b.lan:1/", "http://LOCALHOST:9/"])
    expect(webhookUrlFault(url, posture), url).toBeUndefined()
  expect(webhookUrlFault("https://receiver/", posture)).toBe("has the host receiver, which is not a public name")
  expect(webhookUrlFault("http://lan:1/", posture)).toContain("only https")
  expect(webhookUrlFault("https://evil.com/?a.lan", posture)).toBeUndefined()
  expect(webhookUrlFault("http://a.lan.evil.com/", posture)).toContain("only https")
})

test("an allowed name may have private addresses, but not a metadata service's or an unusable one", async () => {
  const posture = allowing("hooks.lan:8080")
  for (const address of [
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "127.0.0.1",
    "100.64.0.1",
    "::1",
    "fd12::1",
    "1.1.1.1",
  ])
    expect(await reached(posture, "hooks.lan", 8080, [address])).toEqual([address])
  const never = ["169.254.169.254", "168.63.129.16", "100.100.100.200", "fd00:ec2::254", "fd20:ce::254", "fe80::1"]
  for (const address of [
    ...never,
    "0.0.0.0",
    "::",
    "224.0.0.1",
    "255.255.255.255",
    "::ffff:10.0.0.1",
    "240.0.0.1",
    "x",
  ]) {
    expect(await reached(posture, "hooks.lan", 8080, [address]), address).toBe("hooks.lan has no allowed address")
    expect(await reached(posture, "hooks.lan", 8080, ["10.0.0.1", address])).toBe("hooks.lan has no allowed address")
  }
  expect(await reached(posture, "hooks.lan", 443, ["10.0.0.1"])).toBe("hooks.lan has no public address")
  expect(await reached(posture, "other.lan", 8080, ["10.0.0.1"])).toBe("other.lan has no public address")
})

test("an allowed network accepts names that resolve into it alone, on its ports", async () => {
  const posture = allowing("10.0.0.0/8:443, 169.254.169.254")
  expect(await reached(posture, "hook.example.com", 443, ["10.0.0.1", "1.1.1.1"])).toEqual(["10.0.0.1", "1.1.1.1"])
  expect(await reached(posture, "hook.example.com", 443, ["10.0.0.1", "192.168.0.1"])).toBe(
    "hook.example.com has no public address",
  )
  expect(await reached(posture, "hook.example.com", 80, ["10.0.0.1"])).toBe("hook.example.com has no public address")
  expect(await reached(posture, "hook.example.com", 80, ["169.254.169.254"])).toEqual(["169.254.169.254"])
  // Over http or on another port it is the URL that must name what is allowed.
  expect(webhookUrlFault("http://hook.example.com/", posture)).toContain("only https")
})

const addresses = fc.oneof(
  fc.ipV4(),
  fc.ipV6(),
  fc.constantFrom("10.0.0.1", "10.0.0.2", "192.168.0.1", "127.0.0.1", "169.254.169.254", "fd12::1", "::1", "1.1.1.1"),
)
const names = fc.constantFrom("a.lan", "b.a.lan", "lan", "localhost", "receiver", "hook.example.com", "evil.com")
const ports = fc.constantFrom(80, 443, 8080)
const entries = fc.tuple(
  fc.oneof(
    names.map((name) => ({ text: name, name })),
    names.map((name) => ({ text: `*.${name}`, below: `.${name}` })),
    addresses.map((address) => ({ text: address.includes(":") ? `[${address}]` : address, address })),
  ),
  fc.option(ports, { nil: undefined }),
)

/** The same for all spellings of an address. */
const spelled = (address: string): string =>
  new URL(`http://${address.includes(":") ? `[${address}]` : address}/`).hostname

test("a URL and a connection reach exactly what is allowed, and all else is guarded as by default", async () => {
  const property = fc.asyncProperty(
    fc.array(entries, { minLength: 1, maxLength: 4 }),
    fc.oneof(addresses, names),
    fc.constantFrom("http", "https"),
    ports,
    fc.array(addresses, { minLength: 1, maxLength: 3 }),
    async (allowed, host, scheme, port, resolved) => {
      const posture = allowing(
        allowed.map(([{ text }, only]) => (only === undefined ? text : `${text}:${only}`)).join(","),
      )
      const open = allowed.filter(([, only]) => only === undefined || only === port).map(([entry]) => entry)
      const isAddressOpen = (address: string): boolean =>
        open.some((entry) => "address" in entry && spelled(entry.address) === spelled(address))
      const isNameOpen = (name: string): boolean =>
        open.some(
          (entry) => ("name" in entry && entry.name === name) || ("below" in entry && name.endsWith(entry.below)),
        )

      const isAddress = /[:\d]$/.test(host) || host.includes(":")
      const url = `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}/`
      const isOpen = isAddress ? isAddressOpen(host) : isNameOpen(host)
      expect(webhookUrlFault(url, posture)).toBe(isOpen ? undefined : webhookUrlFault(url, serve))

      if (isAddress) {
        expect(connectionFault(host, port, posture)).toBe(isOpen ? undefined : addressFault(host))
        return
      }
      const others = resolved.filter((address) => !isAddressOpen(address))
      const found = await reached(posture, host, port, resolved)
      if (others.length === 0) expect(found).toEqual(resolved)
      else if (!isNameOpen(host) && others.length === resolved.length)
        expect(found).toEqual(await reached(serve, host, port, resolved))
      else if (others.some((address) => /^(169\.254\.|22[4-9]\.|2[345]\d\.|0\.)/.test(address)))
        expect(found).toBeTypeOf("string")
    },
  )
  await fc.assert(property, { numRuns: 500 })
})

test("a request reaches an allowed receiver on this machine by address and by name, is not redirected, and no other port is reached", async () => {
  const paths: unknown[] = []
  await using server = await listening((request, response) => {
    paths.push(request.url)
    if (request.url === "/away") response.writeHead(302, { location: "/elsewhere" })
    response.end()
  })
  const port = Number(new URL(server.url).port)
  const outbound = createOutbound(allowing(`127.0.0.1:${port}, localhost:${port}`))
  const send = (url: string) => outbound.send({ method: "POST", url, body: "{}", deadlineMs: 20_000 })
  try {
    expect(await send(`http://127.0.0.1:${port}/address`)).toMatchObject({ kind: "response", status: 200 })
    expect(await send(`http://localhost:${port}/name`)).toMatchObject({ kind: "response", status: 200 })
    expect(await send(`http://127.0.0.1:${port}/away`)).toMatchObject({ kind: "response", status: 302 })
    const blocked = { kind: "failure", outcome: "blocked_address" }
    expect(await send(`http://127.0.0.1:${port + 1}/`)).toMatchObject(blocked)
    expect(await send(`http://[::1]:${port}/`)).toMatchObject(blocked)
    expect(paths).toEqual(["/address", "/name", "/away"])
  } finally {
    await outbound.close()
  }
})
