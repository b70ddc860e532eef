/**
 * Destinations that are not public and that the operator allows to webhooks: networks, names and ports.
 *
 *     10.0.0.0/8                    every address of a network, on every port
 *     10.1.2.3:8080                 one address, on one port
 *     [fd12::/16]:8000-8999         a network of IPv6, on a range of ports
 *     receiver.example.com:8443     a name
 *     *.svc.cluster.local           every name below one, at any depth; `.svc.cluster.local` is the same
 *
 * A network says which addresses may be connected to, a name which names may be resolved to addresses that are not
 * public. `outbound-address.ts` applies both to URLs and to connections.
 */
import { isIP } from "node:net"
import { domainToASCII, domainToUnicode } from "node:url"
import ipaddr from "ipaddr.js"

/** Ports from the first to the last, both included. */
type Ports = readonly [first: number, last: number]

type Network = readonly [ipaddr.IPv4 | ipaddr.IPv6, number]

type Entry = { readonly text: string; readonly ports: Ports } & (
  | { readonly kind: "network"; readonly network: Network }
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "names-below"; readonly suffix: string }
)

/** The destinations that an operator allows. */
export class AllowedDestinations {
  readonly #entries: readonly Entry[]

  constructor(entries: readonly Entry[]) {
    this.#entries = entries
  }

  /** Whether an address lies in an allowed network, on this port. An IPv4-mapped address is one of IPv6. */
  allowsAddress(address: string, port: number): boolean {
    if (isIP(address) === 0) return false
    const parsed = ipaddr.parse(address)
    return this.#entries.some(
      (entry) => entry.kind === "network" && isWithin(port, entry.ports) && isPartOf(parsed, entry.network),
    )
  }

  /** Whether a name, in lower case as in a parsed URL, is allowed on this port. */
  allowsName(name: string, port: number): boolean {
    return this.#entries.some((entry) => {
      if (!isWithin(port, entry.ports)) return false
      if (entry.kind === "name") return entry.name === name
      return entry.kind === "names-below" && name.endsWith(entry.suffix) && name.length > entry.suffix.length
    })
  }

  /** The entries as they would be written, for the operator. */
  toString(): string {
    return this.#entries.map(({ text }) => text).join(", ")
  }
}

function isWithin(port: number, [first, last]: Ports): boolean {
  return port >= first && port <= last
}

function isPartOf(address: ipaddr.IPv4 | ipaddr.IPv6, [base, bits]: Network): boolean {
  if (address instanceof ipaddr.IPv4) return base instanceof ipaddr.IPv4 && address.match(base, bits)
  return base instanceof ipaddr.IPv6 && address.match(base, bits)
}

/** Parses entries with commas between them. Throws an `Error` whose message goes on after the name of a setting. */
export function parseAllowedDestinations(text: string): AllowedDestinations {
  return new AllowedDestinations(
    text.split(",").map((part) => {
      const entry = part.trim()
      if (entry === "")
        throw new Error("has an empty entry. Separate entries by one comma, such as 10.0.0.0/8, hooks.lan")
      const parsed = parseEntry(entry)
      if (typeof parsed === "string") throw new Error(`has the entry ${JSON.stringify(entry)}, ${parsed}.`)
      return parsed
    }),
  )
}

/** The entry, or what is wrong with it as the end of a sentence. */
function parseEntry(text: string): Entry | string {
  if (text.includes("://")) return "which is a URL. Name the host and the port only, such as hooks.lan:8080"
  const { host, portText } = partsOf(text)
  if (host === undefined)
    return "which is no host. An IPv6 address with a port stands in brackets, such as [fd12::1]:8080"
  const ports = portText === undefined ? allPorts : parsePorts(portText)
  if (ports === undefined) {
    return "whose port is none. Write a port from 1 to 65535, or a range such as 8000-8999, or leave it out for all"
  }
  const destination = parseHost(host)
  return typeof destination === "string" ? destination : { ...destination, ports, text }
}

