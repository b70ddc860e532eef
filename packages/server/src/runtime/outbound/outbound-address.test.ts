import type { LookupFunction } from "node:net"
import { describe, expect, test } from "vitest"
import { addressFault, guardedLookup, NameUnresolved, webhookUrlFault } from "./outbound-address.ts"

const serve = { allowPrivate: false }
const dev = { allowPrivate: true }

const long = (characters: number): string => `https://example.com/${"a".repeat(characters - 20)}`
const host = (name: string, fault: string): string => `has the host ${name}, ${fault}`
const notUrl = "is not an absolute URL such as https://example.com/webhook"
const hidden = "holds a space, a backslash, or a control or invisible character; percent-encode it"
const port = "names a port; only the default port of https is accepted, without being named"
const credentials = 'holds a user name or password (what stands before "@"); leave it out'
const fragment = 'has a fragment (what stands after "#"), which is never sent; leave it out'
const ownToken = "has a parameter crc_token of its own, which challenges need"
const notPublic = "which is not a public name"
const noName = "which cannot be a name"
const loopback = "which is a loopback address"
const privateAddress = "which is a private address"
const linkLocal = "which is a link-local address"
const reserved = "which is a reserved address"
const nat64 = "which is a NAT64 address"
const mapped = "which is an IPv4-mapped address"
const only = (scheme: string): string => `begins with ${scheme}:; only https is accepted`
const onlyBoth = (scheme: string): string => `begins with ${scheme}:; only https and http are accepted`

