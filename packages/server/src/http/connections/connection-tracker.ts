/**
 * Tracks the open connections and bounds what each may hold: one request is handled at a time, a few are queued, and the
 * next one begins when the client has received the response before it.
 *
 *     request ─► another in progress? ── no ──► handled ─► response sent ─► received ─► next request
 *                    └── yes ─► queued, up to `queuedMax`
 *                                 └─ beyond: nothing more is read; closed after the responses before it
 *
 * HTTP lets a client pipeline requests, and Node handles all of them at once: a client that sends small requests and reads
 * no response could make the server hold any number of responses. Closing early is allowed: the client sends again what
 * got no response (RFC 9112 §9.3.2).
 *
 * Responses that clients do not read are bounded as well: each by the time without progress, and all together by their
 * bytes. Beyond that, the oldest are cut. Bytes of requests that connections hold are bounded too, heads and reads that
 * wait to be parsed: beyond that, the caller who holds most is cut.
 *
 *     when the server closes: responses in progress ─► finished ─► closed
 *                             new requests and connections ─► 503
 *                             whatever remains after the time limit ─► cut
 *
 * Node's own `close` closes idle connections only, and stops its timer for slow heads.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import type { Clock } from "../../runtime/clock.ts"
import type { Events } from "../../runtime/events/events.ts"
import { ConnectionInput } from "../input/connection-input.ts"
import { InputTurns } from "../input/input-turns.ts"

/** Maximum number of requests that a connection queues. Ours. */
const queuedMax = 10

/** Time after which a connection without traffic in either direction is closed. Streams have keep-alives. Ours. */
export const idleMsMax = 120_000

/** Time that a client has to receive a response that was sent before its request was read to the end. Ours. */
const lingerMs = 1_000

/** Memory of a request and its response, and of each header in addition to its text. Measured: somewhat less. */
const requestBytes = 2_048
const headerBytes = 64

/** Bytes of heads and unparsed reads that each connection may hold. An ordinary request has half of that. Ours. */
const inputBytesFree = 8_192

/** Part of their bound that is freed when connections hold too much of requests, so that it is seldom reached. Ours. */
const freedPart = 1 / 8

/** The tracker's dependencies and bounds. */
export interface ConnectionTrackerDeps {
  readonly clock: Clock
  readonly events: Pick<Events, "connectionCut">
  /** Any further connection is closed at once. */
  readonly connectionsMax: number
  /** Time without progress after which a response that its client does not read is cut. */
  readonly unreadMsMax: number
  /** Maximum bytes of unread responses over all connections. Beyond that, the oldest are cut. */
  readonly unreadBytesMax: number
  /**
   * Maximum bytes of heads and unparsed reads over the connections that hold more than 8 KiB of them. Beyond that, the
   * caller who holds most is cut, the oldest connections first.
   */
  readonly inputBytesMax: number
}

type CallerOf = (request: IncomingMessage) => string

/** A request that is queued. */
interface QueuedRequest {
  readonly request: IncomingMessage
  /** Memory of the request before its body. */
  readonly bytes: number
  readonly response: ServerResponse
  readonly listener: RequestListener
}

/** The state of a connection. */
interface Connection {
  readonly socket: Socket
  readonly input: ConnectionInput
  /** The caller of the request in progress; empty when there is none. */
  readonly caller: () => string
  /** Memory of the requests that are in progress and queued, without their bodies. */
  requestsBytes: number
  /** The response to the request in progress. */
  current: ServerResponse | undefined
  readonly queued: QueuedRequest[]
  /** True if requests after the queued ones are ignored. */
  isLast: boolean
  /** Sends an error and ends the connection, once the responses before it are sent. */
  sendFinalError: (() => void) | undefined
}

/** Tracks the connections of one or more servers. */
export class ConnectionTracker {
  readonly #deps: ConnectionTrackerDeps
  readonly #connections = new Map<Socket, Connection>()
  /** Bytes of each response that is written but not received, the oldest first. */
  readonly #unread = new Map<ServerResponse, number>()
  #unreadBytes = 0
  readonly #inputTurns = new InputTurns()
  /** Bytes that connections hold beyond `inputBytesFree`, in the order in which they came to hold so much. */
  readonly #input = new Map<Connection, number>()
  #inputBytes = 0
  #draining: Promise<void> | undefined
  /** Connections that had a response in progress when the drain began. */
  readonly #unfinished = new Set<Connection>()
  readonly #allFinished = new AbortController()
  #isClosed = false

  constructor(deps: ConnectionTrackerDeps) {
    this.#deps = deps
  }

