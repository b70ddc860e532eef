/**
 * Ingest of one body: read, match, append.
 *
 *     catch up with the rules ─► lines ─► walk, match ─► batch ─► append ─► report
 *       └────────── the next lines, meanwhile ◄─────────────────── by the store
 *
 * A batch is appended (`post-batches.ts`) while the next one is read and matched. One body may be matched before
 * another and appended after it, so the order of a log is not that of the versions of the rules. A line that cannot be
 * read is reported by its number and affects no other line. When too many lines are rejected, the rest of the body is
 * not read. A body takes turns with others (`runtime/turns.ts`).
 */
import type { RuleIndex } from "../matching/rule-index.ts"
import type { Clock } from "../runtime/clock.ts"
import { TooManyRejected } from "./intake-messages.ts"
import { LineReader, textOfLine, type Line } from "./lines.ts"
import { PostBatches, type BatchDeps, type BatchListener } from "./post-batches.ts"
import { readDeletion } from "./read-deletion.ts"
import { parsedPost, PostMatching, walkedPost, type ReadPost } from "./post-matching.ts"
import type { Turn } from "../runtime/turns.ts"

/** Most rejected lines of a body beyond the accepted ones. At the bound the rest of the body is not read. Ours. */
export const rejectedBeyondTakenMax = 10_000

/** Lines read before the rules are caught up with again, though no line came meanwhile: 10 to 30 ms. Ours. */
const linesPerCatchUpMax = 512

/** Dependencies of an acceptor. */
export interface AcceptorDeps extends BatchDeps {
  readonly rules: Pick<RuleIndex, "catchUp" | "match" | "matchNow" | "walked">
  readonly clock: Clock
  /** Most bytes of a line. */
  readonly postBytesMax: number
  /** The turn of this body. */
  readonly turn: Pick<Turn, "next" | "spend">
}

/** Accepts one body of NDJSON, chunk by chunk. One call at a time. */
export class PostAcceptor {
  readonly #deps: AcceptorDeps
  readonly #batches: PostBatches
  readonly #lines: LineReader
  readonly #matching: PostMatching
  /** When the rules were last caught up with, and the lines that may be read before they are again. */
  #caughtUpAtMs = Number.NEGATIVE_INFINITY
  #linesBeforeCatchUp = 0
  /** Rejected lines of the whole body minus accepted ones; at least 0. */
  #rejectedBeyondTaken = 0
  #isAbandoned = false

  constructor(deps: AcceptorDeps, listener: BatchListener) {
    this.#deps = deps
    this.#lines = new LineReader(deps.postBytesMax)
    this.#batches = new PostBatches(deps, listener, () => this.#matching.hasUnmatched)
    this.#matching = new PostMatching({ ...deps, batches: this.#batches })
  }

  /** Bytes of memory that a line without its end takes. */
  get partialLineBytes(): number {
    return this.#lines.partialLineBytes
  }

  /** Stops reading after the current line, and discards a partial line. */
  abandon(): void {
    this.#isAbandoned = true
    this.#lines.forget()
  }

  /**
   * Reads a chunk, and appends each batch that becomes full. Rejects when a post cannot be matched or appended, or with
   * `TooManyRejected`. `cameAtMs` is when the chunk came, by the monotonic clock, unless it has come just now. Rule
   * changes confirmed before that apply to it: the first of several waiting chunks catches up with the rules for all.
   */
  async write(chunk: Uint8Array, cameAtMs = Number.POSITIVE_INFINITY): Promise<void> {
    if (cameAtMs >= this.#caughtUpAtMs) this.#linesBeforeCatchUp = 0
    await this.#readLines(this.#lines.read(chunk))
  }

  /**
   * Has what was read appended: now, or together with what is read until the append in progress has ended. Returns false
   * when there is nothing to append.
   */
  async flush(): Promise<boolean> {
    await this.#matching.matchRead()
    return this.#batches.flush()
  }

  /** Waits until everything that is to be appended is, or an append has failed. */
  async settled(): Promise<void> {
    await this.#batches.free().catch(() => undefined)
  }

  /** Appends what was read, and waits until all of it is durable. */
  async stop(): Promise<void> {
    await this.#flushWhenFree()
    await this.#batches.free()
  }

  /** Reads the last line, and waits until the whole body is durable. */
  async end(): Promise<void> {
    await this.#readLines(this.#lines.end())
    await this.stop()
  }

  async #readLines(lines: Iterable<Line>): Promise<void> {
    const { turn, rules, clock } = this.#deps
    for (const line of lines) {
      if (this.#linesBeforeCatchUp === 0) {
        this.#caughtUpAtMs = clock.monotonicMs()
        await rules.catchUp()
        this.#linesBeforeCatchUp = linesPerCatchUpMax
      }
      this.#linesBeforeCatchUp -= 1
      this.#readLine(line)
      if (this.#rejectedBeyondTaken >= rejectedBeyondTakenMax) {
        await this.stop()
        throw new TooManyRejected(`Too many lines were rejected, the last of them ${line.number}.`)
      }
      if (this.#matching.isDue) {
        await this.#matching.matchRead()
        this.#batches.flushDue()
      }
      if (this.#batches.isFull(this.#matching.unmatched)) {
        await this.#flushWhenFree()
        // Other bodies have had their turns while this one waited.
        await turn.next()
      } else {
        const pause = turn.spend(line.byteCount)
        if (pause !== undefined) await pause
      }
      if (this.#isAbandoned) return
    }
  }

  #readLine(line: Line): void {
    if ("fault" in line) {
      this.#reject(line.number, line.fault)
      return
    }
    this.#batches.countLine(line.byteCount)
    const walked = walkedPost(this.#deps.rules, line.bytes)
    if (walked !== undefined) {
      this.#take(walked)
      return
    }
    const text = textOfLine(line.bytes)
    if (text === "") return
    if (typeof text !== "string") {
      this.#reject(line.number, text.fault)
      return
    }
    const read = parsedPost(text, this.#deps.clock.nowMs())
    if (read.ok) {
      this.#take(read)
      return
    }
    const deletion = readDeletion(text)
    if (deletion?.ok === true) this.#batches.delete(deletion.request)
    else this.#reject(line.number, deletion ?? read)
  }

  #take(read: ReadPost): void {
    if (this.#rejectedBeyondTaken > 0) this.#rejectedBeyondTaken -= 1
    this.#matching.take(read)
  }

  #reject(line: number, { title, detail }: { readonly title: string; readonly detail: string }): void {
    this.#rejectedBeyondTaken += 1
    this.#batches.reject(line, title, detail)
  }

  async #flushWhenFree(): Promise<void> {
    await this.#matching.matchRead()
    await this.#batches.flushWhenFree()
  }
}