/** A URL, what is wrong with it for `serve`, and what is wrong with it for `dev` when that differs. */
const cases: readonly (readonly [url: string, serve: string | undefined, dev?: string])[] = [
  // Good ones.
  ["https://example.com/webhook", undefined],
  ["https://example.com", undefined],
  ["HTTPS://EXAMPLE.COM/Webhook", undefined],
  ["https://hooks.example.co.uk/a/b?key=value&x=%20", undefined],
  ["https://example.com/?", undefined],
  ["https://bücher.example.com/haken", undefined],
  ["https://例え.jp/ウェブフック", undefined],
  ["https://xn--bcher-kva.example.com/", undefined],
  ["https://1.1.1.1/webhook", undefined],
  ["https://[2606:4700:4700::1111]/webhook", undefined],
  ["https://example.com/@user", undefined],
  ["https://example.com/a:8443", undefined],
  [long(200), undefined],
  [`https://example.com/${"é".repeat(180)}`, undefined],
  [`https://example.com/${"😀".repeat(180)}`, undefined],
  // Too long, counted in characters.
  [long(201), "is 201 characters long; at most 200 are allowed"],
  [long(100_000), "is 100000 characters long; at most 200 are allowed"],
  [`https://example.com/${"😀".repeat(181)}`, "is 201 characters long; at most 200 are allowed"],
  // Not a URL, or not an absolute one.
  ["", notUrl],
  ["webhook", notUrl],
  ["/webhook", notUrl],
  ["//example.com/webhook", notUrl],
  ["example.com/webhook", notUrl],
  ["https:example.com", notUrl],
  ["https:/example.com", notUrl],
  ["https://", notUrl],
  ["https:///webhook", notUrl],
  ["https://?a", notUrl],
  ["https://256.1.1.1/", notUrl],
  ["https://1.2.3.4.5/", notUrl],
  ["https://[::1", notUrl],
  ["https://[fe80::1%25eth0]/", notUrl],
  ["https://example.com:99999/", notUrl],
  ["https://exa mple.com/", hidden],
  [" https://example.com/", hidden],
  ["https://example.com/\n", hidden],
  ["https://example.com/\0", hidden],
  ["https://example.com\\@127.0.0.1/", hidden],
  ["https://example\u200b.com/", hidden],
  ["https://example.com/\u202egnp.exe", hidden],
  ["https://exa\u00admple.com/", hidden],
  ["https://example.com/\ud800", "holds half a character (a lone surrogate)"],
  // Schemes.
  ["http://example.com/webhook", only("http"), "fine"],
  ["file:///etc/passwd", notUrl],
  ["file://example.com/etc/passwd", only("file"), onlyBoth("file")],
  ["ftp://example.com/", only("ftp"), onlyBoth("ftp")],
  ["gopher://example.com/", only("gopher"), onlyBoth("gopher")],
  ["javascript://example.com/%0aalert(1)", only("javascript"), onlyBoth("javascript")],
  ["wss://example.com/", only("wss"), onlyBoth("wss")],
  ["data:text/plain,hello", notUrl],
  ["javascript:alert(1)", notUrl],
  // Credentials, ports, fragments, a token.
  ["https://user:pass@example.com/", credentials],
  ["https://user@example.com/", credentials],
  ["https://@example.com/", credentials],
  ["https://example.com@127.0.0.1/", credentials],
  ["https://example.com:8443/", port, "fine"],
  ["https://example.com:443/", port, "fine"],
  ["https://example.com:/", port, "fine"],
  ["https://example.com:0/", port, "fine"],
  ["https://[2606:4700:4700::1111]:443/", port, "fine"],
  ["https://example.com/#part", fragment],
  ["https://example.com/#", fragment],
  ["https://example.com/?crc_token=x", ownToken],
  ["https://example.com/?a=b&crc_token", ownToken],
  // Names that are not public.
  ["https://localhost/", host("localhost", notPublic), "fine"],
  ["https://LOCALHOST/", host("localhost", notPublic), "fine"],
  ["https://foo.localhost/", host("foo.localhost", notPublic), "fine"],
  ["https://intranet/", host("intranet", notPublic), "fine"],
  ["https://printer.local/", host("printer.local", notPublic), "fine"],
  ["https://metadata.google.internal/", host("metadata.google.internal", notPublic), "fine"],
  ["https://router.home.arpa/", host("router.home.arpa", notPublic), "fine"],
  ["https://hook.test/", host("hook.test", notPublic), "fine"],
  ["https://hidden.onion/", host("hidden.onion", notPublic), "fine"],
  ["https://example.com./", host("example.com.", noName)],
  ["https://localhost./", host("localhost.", noName)],
  ["https://example..com/", host("example..com", noName)],
  [`https://${"a".repeat(64)}.com/`, host(`${"a".repeat(64)}.com`, noName)],
  // Addresses in all their spellings.
  ["https://127.0.0.1/", host("127.0.0.1", loopback), "fine"],
  ["https://127.0.0.1./", host("127.0.0.1", loopback), "fine"],
  ["https://127.255.255.254/", host("127.255.255.254", loopback), "fine"],
  ["https://0x7f.1/", host("127.0.0.1", loopback), "fine"],
  ["https://0177.0.0.01/", host("127.0.0.1", loopback), "fine"],
  ["https://2130706433/", host("127.0.0.1", loopback), "fine"],
  ["https://0x7f000001/", host("127.0.0.1", loopback), "fine"],
  ["https://127.1/", host("127.0.0.1", loopback), "fine"],
  ["https://①②⑦.0.0.1/", host("127.0.0.1", loopback), "fine"],
  ["https://127。0。0。1/", host("127.0.0.1", loopback), "fine"],
  ["https://%31%32%37.0.0.1/", host("127.0.0.1", loopback), "fine"],
  ["https://127%2e0%2e0%2e1/", host("127.0.0.1", loopback), "fine"],
  ["https://0.0.0.0/", host("0.0.0.0", "which is an unspecified address"), "fine"],
  ["https://0/", host("0.0.0.0", "which is an unspecified address"), "fine"],
  ["https://10.1.2.3/", host("10.1.2.3", privateAddress), "fine"],
  ["https://172.16.0.1/", host("172.16.0.1", privateAddress), "fine"],
  ["https://172.31.255.255/", host("172.31.255.255", privateAddress), "fine"],
  ["https://192.168.1.1/", host("192.168.1.1", privateAddress), "fine"],
  ["https://100.64.0.1/", host("100.64.0.1", "which is a carrier-grade NAT address"), "fine"],
  ["https://100.100.100.200/", host("100.100.100.200", "which is a carrier-grade NAT address"), "fine"],
  ["https://169.254.169.254/latest/", host("169.254.169.254", linkLocal), "fine"],
  ["https://168.63.129.16/", host("168.63.129.16", "which is a cloud's metadata address"), "fine"],
  ["https://192.0.0.192/", host("192.0.0.192", reserved), "fine"],
  ["https://192.0.2.1/", host("192.0.2.1", reserved), "fine"],
  ["https://198.18.0.1/", host("198.18.0.1", reserved), "fine"],
  ["https://198.51.100.1/", host("198.51.100.1", reserved), "fine"],
  ["https://203.0.113.1/", host("203.0.113.1", reserved), "fine"],
  ["https://224.0.0.1/", host("224.0.0.1", "which is a multicast address"), "fine"],
  ["https://240.0.0.1/", host("240.0.0.1", reserved), "fine"],
  ["https://255.255.255.255/", host("255.255.255.255", "which is a broadcast address"), "fine"],
  ["https://[::1]/", host("[::1]", loopback), "fine"],
  ["https://[::]/", host("[::]", "which is an unspecified address"), "fine"],
  ["https://[::ffff:127.0.0.1]/", host("[::ffff:7f00:1]", mapped), "fine"],
  ["https://[::ffff:1.1.1.1]/", host("[::ffff:101:101]", mapped), "fine"],
  ["https://[::127.0.0.1]/", host("[::7f00:1]", reserved), "fine"],
  ["https://[64:ff9b::7f00:1]/", host("[64:ff9b::7f00:1]", nat64), "fine"],
  ["https://[64:ff9b:1::7f00:1]/", host("[64:ff9b:1::7f00:1]", nat64), "fine"],
  ["https://[2002:7f00:1::]/", host("[2002:7f00:1::]", "which is a 6to4 address"), "fine"],
  ["https://[2001::1]/", host("[2001::1]", "which is a Teredo address"), "fine"],
  ["https://[fe80::1]/", host("[fe80::1]", linkLocal), "fine"],
  ["https://[fec0::1]/", host("[fec0::1]", "which is a site-local address"), "fine"],
  ["https://[fd00:ec2::254]/", host("[fd00:ec2::254]", "which is a unique local address"), "fine"],
  ["https://[fc00::1]/", host("[fc00::1]", "which is a unique local address"), "fine"],
  ["https://[ff02::1]/", host("[ff02::1]", "which is a multicast address"), "fine"],
  ["https://[2001:db8::1]/", host("[2001:db8::1]", reserved), "fine"],
  ["https://[4000::1]/", host("[4000::1]", reserved), "fine"],
  ["https://[::ffff:0:127.0.0.1]/", host("[::ffff:0:7f00:1]", "which is an IPv4-translated address"), "fine"],
]