  /**
   * Tracks the connections of a server that does not listen yet. There are several when a host name has several addresses.
   * `callerOf` names the caller of a request; by default all requests are one caller's.
   */
  track(server: Server, callerOf: CallerOf = () => ""): void {
    server.on("connection", (socket: Socket) => this.#add(socket, callerOf))
  }

  /** Returns a listener that handles the requests of a connection one at a time. Requests during the drain go to `refuse`. */
  oneAtATime(listener: RequestListener, refuse: RequestListener): RequestListener {
    return (request, response) => {
      const connection = this.#connections.get(request.socket)
      if (connection === undefined) return
      const headBytes = connection.input.announce(request)
      if (connection.isLast) return
      const isRefused = this.#draining !== undefined
      if (isRefused) connection.isLast = true
      const bytes = requestBytes + headBytes + (headerBytes * request.rawHeaders.length) / 2
      connection.requestsBytes += bytes
      this.#countInput(connection)
      const queued = { request, response, bytes, listener: isRefused ? refuse : listener }
      if (connection.current === undefined) {
        this.#begin(connection, queued)
      } else if (connection.queued.length < queuedMax) {
        connection.queued.push(queued)
      } else {
        this.#deps.events.connectionCut({ reason: "pipelining" })
        ignoreFurtherRequests(connection)
        connection.input.end()
        this.#stopReading(request.socket)
      }
    }
  }

  /**
   * Ends a connection whose next request is malformed. Calls `sendNow` with the response in progress if the malformed
   * request is that one, or none is in progress. Otherwise calls `sendLater` after the responses to earlier requests.
   */
  endMalformed(socket: Duplex, sendNow: (current: ServerResponse | undefined) => void, sendLater: () => void): void {
    const connection = this.#connections.get(socket as Socket)
    if (connection?.sendFinalError !== undefined) return
    connection?.input.end()
    const last = connection?.queued.at(-1)
    if (connection === undefined || (last === undefined && isIncompleteOrDone(connection.current))) {
      sendNow(connection?.current)
      return
    }
    // Only the last request can be incomplete.
    if (last?.request.complete === false) connection.queued.pop()
    connection.isLast = true
    connection.sendFinalError = sendLater
  }

  /**
   * Lets the responses in progress finish, refuses new requests, and ends the connections. Resolves when all responses are
   * finished, or were cut after `msMax`. A second call waits for the first.
   */
  drain(msMax: number): Promise<void> {
    this.#draining ??= this.#drain(msMax)
    return this.#draining
  }

  /** Closes every connection, and refuses new ones. */
  close(): void {
    this.#isClosed = true
    for (const socket of this.#connections.keys()) socket.destroy()
  }

  async #drain(msMax: number): Promise<void> {
    for (const connection of this.#connections.values()) {
      if (connection.current === undefined) continue
      this.#unfinished.add(connection)
      ignoreFurtherRequests(connection)
    }
    if (this.#unfinished.size === 0) return
    await this.#deps.clock.sleep(msMax, this.#allFinished.signal)
    for (const { socket } of this.#unfinished) socket.destroy()
  }

  #add(socket: Socket, callerOf: CallerOf): void {
    if (this.#isClosed || this.#connections.size >= this.#deps.connectionsMax) {
      if (!this.#isClosed) this.#deps.events.connectionCut({ reason: "over-limit" })
      socket.destroy()
      return
    }
    const connection: Connection = {
      socket,
      input: new ConnectionInput(socket, {
        turns: this.#inputTurns,
        isDiscarded: (request) => connection.current?.req !== request || connection.current.writableEnded,
        callerOf,
        changed: () => this.#countInput(connection),
      }),
      caller: () => (connection.current === undefined ? "" : callerOf(connection.current.req)),
      requestsBytes: 0,
      current: undefined,
      queued: [],
      isLast: false,
      sendFinalError: undefined,
    }
    this.#connections.set(socket, connection)
    socket.once("end", () => leaveStream(connection))
    socket.once("close", () => {
      this.#connections.delete(socket)
      connection.input.leave()
      this.#forgetInput(connection)
      if (this.#unfinished.delete(connection) && this.#unfinished.size === 0) this.#allFinished.abort()
    })
  }

  #begin(connection: Connection, { request, response, bytes, listener }: QueuedRequest): void {
    connection.current = response
    response.once("close", () => {
      connection.requestsBytes -= bytes
      this.#countInput(connection)
      this.#afterResponse(connection, response)
    })
    response.once("prefinish", () => this.#written(connection.socket, response))
    connection.socket.setTimeout(idleMsMax)
    const isLast = connection.isLast && connection.queued.length === 0
    if (isLast && connection.sendFinalError === undefined) announceEnd(response)
    listener(request, response)
  }

  /** Counts the bytes that the client has not received of a response that is written to its end. */
  #written(socket: Socket, response: ServerResponse): void {
    const bytes = socket.writableLength
    if (bytes === 0) return
    socket.setTimeout(this.#deps.unreadMsMax)
    response.once("timeout", () => this.#cutUnread(response))
    this.#unread.set(response, bytes)
    this.#unreadBytes += bytes
    for (const oldest of this.#unread.keys()) {
      if (this.#unreadBytes <= this.#deps.unreadBytesMax) return
      this.#cutUnread(oldest)
    }
  }

  #cutUnread(response: ServerResponse): void {
    this.#forgetUnread(response)
    this.#deps.events.connectionCut({ reason: "unread" })
    response.destroy()
  }

  #forgetUnread(response: ServerResponse): void {
    this.#unreadBytes -= this.#unread.get(response) ?? 0
    this.#unread.delete(response)
  }

  /** Counts the bytes of requests that a connection holds, without their bodies. */
  #countInput(connection: Connection): void {
    const { input, requestsBytes, socket } = connection
    const bytes = input.heldBytes + requestsBytes - inputBytesFree
    const before = this.#input.get(connection) ?? 0
    if (bytes <= 0 || socket.destroyed) {
      // Nearly always there are none, and this is done twice for each request.
      if (this.#input.size > 0) this.#forgetInput(connection)
      return
    }
    this.#input.set(connection, bytes)
    this.#inputBytes += bytes - before
    if (this.#inputBytes > this.#deps.inputBytesMax) this.#cutInput()
  }

  /**
   * Cuts connections of the caller who holds most, those that have held it for longest first, until an eighth of the bound is
   * free: a long stream with a large head is not cut for what others hold. A connection is its request's caller's by now, who
   * may have been unknown when the request arrived.
   */
  #cutInput(): void {
    const callers = new Map<string, { bytes: number; readonly oldestFirst: Connection[] }>()
    for (const [connection, bytes] of this.#input) {
      const name = connection.caller()
      const caller = callers.get(name) ?? { bytes: 0, oldestFirst: [] }
      callers.set(name, caller)
      caller.bytes += bytes
      caller.oldestFirst.push(connection)
    }
    while (this.#inputBytes > this.#deps.inputBytesMax * (1 - freedPart)) {
      const [greediest] = [...callers.values()].toSorted((a, b) => b.bytes - a.bytes)
      const oldest = greediest?.oldestFirst.shift()
      if (greediest === undefined || oldest === undefined) return
      greediest.bytes -= this.#input.get(oldest) ?? 0
      this.#forgetInput(oldest)
      this.#deps.events.connectionCut({ reason: "input" })
      oldest.socket.destroy()
    }
  }

  #forgetInput(connection: Connection): void {
    this.#inputBytes -= this.#input.get(connection) ?? 0
    this.#input.delete(connection)
  }

  #afterResponse(connection: Connection, response: ServerResponse): void {
    const { socket, queued } = connection
    this.#forgetUnread(response)
    connection.current = undefined
    if (socket.destroyed) return
    const next = queued.shift()
    if (next !== undefined) this.#begin(connection, next)
    else if (connection.sendFinalError !== undefined) connection.sendFinalError()
    else if (connection.isLast) this.#end(socket, response)
  }

  /** Node resumes a socket after each response, and destroys it after the last, which would discard the last one if bytes are unread. */
  #stopReading(socket: Socket): void {
    socket.pause()
    socket.resume = () => socket
    socket.destroySoon = () => this.#linger(socket)
  }

  #end(socket: Socket, { req }: ServerResponse): void {
    // Closing with bytes unread would reset the connection, and a client that still sends would lose the response.
    if (req.complete || socket.destroyed) socket.destroySoon()
    else this.#linger(socket)
  }

