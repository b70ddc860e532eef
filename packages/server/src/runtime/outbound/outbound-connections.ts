/**
 * Kept-alive connections to other people's endpoints, each an undici client of its own.
 *
 *     request ─► a free connection to its origin, the last used first, or a new one ─► its response ends ─► free
 *                                                                                  └─ it fails ─► closed
 *
 * A request that finds none free opens a connection: many links, of many apps, may share an origin, and in a bounded
 * pool the slow ones would starve the rest. The senders bound the requests in flight, and with them the connections.
 *
 * undici's own `Agent` and `Pool` do the same, but each of them looks at every request again, and hears by events of every
 * connection that is free. Measured: without them a delivery to one of a hundred links costs the main thread a tenth less.
 */
import { isIP, type Socket } from "node:net"
import { LRUCache } from "lru-cache"
import type { buildConnector, Client, Dispatcher } from "undici"
import {
  AddressRefused,
  connectionFault,
  guardedLookup,
  portOf,
  type OutboundPosture,
  type Resolve,
} from "./outbound-address.ts"

/** Most bytes of a response's body. With one more, the connection is dropped and the request has failed. */
export const responseBytesMax = 65_536

/** Most bytes of a response's head. */
const headBytesMax = 16_384

/** Most bytes of a response on the wire: interim ones, heads, and a body that comes in chunks of one byte. */
const exchangeBytesMax = 1_048_576

/** Longest a connection may take to be made, TLS included. A request's own deadline may be nearer. */
const connectMsMax = 10_000

/** Longest an idle connection is kept; less if its server says so. Servers commonly close at 5 s. */
const keepAliveMs = 4_000

/** Most ports whose connectors are kept; beyond it the least recently used is made again when it is needed. Ours. */
const connectorsMax = 256

/** Destinations that connections may be made to. `resolve` stands in for DNS in tests. */
type ConnectingOptions = OutboundPosture & { readonly resolve?: Resolve }

/** The connection of a request, as the request sees it. */
export interface Connection {
  /** It is free for another request. */
  free(): void
  /** It is no good any more. */
  close(): void
}

/** A request on its way, which says when its connection is free or no good: once, when undici has done with it. */
interface Exchange extends Dispatcher.DispatchHandler {
  connection: Connection | undefined
  onResponseError(controller: unknown, error: Error): void
}

/** Loads undici. */
export async function openConnections(options: ConnectingOptions): Promise<Connections> {
  const { buildConnector, Client, errors } = await import("undici")
  const { resolve, ...posture } = options
  const connect = guardedConnector(posture, resolve, buildConnector, boundResponses)
  const open = (origin: string): Client =>
    new Client(origin, {
      pipelining: 1,
      allowH2: false,
      connect,
      maxHeaderSize: headBytesMax,
      maxResponseSize: responseBytesMax,
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: keepAliveMs,
      // Each request has its own deadline over all of this.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
  return new Connections(open, () => new errors.ClientDestroyedError())
}

/** The connections to all origins. */
export class Connections {
  readonly #open: (origin: string) => Client
  readonly #closedError: () => Error
  readonly #all = new Set<Client>()
  /** By origin, the last used one last. No list is empty. */
  readonly #free = new Map<string, KeptConnection[]>()
  #isClosed = false

  constructor(open: (origin: string) => Client, closedError: () => Error) {
    this.#open = open
    this.#closedError = closedError
  }

  /** Sends a request. All that comes of it, the exchange hears. */
  dispatch(origin: string, request: Dispatcher.DispatchOptions, exchange: Exchange): void {
    if (this.#isClosed) {
      exchange.onResponseError(undefined, this.#closedError())
      return
    }
    const connection = this.#takeFree(origin) ?? this.#connect(origin)
    exchange.connection = connection
    connection.client.dispatch(request, exchange)
  }

  /** Aborts requests in flight and closes all connections. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#free.clear()
    await Promise.all(Array.from(this.#all, (client) => client.destroy()))
  }

  #takeFree(origin: string): KeptConnection | undefined {
    const free = this.#free.get(origin)
    const last = free?.pop()
    if (free?.length === 0) this.#free.delete(origin)
    if (last !== undefined) last.isFree = false
    return last
  }

  #connect(origin: string): KeptConnection {
    const client = this.#open(origin)
    const connection: KeptConnection = {
      client,
      isFree: false,
      free: () => this.#keep(origin, connection),
      close: () => client.close(() => this.#all.delete(client)),
    }
    // One that is in use tells its request, or connects again for one that is not sent yet.
    client.on("disconnect", () => {
      if (connection.isFree) this.#drop(origin, connection)
    })
    this.#all.add(client)
    return connection
  }

  #keep(origin: string, connection: KeptConnection): void {
    connection.isFree = true
    const free = this.#free.get(origin)
    if (free === undefined) this.#free.set(origin, [connection])
    else free.push(connection)
  }

  #drop(origin: string, connection: KeptConnection): void {
    const free = this.#free.get(origin)?.filter((each) => each !== connection) ?? []
    if (free.length === 0) this.#free.delete(origin)
    else this.#free.set(origin, free)
    connection.isFree = false
    connection.close()
  }
}

interface KeptConnection extends Connection {
  readonly client: Client
  isFree: boolean
}

/**
 * Makes connections by the guard's rules. A host that is an address is never looked up, so it is checked here. `bound`
 * is called with each connection.
 */
export function guardedConnector(
  posture: OutboundPosture,
  resolve: Resolve | undefined,
  build: typeof buildConnector,
  bound: (socket: Socket) => void,
): buildConnector.connector {
  const connectorTo = (port: number): buildConnector.connector =>
    build({
      lookup: guardedLookup(posture, resolve, port),
      timeout: connectMsMax,
      allowH2: false,
      // Explicit, since the variable NODE_TLS_REJECT_UNAUTHORIZED would turn it off.
      rejectUnauthorized: true,
    })
  // Node does not pass the port to a look-up, and what is allowed may depend on it.
  const connectors = new LRUCache<number, buildConnector.connector>({ max: connectorsMax, memoMethod: connectorTo })
  const anyPort = connectorTo(portOf({ protocol: "https:", port: "" }))
  return (target, callback) => {
    const port = portOf(target)
    const fault = isIP(target.hostname) === 0 ? undefined : connectionFault(target.hostname, port, posture)
    if (fault !== undefined) {
      callback(new AddressRefused(`${target.hostname}, ${fault}`), null)
      return
    }
    const connect = posture.allowed === undefined ? anyPort : connectors.memo(port)
    connect(target, (...result) => {
      if (result[0] === null) bound(result[1])
      callback(...result)
    })
  }
}

/**
 * Drops a connection on which one response has more bytes than any good one could. All bytes that come after a
 * request count: the extensions of chunks may go on forever, and undici does not report them.
 */
function boundResponses(socket: Socket): void {
  let [written, read, readBefore] = [0, 0, 0]
  socket.on("readable", () => {
    if (socket.bytesWritten !== written) {
      written = socket.bytesWritten
      readBefore = read
    }
    read = socket.bytesRead
    if (read - readBefore > exchangeBytesMax) socket.destroy(new ResponseTooLarge("a response without end"))
  })
}

/** Why a connection was dropped by `boundResponses`. */
export class ResponseTooLarge extends Error {
  override readonly name = "ResponseTooLarge"
}
