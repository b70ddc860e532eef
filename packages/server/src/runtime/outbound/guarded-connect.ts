/** Connections of `node:net` and `node:tls` under the guard that webhooks have, for protocols that undici does not speak. */
import { isIP, type LookupFunction } from "node:net"
import {
  AddressRefused,
  connectionFault,
  guardedLookup,
  portOf,
  type OutboundPosture,
  type Resolve,
} from "./outbound-address.ts"

/** Options of a connection to the host of a URL. */
export interface GuardedConnectOptions {
  readonly lookup: LookupFunction
  /** Explicit, since the variable NODE_TLS_REJECT_UNAUTHORIZED would turn it off. */
  readonly rejectUnauthorized: true
}

/**
 * Options for a connection to the host of `url`, of http or of WebSockets: its name is resolved once, and each address is
 * checked. Throws `AddressRefused` when the host is an address that may not be connected to: those are never looked up.
 */
export function guardedConnectOptions(url: URL, posture: OutboundPosture, resolve?: Resolve): GuardedConnectOptions {
  const port = portOf({ port: url.port, protocol: url.protocol.replace(/^ws/, "http") })
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1")
  const fault = isIP(host) === 0 ? undefined : connectionFault(host, port, posture)
  if (fault !== undefined) throw new AddressRefused(`${host}, ${fault}`)
  return { lookup: guardedLookup(posture, resolve, port), rejectUnauthorized: true }
}