  /** Ends our half, and waits for the client to receive what it was sent. */
  #linger(socket: Socket): void {
    if (socket.writableEnded) return
    socket.end()
    const closed = new AbortController()
    socket.once("close", () => closed.abort())
    void this.#deps.clock.sleep(lingerMs, closed.signal).then(() => socket.destroy())
  }
}

/**
 * Cuts a response that goes on when the client closes its half of the connection: who reads a stream keeps both open. A
 * response that has not begun is still sent.
 */
function leaveStream({ current, socket }: Connection): void {
  if (current?.headersSent === true && !current.writableEnded) socket.destroy()
}

/** True if the request itself is the malformed one, or its response is sent. */
function isIncompleteOrDone(current: ServerResponse | undefined): boolean {
  return current === undefined || !current.req.complete || current.writableEnded
}

/** Ignores all further requests of a connection. */
function ignoreFurtherRequests(connection: Connection): void {
  connection.isLast = true
  connection.input.endAtHead()
  const { current, queued } = connection
  const last = queued.at(-1)?.response ?? current
  if (last === current && current !== undefined) announceEnd(current)
}

/** Announces in a response that it is the connection's last. */
function announceEnd(response: ServerResponse): void {
  const announce = (): void => {
    if (!response.headersSent) response.setHeader("connection", "close")
  }
  // Announced before the request is complete, the response would be cut with the rest of the request.
  if (isWhole(response.req)) announce()
  else response.req.once("end", announce)
}

/** True if a request is complete. Node sets `complete` only after it has announced the request. */
function isWhole({ complete, headers }: IncomingMessage): boolean {
  const hasBody = headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0
  return complete || !hasBody
}
