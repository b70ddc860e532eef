/**
 * The writing side of a stream connection.
 *
 * On the wire, for clients that parse chunks: every record is a chunk of its own and ends with CRLF; a keep-alive is a
 * CRLF in its own chunk; everything is ASCII, so that no chunk ends inside a character; there is no content type, as
 * X sends none and its sample client takes a JSON one for a single document; and no header `Connection`, as X sends none and
 * a Go client takes `close` for the end of the stream.
 *
 * Source: docs.x.com, "Consuming streaming data"; a recorded response of X; observed clients.
 */
import type { ServerResponse } from "node:http"
import type { Clock } from "../../runtime/clock.ts"
import type { Events } from "../../runtime/events/events.ts"
import type { LineFormat, StreamRecord } from "./line-format.ts"
import { chunkText, contentOf, recordRun, type Chunk } from "./record-chunks.ts"

const keepAliveText = Buffer.from(chunkText("\r\n"), "latin1")
const keepAliveChunk: Chunk = { buffer: keepAliveText, start: 0, end: keepAliveText.length }

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
    // Removed before it is set: Node adds none of its own then, and keeps the connection open after the stream. No client is
    // warned of a close, and one that sends its next request at that moment would lose it.
    response.removeHeader("connection")
    response.flushHeaders()
  }

  /** Records written. */
  get delivered(): number {
    return this.#delivered
  }

  /** When something was last written, by the monotonic clock. */
  get wroteAtMs(): number {
    return this.#wroteAtMs
  }

  /** The client has left: nothing that is written arrives. */
  get hasLeft(): boolean {
    return this.#response.destroyed || this.#response.req.socket.destroyed
  }

  /** True while the client has more to read than the socket should buffer. False once it has left: there is no socket. */
  get isFull(): boolean {
    const { socket, writableNeedDrain } = this.#response
    return writableNeedDrain || socket?.writableNeedDrain === true
  }

  /**
   * Writes entries as long as there is room, and returns how many: none when the client has left. A damaged one is reported
   * and left out, as if written: it does not keep the others from the client. So is a deleted one, without a report.
   */
  write(entries: readonly StreamRecord[]): number {
    let count = 0
    let room = this.#roomBytes
    this.#inOneCall(() => {
      while (count < entries.length && room > 0) {
        const run = recordRun(entries, count, this.#format, this.#isToSocket ? room : 1)
        if (run === undefined) {
          this.#leaveOut(entries[count] as StreamRecord)
          count += 1
          continue
        }
        this.#writeChunk(run.chunks)
        this.#delivered += run.count
        count += run.count
        room -= run.chunks.end - run.chunks.start
      }
    })
    return count
  }

  #leaveOut({ postId, isDeleted }: StreamRecord): void {
    if (isDeleted === true) return
    const error = new Error(`post ${postId} is damaged`)
    this.#deps.events.failed({ where: "stream connection", error })
  }

  /** Writes a keep-alive, unless the client has unread matches: it needs none. */
  writeKeepAlive(): void {
    this.#inOneCall(() => {
      if (!this.isFull) this.#writeChunk(keepAliveChunk)
    })
  }

  /** Bytes that the client may still have unread. The last record may go over them. */
  get #roomBytes(): number {
    const { writableHighWaterMark, writableLength } = this.#response.socket ?? this.#response
    return this.isFull || this.hasLeft ? 0 : Math.max(1, writableHighWaterMark - writableLength)
  }

  /**
   * True when chunks are written to the socket itself; else through the response: it is not chunked, or has no socket
   * yet.
   */
  get #isToSocket(): boolean {
    return this.#response.socket !== null && this.#response.chunkedEncoding
  }

  /** To the socket itself; through the response when that is not chunked (HTTP/1.0) or has no socket yet. */
  #writeChunk(chunk: Chunk): void {
    const { socket, chunkedEncoding } = this.#response
    if (socket !== null && chunkedEncoding) socket.write(chunk.buffer.subarray(chunk.start, chunk.end))
    else this.#response.write(contentOf(chunk))
  }

  /**
   * Sends writes in one system call. It is the socket that is corked: a response that is corked, or corks itself because
   * its socket is not, makes one chunk of everything written in a turn.
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
    signal.addEventListener("abort", stop, { once: true })
    if (signal.aborted) stop()
    await this.#deps.clock.sleep(ms, drained.signal)
    this.#response.off("drain", stop)
    socket?.off("drain", stop)
    signal.removeEventListener("abort", stop)
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
