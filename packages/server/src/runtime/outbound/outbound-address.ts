/**
 * Checks of requests to other people's endpoints: of the URL of a webhook, and of the addresses that a connection is
 * made to.
 *
 * A name is checked when it is resolved for a connection, every address of it, and the connection is made to
 * exactly the addresses that were checked. So a name that answers differently the next time (DNS rebinding)
 * gains nothing: there is no second look-up between the check and the connection.
 *
 * Destinations that the operator allows (`allowed-destinations.ts`) add exactly this:
 *
 *     the URL has an allowed address, or an allowed name ─► http, and that port, are accepted
 *     a connection is made to an address that is allowed  ─► any name may have led to it
 *     … to another one that is not public                 ─► when an allowed name has led to it, and only to a private,
 *                                                            unique local, carrier-grade NAT or loopback address
 */
import type { LookupAddress } from "node:dns"
import { lookup as systemLookup, Resolver } from "node:dns/promises"
import { isIP, type LookupFunction } from "node:net"
import { setTimeout } from "node:timers/promises"
import { callbackify } from "node:util"
import { webhookUrlCharactersMax } from "@sluice/api"
import ipaddr from "ipaddr.js"
import type { AllowedDestinations } from "./allowed-destinations.ts"

/** Whom requests may reach: with `allowPrivate` also http, ports and any address (the `dev` posture). */
export interface OutboundPosture {
  readonly allowPrivate: boolean
  /** Destinations allowed in addition to public addresses; absent: none. */
  readonly allowed?: AllowedDestinations
}

/** The posture of a server with these settings. */
export function outboundPostureOf({
  posture,
  webhookAllow,
}: {
  readonly posture: "dev" | "serve"
  readonly webhookAllow?: AllowedDestinations
}): OutboundPosture {
  return { allowPrivate: posture === "dev", ...(webhookAllow !== undefined && { allowed: webhookAllow }) }
}

/** The posture of a server with these settings, for the sources of posts that its operator sets. */
export function sourcePostureOf({
  posture,
  sourceAllow,
}: {
  readonly posture: "dev" | "serve"
  readonly sourceAllow?: AllowedDestinations
}): OutboundPosture {
  return outboundPostureOf({ posture, ...(sourceAllow !== undefined && { webhookAllow: sourceAllow }) })
}

/** All addresses of a name. Rejects, or answers none, when it has none. */
export type Resolve = (name: string) => Promise<readonly LookupAddress[]>

/** An address that no connection is made to. `message` says why. */
export class AddressRefused extends Error {
  override readonly name = "AddressRefused"
}

/**
 * A name without an address that a connection may be made to. `isLocal` when this machine could not send the query.
 *
 * A name that does not exist, one without addresses, and one with addresses that are not public get the same message: the
 * owner of a webhook may not learn which names exist inside this network.
 */
export class NameUnresolved extends Error {
  override readonly name = "NameUnresolved"
  readonly isLocal: boolean

  /** `none` is said of a name without such an address. */
  constructor(name: string, none: string, cause?: unknown) {
    const code = codeOf(cause)
    const hasNone = cause === undefined || code === "ENOTFOUND" || code === "ENODATA"
    super(hasNone ? `${name} ${none}` : `${name}: ${unresolvedWords(code)}`, { cause })
    this.isLocal = localLookupError.test(code)
  }
}

/**
 * Codes of look-ups that never left this machine: no resolver can be reached, or there is no memory, no descriptor.
 * Source: Node, "DNS error codes"; getaddrinfo(3).
 */
const localLookupError =
  /^(?:ECONNREFUSED|ECANCELLED|EDESTRUCTION|EFILE|ENOMEM|ENONAME|ENOTINITIALIZED|EAI_MEMORY|EAI_SYSTEM|EMFILE|ENFILE)$/

function unresolvedWords(code: string): string {
  if (code === "ETIMEOUT") return "DNS did not answer (ETIMEOUT)"
  if (localLookupError.test(code)) return `DNS could not be asked (${code})`
  return code === "" ? "DNS failed" : `DNS failed (${code})`
}

/** Characters refused in a URL: spaces, controls, invisible characters, and `\`, which URL parsers read as `/`. */
const hiddenCharacters = /[\p{Cc}\p{Cf}\p{Z}\\]/u

/** Names that are not on the public internet. Source: RFC 6761, 6762, 7686, 8375, 9476; ICANN on `internal`. */
const specialDomains = /(?:^|\.)(?:localhost|local|localdomain|internal|home\.arpa|test|invalid|example|onion|alt)$/

/** Azure's metadata service, the one cloud service of its kind that has a public address. Source: Azure's manual. */
const publicMetadataAddress = "168.63.129.16"

/** Addresses that are given out for the public IPv6 internet. Source: RFC 4291, IANA's IPv6 address space. */
const globalUnicast = ipaddr.IPv6.parseCIDR("2000::/3")

