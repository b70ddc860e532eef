/**
 * Passes what a connection receives to Node's parser, a part at a time.
 *
 *     read ─► head? ── up to its end ──────────► parser ─► request
 *                └ body? ── up to its end ─────► parser ─► body, as fast as it is read
 *                     ├ chunked? ── joined ────►
 *                     └ small, and whole? ─────► parser ─► body, at once
 *
 * Left to itself, the parser takes whole reads of 64 KiB, and nothing stops it in the middle of one: neither a stream that
 * is full nor the end of what a connection may send. Here the parser gets nothing more while the socket is paused, and
 * what is left of the read goes back to the socket.
 *
 * A body is passed on when it is read: while a request waits for its turn, its body stays in the system's buffers. To stop
 * and go on costs more than a small body takes, so one that came whole with its head, as that of a post alone, is passed on
 * at once; a connection holds at most one of them.
 *
 * Node offers this for sockets that something else listens to as well. Source: Node's lib/_http_server.js, `unconsume`.
 */
import type { IncomingMessage } from "node:http"
import type { Socket } from "node:net"
import type { InputTurns } from "./input-turns.ts"
import { ChunkJoiner } from "./joined-chunks.ts"

const headEnd = Buffer.from("\r\n\r\n")
const CR = 13
const LF = 10

/** A body in chunks smaller than this waits for its turn when others of the kind are read. Ours. */
const smallChunkBytes = 256

/** Most bytes of a body that is passed on before it is read. Ours. */
const wholeBytesMax = 16_384

/** The body in progress. */
type Body =
  | { readonly kind: "length"; readonly request: IncomingMessage; left: number }
  | { readonly kind: "chunks"; readonly request: IncomingMessage; readonly joiner: ChunkJoiner; isSmall: boolean }
  | { readonly kind: "trailer"; readonly request: IncomingMessage }

/** Dependencies of a connection's input. */
interface ConnectionInputDeps {
  /** The turns of all connections. */
  readonly turns: InputTurns
  /** True if the rest of a request's body is not needed, since the response is sent. */
  readonly isDiscarded: (request: IncomingMessage) => boolean
  /** The caller of a request (`callers.ts`). */
  readonly callerOf: (request: IncomingMessage) => string
  /** Called when `heldBytes` has changed. */
  readonly changed: () => void
}

/** The input of one connection. */
export class ConnectionInput {
  readonly #socket: Socket & { readonly parser?: object | null }
  readonly #parse: (bytes: Uint8Array) => void
  readonly #deps: ConnectionInputDeps
  /** Withdraws the connection, while it waits for its turn. */
  #withdraw: (() => void) | undefined
  #announced: IncomingMessage | undefined
  #body: Body | undefined
  #headBytes = 0
  #unparsedBytes = 0
  /** The request whose body was passed on before it was read, and its bytes. */
  #whole: { readonly request: IncomingMessage; readonly bytes: number } | undefined
  #endsAtHead = false
  #hasEnded = false

  /** Takes over from Node. */
  constructor(socket: Socket, deps: ConnectionInputDeps) {
    this.#socket = socket
    this.#deps = deps
    const [parse] = socket.listeners("data")
    if (parse === undefined) throw new Error("Node's parser does not listen to the socket")
    this.#parse = (bytes) => void Reflect.apply(parse, socket, [bytes])
    socket.removeListener("data", parse as () => void)
    socket.on("data", (bytes: Buffer) => this.#take(bytes))
  }

  /** Bytes of an incomplete head, of a read that waits to be parsed, and of a body that was passed on and is not read. */
  get heldBytes(): number {
    if (this.#whole?.request.readableEnded !== false) this.#whole = undefined
    return this.#headBytes + this.#unparsedBytes + (this.#whole?.bytes ?? 0)
  }

  /** Called when the parser announces a request. Returns the bytes of its head. */
  announce(request: IncomingMessage): number {
    const headBytes = this.#headBytes
    this.#announced = request
    this.#headBytes = 0
    return headBytes
  }

  /** Discards everything after the body in progress. */
  endAtHead(): void {
    this.#endsAtHead = true
  }

  /** Discards everything from now on. */
  end(): void {
    this.#hasEnded = true
  }

  /** The socket has closed: waits for no turn, and so holds nothing. */
  leave(): void {
    this.#withdraw?.()
    this.#withdraw = undefined
  }

  #take(bytes: Buffer): void {
    const heldBefore = this.heldBytes
    this.#unparsedBytes = 0
    const start = { at: 0 }
    while (start.at < bytes.length && !this.#isDone()) {
      if (this.#socket.isPaused() || this.#waitsForReader(bytes.length - start.at) || this.#waitsForTurn()) {
        this.#putBack(bytes.subarray(start.at))
        break
      }
      const request = this.#unread
      if (request !== undefined) this.#whole = { request, bytes: bytes.length - start.at }
      this.#parseSome(bytes, start)
    }
    if (this.heldBytes !== heldBefore) this.#deps.changed()
  }

  /** A connection that was handed over has no parser. */
  #isDone(): boolean {
    const { destroyed, parser } = this.#socket
    return this.#hasEnded || destroyed || !parser || (this.#endsAtHead && this.#body === undefined)
  }

