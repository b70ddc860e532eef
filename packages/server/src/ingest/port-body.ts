/**
 * One body of posts in the main thread: its chunks go to an intake thread, within the bounds of what may be unread.
 *
 * A chunk that owns its memory, as those of a socket do, is transferred without a copy. Small chunks are joined while
 * many others are unread, since each message takes memory of its own.
 */
import { SourceSuperseded } from "../model/source-superseded.ts"
import { embeddingsUnavailable, ingestCrowded, storeUnavailable, type Problem } from "../model/problem.ts"
import { EmbeddingsUnavailable } from "../runtime/embeddings.ts"
import type { PortCalls } from "../runtime/port-calls.ts"
import { addReports, emptyReport, type IngestReport } from "./ingest-report.ts"
import { memoryOf, PartialLinesTooLarge, TooManyRejected, type IntakeFunctions } from "./intake-messages.ts"

/** The rest of a body is not read: too many of its lines were rejected. */
export class BodyRefused extends Error {
  override readonly name = "BodyRefused"
  /** The report of what was read. All accepted posts are durable. */
  readonly report: IngestReport

  constructor(report: IngestReport) {
    super("Too many lines of the body were rejected.")
    this.report = report
  }
}

/** One body of NDJSON while it is received. */
export interface IntakeBody {
  /**
   * Aborted when a part of the body could not be matched or stored, or was refused. The reason is a `Problem`,
   * `BodyRefused` or `SourceSuperseded`.
   */
  readonly failed: AbortSignal
  /**
   * Sends a chunk. The chunk is detached, unless it is small or shares its memory. Resolves when there is room for
   * another one. Throws the reason once the body has failed.
   */
  write(chunk: Uint8Array): Promise<void>
  /**
   * Ends the body, after its last chunk if that is given. The report of the whole body, once all of it is durable. Throws
   * the reason once the body has failed.
   */
  end(lastChunk?: Uint8Array): Promise<IngestReport>
  /** As `end`, before the body is complete: a partial last line is discarded. */
  stop(): Promise<IngestReport>
  /** The client has disconnected: what was read is stored, the rest is discarded. */
  abort(): void
}

/**
 * Sends the chunks of a complete body, and ends it. Returns its report once all of it is durable. Throws the reason of the
 * body when it fails; nothing of it stays open then.
 */
export async function endWith(body: IntakeBody, chunks: readonly Uint8Array[]): Promise<IngestReport> {
  try {
    for (const chunk of chunks.slice(0, -1)) await body.write(chunk)
    return await body.end(chunks.at(-1))
  } catch (error) {
    body.abort()
    throw error
  }
}

/** Most memory of a body's chunks that are unread, or read and not durable. At the bound, `write` waits. Ours. */
const windowBytesMax = 4 * 1024 * 1024

/** Most memory of all bodies together. At the bound, `write` waits until its own body has nothing unread. Ours. */
const allWindowsBytesMax = 16 * 1024 * 1024

/** Smaller chunks are joined up to this size, while so much is unread. Ours. */
const joinedBytes = 16 * 1024
const unjoinedBytesMax = 128 * 1024

/** The unread bytes of all bodies. */
export class Backlog {
  #bytes = 0
  #room = Promise.withResolvers<void>()

  get isFull(): boolean {
    return this.#bytes > allWindowsBytesMax
  }

  /** Resolves when the backlog becomes smaller. */
  get room(): Promise<void> {
    return this.#room.promise
  }

  /** `bytes` is negative when they were read or discarded. */
  add(bytes: number): void {
    this.#bytes += bytes
    if (bytes > 0) return
    this.#room.resolve()
    this.#room = Promise.withResolvers()
  }
}

/** A body whose chunks go through a port. Its owner passes on what the intake thread replies. */
export class PortBody implements IntakeBody {
  readonly #port: PortCalls<IntakeFunctions>
  readonly #id: number
  readonly #onBatch: (report: IngestReport) => void
  readonly #forget: () => void
  readonly #backlog: Backlog
  readonly #failure = new AbortController()
  readonly #finished = Promise.withResolvers<IngestReport>()
  #report = emptyReport
  /** Memory of chunks that were sent and are unread. */
  #unreadBytes = 0
  /** Small chunks that are not sent yet, one after the other. */
  #joined = Buffer.alloc(0)
  #joinedCount = 0
  #room = Promise.withResolvers<void>()

  constructor(
    port: PortCalls<IntakeFunctions>,
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
    // `write` and `end` report a failure. A body that is aborted has no caller left to handle one.
    this.#finished.promise.catch(() => undefined)
  }