/** Names of ranges as `ipaddr.js` gives them, in words. */
const rangeNames: Readonly<Record<string, string>> = {
  broadcast: "a broadcast address",
  carrierGradeNat: "a carrier-grade NAT address",
  deprecatedSiteLocal: "a site-local address",
  ipv4Mapped: "an IPv4-mapped address",
  linkLocal: "a link-local address",
  loopback: "a loopback address",
  multicast: "a multicast address",
  private: "a private address",
  rfc6052: "a NAT64 address",
  rfc6145: "an IPv4-translated address",
  teredo: "a Teredo address",
  uniqueLocal: "a unique local address",
  unspecified: "an unspecified address",
  "6to4": "a 6to4 address",
}

/** Most addresses of one name that a connection is tried to; all of them are checked. */
const attemptedAddressesMax = 8

/**
 * Why this URL may not be a webhook's, as the end of a sentence that starts with "The URL"; `undefined` when it
 * may. Names are not resolved here: that happens at each connection.
 */
export function webhookUrlFault(text: string, posture: OutboundPosture): string | undefined {
  const characters = Array.from(text).length
  if (characters > webhookUrlCharactersMax) {
    return `is ${characters} characters long; at most ${webhookUrlCharactersMax} are allowed`
  }
  if (!text.isWellFormed()) return "holds half a character (a lone surrogate)"
  if (hiddenCharacters.test(text)) {
    return "holds a space, a backslash, or a control or invisible character; percent-encode it"
  }
  const authority = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]+)/i.exec(text)?.[1]
  const url = URL.parse(text)
  if (authority === undefined || url === null) return "is not an absolute URL such as https://example.com/webhook"
  const fault = destinationFault(url, posture)
  if (fault !== undefined) return fault
  // The parser drops an empty user name and the port that goes without saying, so what was written is looked at.
  if (authority.includes("@")) return withCredentials
  if (!isAllowed(url, posture) && /:[0-9]*$/.test(authority)) return withPort
  if (text.includes("#")) return 'has a fragment (what stands after "#"), which is never sent; leave it out'
  if (url.searchParams.has("crc_token")) return "has a parameter crc_token of its own, which challenges need"
  return undefined
}

const withCredentials = 'holds a user name or password (what stands before "@"); leave it out'
const withPort = "names a port; only the default port of https is accepted, without being named"

/** Why nothing may be sent there, in the same form. A name may still resolve to what is refused. */
export function destinationFault(url: URL, posture: OutboundPosture): string | undefined {
  const { allowPrivate } = posture
  if (url.protocol !== "https:" && !(isAllowed(url, posture) && url.protocol === "http:")) {
    return `begins with ${url.protocol}; only https${allowPrivate ? " and http are" : " is"} accepted`
  }
  if (url.username !== "" || url.password !== "") return withCredentials
  const isOpen = isAllowed(url, posture)
  if (url.port !== "" && !isOpen) return withPort
  return hostFault(url.hostname, isOpen)
}

/** Whether the operator allows the URL's host on its port, so that only its form is checked. */
function isAllowed(url: URL, { allowPrivate, allowed }: OutboundPosture): boolean {
  if (allowPrivate || allowed === undefined) return allowPrivate
  const port = portOf(url)
  const address = literalAddress(url.hostname)
  return address === undefined ? allowed.allowsName(url.hostname, port) : allowed.allowsAddress(address, port)
}

/** The port of https. */
const httpsPort = 443

/** The port of a connection, which goes without saying when it is the scheme's own. */
export function portOf({ port, protocol }: { readonly port: string; readonly protocol: string }): number {
  if (port !== "") return Number(port)
  return protocol === "http:" ? 80 : httpsPort
}

function hostFault(host: string, isOpen: boolean): string | undefined {
  const address = literalAddress(host)
  if (host.length > nameCharactersMax) return `has a host of ${host.length} characters, which cannot be a name`
  if (address === undefined && !isName(host)) return `has the host ${host}, which cannot be a name`
  if (isOpen) return undefined
  const fault = address === undefined ? nameFault(host) : addressFault(address)
  return fault === undefined ? undefined : `has the host ${host}, ${fault}`
}

/** Longest name. Source: RFC 1035. */
const nameCharactersMax = 253

/** True for labels of 1 to 63 characters with dots between them and none at the end. Source: RFC 1035. */
function isName(host: string): boolean {
  return /^[^.]{1,63}(?:\.[^.]{1,63})*$/.test(host)
}

/** The address that a parsed URL's host is, in any notation; `undefined` for a name. */
function literalAddress(host: string): string | undefined {
  if (host.startsWith("[")) return host.slice(1, -1)
  return isIP(host) === 0 ? undefined : host
}

function nameFault(name: string): string | undefined {
  const isPublic = name.includes(".") && !specialDomains.test(name)
  return isPublic ? undefined : "which is not a public name"
}

/** Why no connection is made to an address on a port ("which is a loopback address"), or `undefined` when one is. */
export function connectionFault(address: string, port: number, posture: OutboundPosture): string | undefined {
  const isOpen = posture.allowPrivate || posture.allowed?.allowsAddress(address, port) === true
  return isOpen ? undefined : addressFault(address)
}

/** Why an address is not a public one ("which is a loopback address"), or `undefined` when it is. */
export function addressFault(text: string): string | undefined {
  const kind = refusedKind(text)
  return kind === undefined ? undefined : `which is ${kind}`
}