  /** Pauses the socket until the request in progress is read. Node resumes it then. `rest`: bytes of the read that are left. */
  #waitsForReader(rest: number): boolean {
    if (this.#unread === undefined || this.#isWhole(rest)) return false
    this.#socket.pause()
    return true
  }

  /** The request in progress, until its body is read. */
  get #unread(): IncomingMessage | undefined {
    const request = this.#body?.request
    return request === undefined || request.readableFlowing !== null || request.destroyed ? undefined : request
  }

  /** True if the rest of a read is the body of the request in progress, and small. */
  #isWhole(rest: number): boolean {
    const body = this.#body
    if (body?.kind !== "length" || body.left !== rest || rest > wholeBytesMax) return false
    return !this.#deps.isDiscarded(body.request)
  }

  /** Pauses the socket until it is the connection's turn. Node may resume it before. */
  #waitsForTurn(): boolean {
    const isWaiting = this.#withdraw !== undefined
    if (!isWaiting && !this.#isTurnOver()) return false
    this.#socket.pause()
    const request = this.#body?.request
    if (isWaiting || request === undefined) return isWaiting
    this.#withdraw = this.#deps.turns.wait(this.#deps.callerOf(request), () => {
      this.#withdraw = undefined
      this.#socket.resume()
    })
    return true
  }

  #isTurnOver(): boolean {
    const body = this.#body
    if (body === undefined) return false
    const isCostly = (body.kind === "chunks" && body.isSmall) || this.#deps.isDiscarded(body.request)
    return this.#deps.turns.isOver({ isCostly })
  }

  /** A small rest is copied, so that it does not keep the memory of the whole read. */
  #putBack(rest: Buffer): void {
    this.#unparsedBytes = rest.length
    this.#socket.unshift(rest.length < rest.buffer.byteLength / 2 ? Buffer.from(rest) : rest)
  }

  #parseSome(bytes: Buffer, start: { at: number }): void {
    const from = start.at
    const body = this.#body
    if (body === undefined) {
      start.at = endOfHead(bytes, from, this.#headBytes > 0)
      this.#headBytes += start.at - from
      this.#parse(bytes.subarray(from, start.at))
      this.#afterHead(bytes, start.at)
      return
    }
    if (body.kind === "chunks") {
      const { pieces, end, chunks, kind } = body.joiner.take(bytes, from)
      start.at = end
      body.isSmall = (end - from) / (chunks + 1) < smallChunkBytes
      if (body.isSmall) this.#deps.turns.countChunks(chunks)
      for (const piece of pieces) this.#parse(piece)
      if (kind !== "more") this.#body = { kind: "trailer", request: body.request }
    } else if (body.kind === "length" && body.left > 0) {
      start.at = Math.min(from + body.left, bytes.length)
      body.left -= start.at - from
      this.#parse(bytes.subarray(from, start.at))
    } else {
      // The trailer, or what makes the request malformed.
      start.at = endOfHead(bytes, from, true)
      this.#parse(bytes.subarray(from, start.at))
    }
    if (body.kind !== "chunks" || !body.isSmall) this.#deps.turns.countBytes(start.at - from)
    if (body.request.complete) this.#body = undefined
  }

  #afterHead(bytes: Buffer, end: number): void {
    const request = this.#announced
    this.#announced = undefined
    if (request !== undefined && !request.complete) this.#body = bodyOf(request)
    if (request === undefined && endsHead(bytes, end)) this.#headBytes = 0
  }
}

function bodyOf(request: IncomingMessage): Body {
  const { "transfer-encoding": coding = "", "content-length": length = "0" } = request.headers
  return /chunked\s*$/i.test(coding)
    ? { kind: "chunks", request, joiner: new ChunkJoiner(), isSmall: false }
    : { kind: "length", request, left: Number(length) }
}

/**
 * The end of the head or trailer in progress, or its possible end; the end of the bytes at the latest. Empty lines before
 * a head are taken together, since the parser skips them. `isBegun`: the bytes before these may hold the beginning of its end.
 */
function endOfHead(bytes: Buffer, from: number, isBegun: boolean): number {
  if (isBegun) {
    const line = bytes.indexOf(LF, from)
    if (line >= 0 && line < from + 3) return line + 1
  } else {
    let at = from
    while (bytes[at] === CR || bytes[at] === LF) at += 1
    if (at > from) return at
  }
  const end = bytes.indexOf(headEnd, from)
  return end < 0 ? bytes.length : end + headEnd.length
}

/** True if a head ended here for which the parser has announced no request: empty lines, or a malformed head. */
function endsHead(bytes: Buffer, end: number): boolean {
  const last = bytes[end - 1]
  return last === LF && bytes[end - 2] === CR && bytes[end - 3] === LF
}