const allPorts: Ports = [1, 65_535]

/** The host and what stands for ports. An IPv6 address without brackets has no port. */
function partsOf(text: string): { readonly host?: string; readonly portText?: string | undefined } {
  const bracketed = /^\[([^\]]+)\](?::(.*))?$/.exec(text)
  if (bracketed?.[1] !== undefined) {
    const [, host, portText] = bracketed
    return isIP(host.split("/", 1)[0] ?? "") === 6 ? { host, portText } : {}
  }
  if (isIP(text.split("/", 1)[0] ?? "") === 6) return { host: text }
  const [, host, portText] = /^([^:[\]]+)(?::([^:]*))?$/.exec(text) ?? []
  return host === undefined ? {} : { host, portText }
}

function parsePorts(text: string): Ports | undefined {
  const [, first, last = first] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(text) ?? []
  const ports: Ports = [Number(first ?? 0), Number(last ?? 0)]
  return ports[0] >= 1 && ports[0] <= ports[1] && ports[1] <= 65_535 ? ports : undefined
}

type Destination =
  | { readonly kind: "network"; readonly network: Network }
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "names-below"; readonly suffix: string }

function parseHost(host: string): Destination | string {
  const [address = "", bits, ...more] = host.split("/")
  const family = isIP(address)
  if (family !== 0 && more.length === 0) return parseNetwork(address, bits, family === 4 ? 32 : 128)
  if (bits !== undefined) return "which is neither an address nor a network such as 10.0.0.0/8"
  if (host === "*") return "which would allow everything. Name what may be reached, such as *.lan or 10.0.0.0/8"
  const below = /^(?:\*\.|\.)(.+)$/.exec(host)?.[1]
  const name = nameOf(below ?? host)
  if (name === undefined) {
    return (below ?? host).includes("*")
      ? "whose * does not stand for a whole first part. Write it as in *.example.com"
      : "which is neither a name nor an address"
  }
  if (isIP(name) !== 0) return `which is another spelling of ${name}. Write that`
  return below === undefined ? { kind: "name", name } : { kind: "names-below", suffix: `.${name}` }
}

/** A name as it stands in a parsed URL: in lower case, in ASCII. */
function nameOf(text: string): string | undefined {
  // `domainToASCII` parses a URL's host: it drops line breaks, and ends at a ?, a # or a slash.
  if (!/^[\p{L}\p{M}\p{N}._-]+$/u.test(text)) return undefined
  const name = domainToASCII(text)
  const isName = name.length <= 253 && /^[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*$/.test(name)
  // Punycode that stands for no text, such as a bare xn--, is a name that no URL can have.
  return isName && !/(?:^|\.)xn--(?:\.|$)/.test(name) && domainToUnicode(name) !== "" ? name : undefined
}

function parseNetwork(address: string, bitsText: string | undefined, bitsMax: number): Destination | string {
  if (address.includes("%")) return "which has a zone. Leave out what begins with %"
  const bits = bitsText === undefined ? bitsMax : /^\d{1,3}$/.test(bitsText) ? Number(bitsText) : bitsMax + 1
  if (bits > bitsMax)
    return `whose length of the network is none. Write a whole number from 0 to ${bitsMax} after the /`
  const first = networkAddress(address, bits)
  if (ipaddr.parse(address).toString() !== first.toString()) {
    return `whose address goes beyond its network. Write ${first.toString()}/${bits}, or ${address} for it alone`
  }
  return { kind: "network", network: [first, bits] }
}

function networkAddress(address: string, bits: number): ipaddr.IPv4 | ipaddr.IPv6 {
  const network = `${address}/${bits}`
  return isIP(address) === 4 ? ipaddr.IPv4.networkAddressFromCIDR(network) : ipaddr.IPv6.networkAddressFromCIDR(network)
}
