/**
 * Throttles bodies that arrive in very small chunks: they are read one after the other.
 *
 *     many chunks in one turn of the event loop ─► paused ─► queued ─► resumed, one body every 50 ms
 *
 * A chunk costs the same whatever its size, and one read of a socket may hold ten thousand chunks of one byte: tens of
 * milliseconds in which no one else is served, repeatedly, for each connection. Most programs send chunks of a kilobyte
 * and more and never wait here. A program that sends one JSON token per chunk is slower, but served.
 */
import type { IncomingMessage } from "node:http"
import type { Clock } from "../runtime/clock.ts"

/** A chunk below this size is very small. Ours. */
const smallBytes = 256

/** Maximum number of small chunks of a body in one turn before it is paused. Ours: a few milliseconds of work. */
const chunksPerTurnMax = 1_000

/** Small chunks of a turn that are passed on one by one. Later ones are joined, which costs a third. Ours. */
const separateChunksMax = 100

/** Time between two paused bodies that resume. Reading one takes about half of it. Measured. */
const intervalMs = 50

/** Pauses such bodies. They resume in order, and there is at most one per connection. */
export class SmallChunkThrottle {
  readonly #clock: Clock
  readonly #paused: (() => void)[] = []
  #isResuming = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Counts the chunks of the request's body. Must be called before the body is read. */
  track(request: IncomingMessage): void {
    if (request.headers["transfer-encoding"] === undefined) return
    let chunks = 0
    /** The small chunks of this turn that are to be pushed together. */
    let small: Buffer[] = []
    let state: "reading" | "over limit" | "paused" = "reading"
    const push = request.push.bind(request)
    const read = request._read.bind(request)
    const pushSmall = (): void => {
      if (small.length > 0) push(Buffer.concat(small))
      small = []
    }
    const endTurn = (): void => {
      chunks = 0
      pushSmall()
    }
    // Node stops reading a socket when `push` returns false, and continues at the next `_read`.
    request.push = (chunk: Buffer | null, encoding?: BufferEncoding) => {
      const isSmall = chunk !== null && chunk.length < smallBytes
      if (isSmall) {
        if (chunks === 0) setImmediate(endTurn)
        chunks += 1
      }
      if (chunks > chunksPerTurnMax && state === "reading") state = "over limit"
      if (isSmall && chunks > separateChunksMax) small.push(chunk)
      else {
        pushSmall()
        if (!push(chunk, encoding)) return false
      }
      return state === "reading"
    }
    request._read = (size) => {
      if (state === "reading") read(size)
      if (state !== "over limit") return
      state = "paused"
      this.#resumeLater(() => {
        state = "reading"
        read(size)
      })
    }
  }

  #resumeLater(resume: () => void): void {
    this.#paused.push(resume)
    if (!this.#isResuming) void this.#resumeAll()
  }

  async #resumeAll(): Promise<void> {
    this.#isResuming = true
    while (this.#paused.length > 0) {
      await this.#clock.sleep(intervalMs)
      this.#paused.shift()?.()
    }
    this.#isResuming = false
  }
}
