/**
 * The writing side of a stream connection.
 *
 * On the wire, for clients that parse chunks: every record is one write and ends with CRLF; a keep-alive is a CRLF in its
 * own write; everything is ASCII, so that no chunk ends inside a character; and there is no content type, as X sends
 * none and its sample client takes a JSON one for a single document.
 *
 * Source: docs.x.com, "Consuming streaming data"; observed clients.
 */
import type { ServerResponse } from "node:http"
import type { MatchSeq } from "../../model/ids.ts"
import type { MatchEntry } from "../../model/match.ts"
import { asciiJson } from "../../model/render-post.ts"
import type { Clock } from "../../runtime/clock.ts"
import type { Events } from "../../runtime/events.ts"
import type { LineFormat } from "./line-format.ts"

const keepAliveChunk = chunkOf(Buffer.from("\r\n"))

/** Writes records and keep-alives to a response, and reports whether there is room. Writes the head at once. */
export class StreamWriter {
  readonly #response: ServerResponse
  readonly #deps: { readonly clock: Clock; readonly events: Events }
  readonly #format: LineFormat
  #delivered = 0
  #wroteAtMs: number

  constructor(response: ServerResponse, deps: { readonly clock: Clock; readonly events: Events }, format: LineFormat) {
    this.#response = response
    this.#deps = deps
    this.#format = format
    this.#wroteAtMs = deps.clock.monotonicMs()
    response.removeHeader("content-type")
    response.setHeader("cache-control", "no-cache, no-store, max-age=0")
    // The socket is not needed after the stream; a server that closes would wait for it.
    response.shouldKeepAlive = false
    response.flushHeaders()
  }

  /** Matches written. */
  get delivered(): number {
    return this.#delivered
  }

  /** When something was last written, by the monotonic clock. */
  get wroteAtMs(): number {
    return this.#wroteAtMs
  }

  /** True while the client has more to read than the socket should buffer. */
  get isFull(): boolean {
    const { socket, writableNeedDrain } = this.#response
    return writableNeedDrain || socket?.writableNeedDrain === true
  }

  /**
   * Writes entries as long as there is room, and returns the position of the last one written. Absent when none was. A
   * damaged one is reported and left out: it does not keep the others from the client.
   */
  write(entries: readonly MatchEntry[]): MatchSeq | undefined {
    let last: MatchSeq | undefined
    this.#inOneCall(() => {
      for (const entry of entries) {
        if (this.isFull) break
        last = entry.seq
        const chunk = recordChunk(entry, this.#format)
        if (chunk === undefined) {
          const error = new Error(`post ${entry.postId} is damaged`)
          this.#deps.events.failed({ where: "stream connection", error })
          continue
        }
        this.#writeChunk(chunk)
        this.#delivered += 1
      }
    })
    return last
  }

  /** Writes a keep-alive, unless the client has unread matches: it needs none. */
  writeKeepAlive(): void {
    this.#inOneCall(() => {
      if (!this.isFull) this.#writeChunk(keepAliveChunk)
    })
  }

  /** To the socket itself; through the response when that is not chunked (HTTP/1.0) or has no socket yet. */
  #writeChunk(chunk: Buffer): void {
    const { socket, chunkedEncoding } = this.#response
    if (socket !== null && chunkedEncoding) socket.write(chunk)
    else this.#response.write(contentOf(chunk))
  }

  /**
   * Sends writes in one system call, each as its own chunk. It is the socket that is corked: a response that is corked,
   * or corks itself because its socket is not, makes one chunk of everything written in a turn.
   */
  #inOneCall(write: () => void): void {
    const { socket } = this.#response
    socket?.cork()
    write()
    socket?.uncork()
    this.#wroteAtMs = this.#deps.clock.monotonicMs()
  }

  /** Waits for room. False when there was none within `ms`, or the signal came first. */
  async hasDrained(ms: number, signal: AbortSignal): Promise<boolean> {
    const drained = new AbortController()
    const stop = (): void => drained.abort()
    const { socket } = this.#response
    this.#response.once("drain", stop)
    socket?.once("drain", stop)
    await this.#deps.clock.sleep(ms, AbortSignal.any([signal, drained.signal]))
    this.#response.off("drain", stop)
    socket?.off("drain", stop)
    return !this.isFull
  }

  /**
   * Writes `message` and ends the response. Closes the connection when the client has not read everything within `msMax`,
   * or before `closing` is aborted.
   */
  async end(message: string, msMax: number, closing?: AbortSignal): Promise<void> {
    const taken = new AbortController()
    const stop = (): void => taken.abort()
    this.#response.once("finish", stop)
    this.#response.once("close", stop)
    this.#response.end(message, "latin1")
    const signal = closing === undefined ? taken.signal : AbortSignal.any([taken.signal, closing])
    await this.#deps.clock.sleep(msMax, signal)
    if (!this.#response.writableFinished) this.#response.destroy()
  }
}

const rendered = new WeakMap<MatchEntry, { readonly format: LineFormat; readonly chunk: Buffer }>()

/**
 * The chunk of an entry's record; `undefined` when the entry is damaged. The store returns the same entry to all who read
 * it within a short time, so what was rendered for one connection serves the others of the same format.
 */
function recordChunk(entry: MatchEntry, format: LineFormat): Buffer | undefined {
  const known = rendered.get(entry)
  if (known?.format === format) return known.chunk
  const { postJson } = entry
  if (postJson === undefined) return undefined
  const chunk = chunkOf(asciiJson(format.render({ ...entry, postJson })), "\r\n")
  rendered.set(entry, { format, chunk })
  return chunk
}

/**
 * The chunk of a chunked response that holds these bytes and `end`. Made here and not by the response, which would make
 * it again, in four writes, for each connection. Source: RFC 9112, 7.1.
 */
function chunkOf(bytes: Uint8Array, end = ""): Buffer {
  const head = Buffer.from(`${(bytes.length + end.length).toString(16)}\r\n`, "latin1")
  return Buffer.concat([head, bytes, Buffer.from(`${end}\r\n`, "latin1")])
}

/** The bytes that a chunk holds. */
function contentOf(chunk: Buffer): Buffer {
  return chunk.subarray(chunk.indexOf("\r\n") + 2, -2)
}
