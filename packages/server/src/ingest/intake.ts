/**
 * The main thread's door to ingest: bodies go in by chunks, reports come out.
 *
 *     main thread                         intake thread
 *     body.write(chunk) ── bytes ──►      PostAcceptor
 *       (waits while more than
 *        a window is unread)  ◄── read ──     now and then
 *     onBatch(report)         ◄── batch ──    after each commit, with what was read
 *     body.end()              ◄── done ──     after the last
 *     body.failed             ◄── failed ──   when a batch could not be matched or stored
 *
 * Bytes change hands without a copy, when they have their memory for themselves, as those of a socket do.
 */
import type { MessagePort } from "node:worker_threads"
import { embeddingsUnavailable, storeUnavailable, type Problem } from "../model/problem.ts"
import type { Events } from "../runtime/events.ts"
import { addReports, emptyReport, type IngestReport } from "./accept-posts.ts"

/** From the main thread. */
export type IntakeRequest =
  | { readonly kind: "chunk"; readonly body: number; readonly bytes: Uint8Array }
  | { readonly kind: "end"; readonly body: number }
  | { readonly kind: "stop"; readonly body: number }
  | { readonly kind: "abort"; readonly body: number }

/** What there is to say of the rules that posts are matched by. */
interface IndexNumbers {
  readonly rules: number
  readonly scanned: number
  /** Over all posts since the thread started. */
  readonly candidates: number
}

/** From the intake thread. */
export type IntakeReply =
  /** So many more bytes are read. */
  | { readonly kind: "read"; readonly body: number; readonly bytes: number }
  /** A batch is durable, and so many more bytes are read: one message wakes the other thread once. */
  | {
      readonly kind: "batch"
      readonly body: number
      readonly report: IngestReport
      readonly bytes: number
      readonly index: IndexNumbers
    }
  | { readonly kind: "done"; readonly body: number }
  | {
      readonly kind: "failed"
      readonly body: number
      /** What it could not do without. Errors lose their class on the way between threads. */
      readonly lacking: "store" | "embeddings"
      readonly error: unknown
    }
  | { readonly kind: "indexed"; readonly index: IndexNumbers }
  | { readonly kind: "index-failed"; readonly error: unknown }

/** One body of NDJSON on its way in. */
export interface IntakeBody {
  /** Aborted when a part of the body could not be matched or stored; the reason is the `Problem`. */
  readonly failed: AbortSignal
  /**
   * Takes the chunk away: it is empty afterwards, unless it shares its memory. Resolves when more is welcome. Throws
   * the `Problem` once the body has failed.
   */
  write(chunk: Uint8Array): Promise<void>
  /** The report of the whole body, once all of it is durable. Throws the `Problem` once the body has failed. */
  end(): Promise<IngestReport>
  /** As `end`, of a body that is not over: a line without its end is forgotten. */
  stop(): Promise<IngestReport>
  /** The client is gone: what was read is kept, the rest forgotten. */
  abort(): void
}

/** Where posts are poured in. */
export interface Intake {
  /** Begins a body. `onBatch` is called after each durable batch with what it held. */
  open(onBatch?: (report: IngestReport) => void): IntakeBody
}

/** Most bytes of a body that wait to be read. At the bound, `write` waits. Ours. */
const windowBytesMax = 4 * 1024 * 1024

/** Most bytes of all bodies together. At the bound, `write` waits until its own body has nothing left to be read. Ours. */
const allWindowsBytesMax = 16 * 1024 * 1024

/** The intake at the other end of `port`. */
export function intakeThrough(
  port: MessagePort,
  events: Pick<Events, "failed" | "postsAccepted" | "rulesIndexed">,
): Intake {
  const bodies = new Map<number, PortBody>()
  let lastBody = 0
  let hasEnded = false
  const backlog = new Backlog()

  // Also of bodies whose sender is gone: what they held is stored all the same.
  function tell(reply: IntakeReply): void {
    switch (reply.kind) {
      case "batch": {
        const { accepted, duplicates, rejectedCount, matches } = reply.report
        events.postsAccepted({ accepted, duplicates, rejected: rejectedCount, matches })
        events.rulesIndexed(reply.index)
        return
      }
      case "failed":
        events.failed({ where: reply.lacking === "store" ? "ingest" : "embeddings", error: reply.error })
        return
      case "indexed":
        events.rulesIndexed(reply.index)
        return
      case "index-failed":
        events.failed({ where: "rule index", error: reply.error })
        return
      case "read":
      case "done":
    }
  }

  function receive(reply: IntakeReply): void {
    tell(reply)
    if ("body" in reply) bodies.get(reply.body)?.receive(reply)
  }

  port.on("message", receive)
  function failForWantOfThread(body: number): void {
    receive({ kind: "failed", body, lacking: "store", error: new Error("The intake thread has ended.") })
  }

  port.on("close", () => {
    hasEnded = true
    for (const body of bodies.keys()) failForWantOfThread(body)
  })
  return {
    open(onBatch = () => undefined) {
      lastBody += 1
      const id = lastBody
      const body = new PortBody(port, id, backlog, onBatch, () => bodies.delete(id))
      bodies.set(id, body)
      if (hasEnded) failForWantOfThread(id)
      return body
    },
  }
}

