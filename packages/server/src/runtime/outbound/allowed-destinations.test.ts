import fc from "fast-check"
import { expect, test } from "vitest"
import { parseAllowedDestinations } from "./allowed-destinations.ts"

/** An entry, what it allows, and what it does not. */
const cases: readonly (readonly [entry: string, allowed: readonly string[], refused: readonly string[]])[] = [
  ["10.0.0.0/8", ["10.0.0.1:80", "10.255.255.255:65535"], ["11.0.0.1:80", "::ffff:10.0.0.1 80", "ten:80"]],
  ["10.1.2.3", ["10.1.2.3:1"], ["10.1.2.4:1"]],
  ["10.1.2.3:8080", ["10.1.2.3:8080"], ["10.1.2.3:8081", "10.1.2.3:80"]],
  ["10.0.0.0/8:8000-8001", ["10.9.9.9:8000", "10.9.9.9:8001"], ["10.9.9.9:7999", "10.9.9.9:8002"]],
  ["fd12::/16", ["fd12::1 443"], ["fd13::1 443", "10.0.0.1:443"]],
  ["fd12::1", ["fd12::1 9"], ["fd12::2 9"]],
  ["[fd12::/16]:8080", ["fd12:3::4 8080"], ["fd12:3::4 8081"]],
  ["[fd12::1]", ["fd12::1 1"], ["fd12::2 1"]],
  ["receiver", ["receiver:80"], ["receiver.lan:80", "a.receiver:80"]],
  ["Hooks.LAN:8080", ["hooks.lan:8080"], ["hooks.lan:80", "xhooks.lan:8080"]],
  ["bücher.example", ["xn--bcher-kva.example:443"], ["b.example:443"]],
  ["*.lan", ["a.lan:1", "a.b.lan:1"], ["lan:1", "alan:1", "a.lan.com:1", ".lan:1"]],
  [".lan:443", ["a.lan:443"], ["a.lan:80", "lan:443"]],
  ["a_b.lan", ["a_b.lan:1"], ["a-b.lan:1"]],
  ["10.0.0.0/8, hooks.lan:1", ["10.0.0.1:7", "hooks.lan:1"], ["hooks.lan:2"]],
  ["0.0.0.0/0", ["127.0.0.1:1", "169.254.169.254:80"], ["::1 1"]],
]

test.each(cases)("the entry %s allows what it names, on its ports, and nothing else", (text, allowed, refused) => {
  const destinations = parseAllowedDestinations(text)
  const allows = (destination: string): boolean => {
    const [, host = "", port] = /^(.*)[: ](\d+)$/.exec(destination) ?? []
    return destinations.allowsAddress(host, Number(port)) || destinations.allowsName(host, Number(port))
  }
  expect(allowed.filter((one) => !allows(one))).toEqual([])
  expect(refused.filter(allows)).toEqual([])
  expect(String(destinations)).toBe(text)
})

test.each([
  ["", "has an empty entry. Separate entries by one comma"],
  ["10.0.0.0/8,,hooks.lan", "has an empty entry."],
  ["http://hooks.lan", 'has the entry "http://hooks.lan", which is a URL. Name the host and the port only'],
  ["hooks.lan/path", 'has the entry "hooks.lan/path", which is neither an address nor a network'],
  ["*", 'has the entry "*", which would allow everything.'],
  ["*:80", "which would allow everything."],
  ["a.*.lan", "whose * does not stand for a whole first part. Write it as in *.example.com."],
  ["*lan", "whose * does not stand for a whole first part."],
  ["hooks.lan:", "whose port is none. Write a port from 1 to 65535, or a range such as 8000-8999"],
  ["hooks.lan:0", "whose port is none."],
  ["hooks.lan:65536", "whose port is none."],
  ["hooks.lan:9-8", "whose port is none."],
  ["hooks.lan:http", "whose port is none."],
  ["10.0.0.5/8", "whose address goes beyond its network. Write 10.0.0.0/8, or 10.0.0.5 for it alone."],
  ["fd12::1/16", "whose address goes beyond its network. Write fd12::/16, or fd12::1 for it alone."],
  ["10.0.0.0/33", "whose length of the network is none. Write a whole number from 0 to 32 after the /."],
  ["10.0.0.0/", "whose length of the network is none."],
  ["fd12::/129", "from 0 to 128 after the /."],
  ["10.0.0.0/8/8", "which is neither an address nor a network"],
  ["0x7f.1", "which is another spelling of 127.0.0.1. Write that."],
  ["127.1", "which is another spelling of 127.0.0.1."],
  ["2130706433", "which is another spelling of 127.0.0.1."],
  ["[10.0.0.1]:80", "which is no host. An IPv6 address with a port stands in brackets"],
  ["[fd12::1", "which is no host."],
  ["fd12::1:8080:x", "which is no host."],
  ["fe80::1%eth0", "which has a zone."],
  ["hooks..lan", "which is neither a name nor an address."],
  ["hooks.lan.", "which is neither a name nor an address."],
  ["user@hooks.lan", "which is neither a name nor an address."],
  ["a b", "which is neither a name nor an address."],
  ["hooks.lan?x", 'has the entry "hooks.lan?x", which is neither a name nor an address.'],
  ["hooks.lan#x", "which is neither a name nor an address."],
  ["hooks.lan\\x", "which is neither a name nor an address."],
  ["hooks\n.lan", String.raw`has the entry "hooks\n.lan", which is neither a name nor an address.`],
  ["10.0.0.0/8\nhooks.lan", "whose length of the network is none."],
  ["*.xn--", "which is neither a name nor an address."],
  ["a.xn--.lan", "which is neither a name nor an address."],
  ["xn--a\u00e4.lan", "which is neither a name nor an address."],
  [`${"a".repeat(64)}.lan`, "which is neither a name nor an address."],
])("the entry %j is refused with the correct form", (text, message) => {
  expect(() => parseAllowedDestinations(text)).toThrow(message)
})

const octet = fc.integer({ min: 0, max: 255 })

test("a network holds exactly the addresses that begin with its bits", () => {
  const addresses = fc.array(octet, { minLength: 4, maxLength: 4 })
  fc.assert(
    fc.property(addresses, addresses, fc.integer({ min: 0, max: 32 }), (base, address, bits) => {
      const binary = (octets: readonly number[]): string =>
        octets.map((one) => one.toString(2).padStart(8, "0")).join("")
      const first = binary(base).slice(0, bits).padEnd(32, "0")
      const network = [0, 8, 16, 24].map((at) => Number.parseInt(first.slice(at, at + 8), 2)).join(".")
      // Half of the addresses begin as the network does.
      const near = address.map((one, index) => (index < bits / 16 ? (base[index] ?? one) : one))
      const destinations = parseAllowedDestinations(`${network}/${bits}`)
      for (const one of [address, near])
        expect(destinations.allowsAddress(one.join("."), 1)).toBe(binary(one).startsWith(first.slice(0, bits)))
    }),
  )
})

test("any text is parsed or refused with a reason", () => {
  const piece = fc.constantFrom(
    "10.0.0.0",
    "/8",
    ":80",
    "[",
    "]",
    "fd12::",
    "*",
    ".",
    "lan",
    ",",
    "-",
    " ",
    "://",
    "%",
    "é",
  )
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join("")),
      ),
      (text) => {
        try {
          expect(parseAllowedDestinations(String(parseAllowedDestinations(text)))).toEqual(
            parseAllowedDestinations(text),
          )
        } catch (error) {
          expect(error).toMatchObject({ name: "Error", message: /^has (an empty entry\.|the entry ".*", wh)/s })
        }
      },
    ),
  )
})
