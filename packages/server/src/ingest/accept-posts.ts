/**
 * Posts in: read, match, append.
 *
 *     lines ─► read ─► catch up with the rules ─► match ─► (batch) ─► append ─► report
 *       └── the next ones, meanwhile: ◄───────────────────────────────── by the writer of the store
 *
 * A batch is one transaction: its posts and their matches become durable together, and are reported after that. One
 * is appended while the next is read and matched, in their order. Of two bodies one may be matched before the other
 * and appended after it, so the order of the log is not that of the rules' versions.
 * A line that cannot be read is reported by its number, and takes nothing else with it.
 */
import type { Envelope } from "@sluice/api"
import type { RuleIndex } from "../matching/rule-index.ts"
import type { PostMatch } from "../model/match.ts"
import type { AcceptedPost } from "../model/post.ts"
import type { Clock } from "../runtime/clock.ts"
import type { Store } from "../store/store.ts"
import { LineReader, type Line } from "./lines.ts"
import { readEnvelope } from "./read-envelope.ts"

/** What became of the lines of a body, or of a part of it. */
export interface IngestReport {
  /** Posts that are new. */
  readonly accepted: number
  /** Posts whose id was stored already. */
  readonly duplicates: number
  /** The first hundred that were rejected. */
  readonly rejected: readonly { readonly line: number; readonly title: string; readonly detail: string }[]
  readonly rejectedCount: number
  /** Lines that were not blank: accepted, duplicates and rejected together. */
  readonly lines: number
  /** Entries appended to match logs. */
  readonly matches: number
}

/** Most rejections that a report names. */
const rejectedMax = 100

/** Posts matched at a time: what is parsed of a post is garbage after that, and the sooner the cheaper. Measured. */
const matchedAtOnce = 64

/** A batch is appended when it is this large. Measured: batches of 100 to 2,000 cost the same. */
const batchPostsMax = 500
const batchCharactersMax = 2_000_000

/** Nothing yet. */
export const emptyReport: IngestReport = {
  accepted: 0,
  duplicates: 0,
  rejected: [],
  rejectedCount: 0,
  lines: 0,
  matches: 0,
}

/** The report of two parts, one after the other. */
export function addReports(a: IngestReport, b: IngestReport): IngestReport {
  return {
    accepted: a.accepted + b.accepted,
    duplicates: a.duplicates + b.duplicates,
    rejected: [...a.rejected, ...b.rejected].slice(0, rejectedMax),
    rejectedCount: a.rejectedCount + b.rejectedCount,
    lines: a.lines + b.lines,
    matches: a.matches + b.matches,
  }
}

/** What an acceptor needs. */
export interface AcceptorDeps {
  readonly store: Pick<Store, "append">
  readonly rules: Pick<RuleIndex, "catchUp" | "match">
  readonly clock: Clock
}

/** Who is told of what becomes of a body. */
export interface AcceptorListener {
  /** A batch is durable. */
  appended(report: IngestReport): void
  /** A batch could not be appended, and nothing after it will be. */
  failed(error: unknown): void
}

interface ReadPost {
  readonly post: AcceptedPost
  readonly envelope: Envelope
}

interface MatchedPost {
  readonly post: AcceptedPost
  readonly matches: readonly PostMatch[]
}

type Rejections = Pick<IngestReport, "rejected" | "rejectedCount">

/** Takes in one body of NDJSON, chunk by chunk; one call at a time. */
export class PostAcceptor {
  readonly #deps: AcceptorDeps
  readonly #listener: AcceptorListener
  readonly #lines = new LineReader()
  /** Read and not matched. */
  #read: ReadPost[] = []
  /** Matched and not appended. */
  #batch: MatchedPost[] = []
  #batchCharacters = 0
  #rejected: { line: number; title: string; detail: string }[] = []
  #rejectedCount = 0
  /** The batch before. */
  #appending = Promise.resolve()

  constructor(deps: AcceptorDeps, listener: AcceptorListener) {
    this.#deps = deps
    this.#listener = listener
  }

  /** Reads a chunk, and appends the batches that become full. Rejects when a post cannot be matched or appended. */
  async write(chunk: Uint8Array): Promise<void> {
    await this.#take(this.#lines.read(chunk))
  }

  /**
   * Has what was read appended as soon as the batch before is. Resolves then, so that at most one is under way; with
   * false when there was nothing.
   */
  async flush(): Promise<boolean> {
    await this.#matchRead()
    const [batch, rejected, rejectedCount] = [this.#batch, this.#rejected, this.#rejectedCount]
    if (batch.length === 0 && rejectedCount === 0) return false
    this.#batch = []
    this.#batchCharacters = 0
    this.#rejected = []
    this.#rejectedCount = 0
    await this.#appending
    this.#appending = this.#append(batch, { rejected, rejectedCount })
    // The next to wait for it hears of it, but there may be none.
    this.#appending.catch((error: unknown) => this.#listener.failed(error))
    return true
  }

  /** Waits until the batch that is under way is durable, or has failed. */
  async settled(): Promise<void> {
    await this.#appending.catch(() => undefined)
  }

  /** Has what was read appended, and waits until all of the body is durable. */
  async stop(): Promise<void> {
    await this.flush()
    await this.#appending
  }

  /** Reads what is left when no more chunks come, and waits until all of the body is durable. */
  async end(): Promise<void> {
    await this.#take(this.#lines.end())
    await this.stop()
  }

  async #take(lines: Iterable<Line>): Promise<void> {
    for (const line of lines) {
      this.#readLine(line)
      if (this.#read.length >= matchedAtOnce) await this.#matchRead()
      const count = this.#batch.length + this.#read.length
      if (count >= batchPostsMax || this.#batchCharacters >= batchCharactersMax) await this.flush()
    }
  }

  #readLine(line: Line): void {
    if ("fault" in line) {
      this.#reject(line.number, line.fault)
      return
    }
    const read = readEnvelope(line.text, this.#deps.clock.nowMs())
    if (!read.ok) {
      this.#reject(line.number, read)
      return
    }
    this.#read.push(read)
    this.#batchCharacters += line.text.length
  }

  #reject(line: number, { title, detail }: { readonly title: string; readonly detail: string }): void {
    this.#rejectedCount += 1
    if (this.#rejected.length < rejectedMax) this.#rejected.push({ line, title, detail })
  }

  async #matchRead(): Promise<void> {
    const read = this.#read
    if (read.length === 0) return
    this.#read = []
    const { rules } = this.#deps
    await rules.catchUp()
    const matches = await rules.match(read.map(({ envelope }) => envelope))
    for (const [at, { post }] of read.entries()) this.#batch.push({ post, matches: matches[at] ?? [] })
  }

  async #append(batch: readonly MatchedPost[], rejections: Rejections): Promise<void> {
    const { store, clock } = this.#deps
    const isNew = batch.length === 0 ? [] : await store.append(batch, clock.nowMs())
    const accepted = batch.filter((_, index) => isNew[index])
    this.#listener.appended({
      ...rejections,
      accepted: accepted.length,
      duplicates: batch.length - accepted.length,
      lines: batch.length + rejections.rejectedCount,
      matches: accepted.reduce((count, one) => count + one.matches.length, 0),
    })
  }
}