function refusedKind(text: string): string | undefined {
  if (!ipaddr.isValid(text)) return "something other than an address"
  const address = ipaddr.parse(text)
  if (address.toString() === publicMetadataAddress) return "a cloud's metadata address"
  const range = address.range()
  if (range !== "unicast") return rangeNames[range] ?? "a reserved address"
  const isGlobal = address instanceof ipaddr.IPv4 || address.match(globalUnicast)
  return isGlobal ? undefined : "a reserved address"
}

/**
 * A look-up for `net.connect` that resolves once, checks every address, and hands over exactly those. One address
 * that may not be reached refuses the name as a whole: a public name has no reason to have any. The connection is to
 * `port`.
 */
export function guardedLookup(posture: OutboundPosture, resolve?: Resolve, port = httpsPort): LookupFunction {
  const { allowPrivate, allowed } = posture
  const publicly = resolveBy(() => new Resolver({ timeout: 3_000, tries: 2 }))
  const checked = async (name: string): Promise<LookupAddress[]> => {
    const isNamed = !allowPrivate && allowed?.allowsName(name, port) === true
    const none = allowPrivate ? "has no address" : `has no ${isNamed ? "allowed" : "public"} address`
    const resolved = resolve ?? (allowPrivate || isNamed ? bySystem : publicly)
    const addresses = await resolved(name).catch((cause: unknown) => {
      throw new NameUnresolved(name, none, cause)
    })
    const mayReach = ({ address }: LookupAddress): boolean =>
      connectionFault(address, port, posture) === undefined || (isNamed && isInternal(address))
    const isRefused = !addresses.every(mayReach)
    if (addresses.length === 0 || isRefused) throw new NameUnresolved(name, none)
    return addresses.slice(0, attemptedAddressesMax)
  }
  const checkedWithCallback = callbackify(checked)
  return (name, options, callback) => {
    checkedWithCallback(name, (error, addresses) => {
      const first = addresses?.[0]
      if (first === undefined) callback(error, "")
      else if (options.all === true) callback(null, addresses)
      else callback(null, first.address, first.family)
    })
  }
}

/**
 * How names are resolved that are the operator's: as the system does, with its hosts file and search domains, since
 * `localhost` and the names of a cluster count. Public names are resolved by `resolveBy`, which waits for the network
 * without holding a thread, so that a slow name holds up no other.
 */
const bySystem: Resolve = (name) => systemLookup(name, { all: true })

/** Ranges in which receivers inside a network have their addresses. */
const internalRanges: ReadonlySet<string> = new Set(["private", "uniqueLocal", "carrierGradeNat", "loopback"])

/**
 * Addresses in those ranges at which clouds give out credentials. The others are link-local. Source: the manuals of
 * AWS, Google Cloud and Alibaba Cloud on instance metadata.
 */
const internalMetadataAddresses: ReadonlySet<string> = new Set(["fd00:ec2::254", "fd20:ce::254", "100.100.100.200"])

/** Whether an allowed name may have this address, which is not a public one. */
function isInternal(text: string): boolean {
  if (!ipaddr.isValid(text)) return false
  const address = ipaddr.parse(text)
  return internalRanges.has(address.range()) && !internalMetadataAddresses.has(address.toString())
}

/** Longest wait for the other family's addresses when those of one are there. Source: RFC 8305, 3, which has 50 ms. */
const otherFamilyMsMax = 500

/**
 * Asks for both families at once, each once. Many name servers never answer for a family that they have nothing of; a
 * connection is made only to what is known here, so what comes too late can do no harm.
 *
 * A resolver knows the machine's name servers from when it was made. Those may have changed, so after one that got no
 * answer at all another is made.
 */
export function resolveBy(newResolver: () => Pick<Resolver, "resolve4" | "resolve6">): Resolve {
  let current = newResolver()
  return async (name) => {
    const dns = current
    const four = dns.resolve4(name).then((addresses) => someOf(addresses, 4))
    const six = dns.resolve6(name).then((addresses) => someOf(addresses, 6))
    await Promise.any([four, six]).catch((error: AggregateError) => {
      const isSilent = error.errors.some((cause) => silence.test(codeOf(cause)))
      if (isSilent && current === dns) current = newResolver()
      // A name without addresses of one family is less telling than the error of the other family.
      throw error.errors.find((cause) => codeOf(cause) !== "ENODATA") ?? error.errors[0]
    })
    const late = setTimeout(otherFamilyMsMax, [], { ref: false })
    const found = [four, six].map((asked) => Promise.race([asked.catch(() => []), late]))
    return (await Promise.all(found)).flat()
  }
}

/** Codes of look-ups to which no name server answered anything. */
const silence = /^(?:ETIMEOUT|ECONNREFUSED)$/

/** An alias that leads nowhere is answered with an empty list and no error. */
function someOf(addresses: readonly string[], family: 4 | 6): LookupAddress[] {
  if (addresses.length === 0) throw Object.assign(new Error("an alias to nothing"), { code: "ENODATA" })
  return addresses.map((address) => ({ address, family }))
}

/** The code of a system or library error; empty without one. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : ""
}