describe("a webhook's URL", () => {
  test.each(cases.map((row) => [row[0].slice(0, 60), row] as const))(
    "a webhook's URL %j is accepted or refused with its reason",
    (_name, row) => {
      const [url, inServe, inDev = inServe] = row
      expect(webhookUrlFault(url, serve)).toBe(inServe)
      expect(webhookUrlFault(url, dev)).toBe(inDev === "fine" ? undefined : inDev)
    },
  )

  test("the address tests have at least 70 cases", () => {
    expect(cases.length).toBeGreaterThanOrEqual(70)
  })
})

/** Returns the addresses that the guarded look-up passes to a connection, or why it passes none. */
async function lookedUp(lookup: LookupFunction, name = "hook.example.com"): Promise<string[] | string> {
  return new Promise((resolve) => {
    lookup(name, { all: true }, (error, addresses) => {
      if (error !== null) resolve(error.message)
      else if (Array.isArray(addresses)) resolve(addresses.map(({ address }) => address))
    })
  })
}

function answering(...addresses: string[]): LookupFunction {
  const records = addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }))
  return guardedLookup(serve, () => Promise.resolve(records))
}

const numbered = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `1.${index >> 8}.${index & 255}.1`)

/** The message for every name without public addresses, for any reason. */
const nothingPublic = "hook.example.com has no public address"