  get failed(): AbortSignal {
    return this.#failure.signal
  }

  async write(chunk: Uint8Array): Promise<void> {
    this.failed.throwIfAborted()
    if (chunk.length >= joinedBytes) {
      this.#sendJoined()
      this.#sendChunk(ownsItsMemory(chunk) ? chunk : new Uint8Array(chunk))
    } else {
      this.#join(chunk)
    }
    while (this.#unreadBytes > windowBytesMax) {
      await this.#room.promise
      this.failed.throwIfAborted()
    }
    // A body without unread chunks may always continue, so that none waits forever.
    while (this.#unreadBytes > 0 && this.#backlog.isFull) {
      await Promise.race([this.#room.promise, this.#backlog.room])
      this.failed.throwIfAborted()
    }
  }

  end(lastChunk?: Uint8Array): Promise<IngestReport> {
    this.#sendJoined()
    if (lastChunk === undefined) this.#port.tell("end", [this.#id])
    else {
      const bytes = ownsItsMemory(lastChunk) ? lastChunk : new Uint8Array(lastChunk)
      this.#count(memoryOf(bytes))
      this.#port.tell("end", [this.#id, bytes], [bytes.buffer])
    }
    return this.#finished.promise
  }

  stop(): Promise<IngestReport> {
    this.#sendJoined()
    this.#port.tell("stop", [this.#id])
    return this.#finished.promise
  }

  abort(): void {
    this.#port.tell("abort", [this.#id])
    this.#forget()
  }

  #join(chunk: Uint8Array): void {
    if (this.#joinedCount + chunk.length > joinedBytes) this.#sendJoined()
    if (this.#joined.length === 0) this.#joined = Buffer.allocUnsafeSlow(joinedBytes)
    this.#joined.set(chunk, this.#joinedCount)
    this.#joinedCount += chunk.length
    // Each durable batch and each chunk that is read makes this smaller, so joined bytes never wait for further chunks.
    if (this.#unreadBytes < unjoinedBytesMax) this.#sendJoined()
  }

  #sendJoined(): void {
    if (this.#joinedCount === 0) return
    const bytes = new Uint8Array(this.#joined.subarray(0, this.#joinedCount))
    this.#joinedCount = 0
    this.#sendChunk(bytes)
  }

  #sendChunk(bytes: Uint8Array<ArrayBuffer>): void {
    this.#count(memoryOf(bytes))
    this.#port.tell("chunk", [this.#id, bytes], [bytes.buffer])
  }

  /** Chunks that took this much memory are read. */
  read(bytes: number): void {
    this.#count(-bytes)
    if (this.#unreadBytes < unjoinedBytesMax) this.#sendJoined()
    this.#makeRoom()
  }

  /** A batch is durable, and chunks that took this much memory are read. */
  batch(report: IngestReport, bytes: number): void {
    this.#report = addReports(this.#report, report)
    this.#onBatch(report)
    this.read(bytes)
  }

  /** All of the body is durable. */
  done(): void {
    this.#forget()
    this.#finished.resolve(this.#report)
  }

  /** A part of the body could not be accepted. */
  fail(error: Error): void {
    const reason = error instanceof TooManyRejected ? new BodyRefused(this.#report) : problemOf(error)
    this.#forget()
    this.#finished.reject(reason)
    this.#failure.abort(reason)
    this.#makeRoom()
  }

  #count(bytes: number): void {
    this.#unreadBytes += bytes
    this.#backlog.add(bytes)
  }

  #makeRoom(): void {
    this.#room.resolve()
    this.#room = Promise.withResolvers()
  }
}

/**
 * True when a chunk shares its memory with nothing else, and can be transferred. Copies would fill the main thread's
 * memory with bytes that it only passes on: at full ingest its garbage collector would stop it for 10 to 30 ms a
 * second. Measured.
 */
function ownsItsMemory(chunk: Uint8Array): chunk is Uint8Array<ArrayBuffer> {
  return chunk.buffer instanceof ArrayBuffer && chunk.length === chunk.buffer.byteLength
}

function problemOf(error: Error): Problem | SourceSuperseded {
  if (error instanceof SourceSuperseded) return error
  if (error instanceof PartialLinesTooLarge) {
    return ingestCrowded("Lines without their end take too much memory, and this body held most of it.")
  }
  return error instanceof EmbeddingsUnavailable ? embeddingsUnavailable(error) : storeUnavailable(error)
}