/** What of all bodies waits to be read. */
class Backlog {
  #bytes = 0
  #room = Promise.withResolvers<void>()

  get isFull(): boolean {
    return this.#bytes > allWindowsBytesMax
  }

  /** Resolves when something was read. */
  get room(): Promise<void> {
    return this.#room.promise
  }

  /** Negative when bytes were read, or are forgotten. */
  add(bytes: number): void {
    this.#bytes += bytes
    if (bytes > 0) return
    this.#room.resolve()
    this.#room = Promise.withResolvers()
  }
}

class PortBody implements IntakeBody {
  readonly #port: MessagePort
  readonly #id: number
  readonly #onBatch: (report: IngestReport) => void
  readonly #forget: () => void
  readonly #backlog: Backlog
  readonly #failure = new AbortController()
  readonly #finished = Promise.withResolvers<IngestReport>()
  #report = emptyReport
  #unreadBytes = 0
  #room = Promise.withResolvers<void>()

  constructor(
    port: MessagePort,
    id: number,
    backlog: Backlog,
    onBatch: (report: IngestReport) => void,
    forget: () => void,
  ) {
    this.#port = port
    this.#id = id
    this.#backlog = backlog
    this.#onBatch = onBatch
    this.#forget = () => {
      this.#count(-this.#unreadBytes)
      forget()
    }
    // Whoever writes or ends hears of a failure; a body that is only aborted has nobody to hear.
    this.#finished.promise.catch(() => undefined)
  }

  get failed(): AbortSignal {
    return this.#failure.signal
  }

  async write(chunk: Uint8Array): Promise<void> {
    this.failed.throwIfAborted()
    const bytes = ownsItsMemory(chunk) ? chunk : new Uint8Array(chunk)
    const { length } = bytes
    this.#port.postMessage({ kind: "chunk", body: this.#id, bytes } satisfies IntakeRequest, [bytes.buffer])
    this.#count(length)
    while (this.#unreadBytes > windowBytesMax) {
      await this.#room.promise
      this.failed.throwIfAborted()
    }
    // A body of which nothing waits may always go on, so that none waits for ever.
    while (this.#unreadBytes > 0 && this.#backlog.isFull) {
      await Promise.race([this.#room.promise, this.#backlog.room])
      this.failed.throwIfAborted()
    }
  }

  end(): Promise<IngestReport> {
    this.#send({ kind: "end", body: this.#id })
    return this.#finished.promise
  }

  stop(): Promise<IngestReport> {
    this.#send({ kind: "stop", body: this.#id })
    return this.#finished.promise
  }

  abort(): void {
    this.#send({ kind: "abort", body: this.#id })
    this.#forget()
  }

  receive(reply: Extract<IntakeReply, { body: number }>): void {
    switch (reply.kind) {
      case "read":
        this.#noteRead(reply.bytes)
        return
      case "batch":
        this.#report = addReports(this.#report, reply.report)
        this.#onBatch(reply.report)
        this.#noteRead(reply.bytes)
        return
      case "done":
        this.#forget()
        this.#finished.resolve(this.#report)
        return
      case "failed": {
        const problem = problemOf(reply)
        this.#forget()
        this.#finished.reject(problem)
        this.#failure.abort(problem)
        this.#makeRoom()
      }
    }
  }

  #count(bytes: number): void {
    this.#unreadBytes += bytes
    this.#backlog.add(bytes)
  }

  #noteRead(bytes: number): void {
    this.#count(-bytes)
    this.#makeRoom()
  }

  #makeRoom(): void {
    this.#room.resolve()
    this.#room = Promise.withResolvers()
  }

  #send(request: IntakeRequest): void {
    this.#port.postMessage(request)
  }
}

/**
 * Whether nobody else may see these bytes. What is copied instead would have the main thread's memory fill up with
 * what it only passes on, and its garbage collector stop it for 10 to 30 ms a second at full ingest. Measured.
 */
function ownsItsMemory(chunk: Uint8Array): chunk is Uint8Array<ArrayBuffer> {
  return chunk.buffer instanceof ArrayBuffer && chunk.length === chunk.buffer.byteLength
}

function problemOf({ lacking, error }: Extract<IntakeReply, { kind: "failed" }>): Problem {
  return lacking === "embeddings" && error instanceof Error
    ? embeddingsUnavailable(error)
    : storeUnavailable(error)
}