/** Answers of DNS, and what a connection is made to. */
const dnsCases: readonly (readonly [name: string, answer: readonly string[], expected: string[] | string])[] = [
  ["one public address", ["1.1.1.1"], ["1.1.1.1"]],
  ["one public IPv6 address", ["2606:4700::1"], ["2606:4700::1"]],
  ["both families", ["1.1.1.1", "2606:4700::1"], ["1.1.1.1", "2606:4700::1"]],
  ["none", [], nothingPublic],
  ["500 public ones: the first 8 are tried", numbered(500), numbered(8)],
  ["500, the last of them private", [...numbered(499), "10.0.0.1"], nothingPublic],
  ["loopback", ["127.0.0.1"], nothingPublic],
  ["private 10/8", ["10.0.0.1"], nothingPublic],
  ["private 172.16/12", ["172.20.0.1"], nothingPublic],
  ["private 192.168/16", ["192.168.0.1"], nothingPublic],
  ["cloud metadata", ["169.254.169.254"], nothingPublic],
  ["Azure's", ["168.63.129.16"], nothingPublic],
  ["CGNAT", ["100.64.1.1"], nothingPublic],
  ["unspecified", ["0.0.0.0"], nothingPublic],
  ["multicast", ["239.1.1.1"], nothingPublic],
  ["IPv6 loopback", ["::1"], nothingPublic],
  ["IPv4-mapped", ["::ffff:10.0.0.1"], nothingPublic],
  ["IPv4-compatible", ["::a00:1"], nothingPublic],
  ["NAT64 of a public one", ["64:ff9b::101:101"], nothingPublic],
  ["local NAT64", ["64:ff9b:1::a00:1"], nothingPublic],
  ["6to4", ["2002:a00:1::1"], nothingPublic],
  ["unique local", ["fd12::1"], nothingPublic],
  ["link-local with a zone", ["fe80::1%eth0"], nothingPublic],
  ["mixed, private last", ["1.1.1.1", "10.0.0.1"], nothingPublic],
  ["mixed, private first", ["10.0.0.1", "1.1.1.1"], nothingPublic],
  ["mixed families", ["1.1.1.1", "::1"], nothingPublic],
  ["something else", ["not an address"], nothingPublic],
]

describe("DNS", () => {
  test.each(dnsCases)("a name that resolves to %s", async (_name, answer, expected) => {
    expect(await lookedUp(answering(...answer))).toEqual(expected)
  })

  test("a name with private addresses is accepted by dev", async () => {
    const lookup = guardedLookup(dev, () => Promise.resolve([{ address: "127.0.0.1", family: 4 }]))
    expect(await lookedUp(lookup)).toEqual(["127.0.0.1"])
  })

  test("a name with a public address first and a private one later is checked each time, and resolved once for each", async () => {
    const answers = ["1.1.1.1", "127.0.0.1"]
    let lookups = 0
    const lookup = guardedLookup(serve, () => {
      lookups += 1
      return Promise.resolve([{ address: answers.shift() ?? "", family: 4 }])
    })
    expect(await lookedUp(lookup)).toEqual(["1.1.1.1"])
    expect(lookups).toBe(1)
    expect(await lookedUp(lookup)).toBe(nothingPublic)
    expect(lookups).toBe(2)
  })

  test("a name for which DNS fails is refused with the name and only the code of the DNS error", async () => {
    const error = Object.assign(new Error("whatever"), { code: "ESERVFAIL" })
    const failing = guardedLookup(serve, () => Promise.reject(error))
    expect(await lookedUp(failing)).toBe("hook.example.com: DNS failed (ESERVFAIL)")
    const failingSomehow = guardedLookup(serve, () => Promise.reject(new Error("whatever")))
    expect(await lookedUp(failingSomehow)).toBe("hook.example.com: DNS failed")
  })

  test("a refused address and a missing one are reported in the same words, as the same kind of failure", async () => {
    const missing = guardedLookup(serve, () => Promise.reject(Object.assign(new Error("no"), { code: "ENOTFOUND" })))
    const errors = await Promise.all(
      [answering("10.0.0.1"), answering("1.1.1.1", "10.0.0.1"), answering(), missing].map(
        (lookup) => new Promise((resolve) => lookup("hook.example.com", { all: true }, resolve)),
      ),
    )
    for (const error of errors) {
      expect(error).toBeInstanceOf(NameUnresolved)
      expect(error).toMatchObject({ message: nothingPublic, isLocal: false })
    }
  })

  test("the first address is returned when only one is requested", async () => {
    const seen = await new Promise((resolve) => {
      answering("1.1.1.1", "1.0.0.1")("hook.example.com", {}, (_error, address, family) => {
        resolve([address, family])
      })
    })
    expect(seen).toEqual(["1.1.1.1", 4])
  })
})

test.each(["8.8.8.8", "172.15.255.255", "172.32.0.0", "100.63.255.255", "100.128.0.0", "2a00:1450:4001::1"])(
  "%s is a public address",
  (address) => {
    expect(addressFault(address)).toBeUndefined()
  },
)
