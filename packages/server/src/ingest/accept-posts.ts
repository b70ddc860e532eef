/**
 * Ingest of one body: read, match, append.
 *
 *     catch up with the rules ─► lines ─► walk, match ─► batch ─► append ─► report
 *       └────────── the next lines, meanwhile ◄─────────────────── by the store
 *
 * A batch is one transaction: its posts and their matches become durable together, and are reported after that. A
 * batch is appended while the next one is read and matched; batches keep their order. What comes in meanwhile goes into
 * one batch, unless it is full: a line waits for the append in progress, and not for one of each chunk before it. Of two
 * bodies one may be matched before the other and appended after it, so the order of a log is not that of the versions of
 * the rules. Of posts that are not to be delivered, the matches are counted and not appended: the log is what readers
 * deliver.
 * A line that cannot be read is reported by its number and affects no other line. When too many lines are rejected, the
 * rest of the body is not read. A body takes turns with others (`runtime/turns.ts`).
 */
import type { Envelope } from "@sluice/api"
import { WalkedPost } from "@sluice/rules/walk"
import type { RuleIndex } from "../matching/rule-index.ts"
import type { AppId } from "../model/ids.ts"
import type { PostMatch } from "../model/match.ts"
import type { AcceptedPost } from "../model/post.ts"
import type { Clock } from "../runtime/clock.ts"
import type { Store } from "../store/store.ts"
import { LineReader, textOfLine, type Line } from "./lines.ts"
import type { RuleMatchCounts } from "./rule-match-counts.ts"
import { readEnvelope } from "./read-envelope.ts"
import { walkEnvelope } from "./walk-envelope.ts"
import type { Turn } from "../runtime/turns.ts"

/** The outcome of the lines of a body, or of a part of it. */
export interface IngestReport {
  /** New posts. */
  readonly accepted: number
  /** Posts whose id is stored already. */
  readonly duplicates: number
  /** The rejected lines: all of a batch; of a whole body the first 100. */
  readonly rejected: readonly { readonly line: number; readonly title: string; readonly detail: string }[]
  readonly rejectedCount: number
  /** Lines that were not blank: accepted, duplicates and rejected together. */
  readonly lines: number
  /** Entries appended to match logs. */
  readonly matches: number
  /** Matches that were counted instead; absent when none are counted. */
  readonly undelivered?: number
}

/**
 * What becomes of the matches of a body: they are appended to the logs of their apps; or they are not, and counted, those
 * of one app or of all; or not even that.
 */
export type MatchUse =
  | { readonly kind: "append" | "discard" }
  | { readonly kind: "count"; readonly appId?: AppId | undefined }

/** Most rejections that a report names. A batch with as many is reported, so that it names all of its own. */
const rejectedMax = 100

/** Most rejected lines of a body beyond those that are taken. At the bound the rest of the body is not read. Ours. */
export const rejectedBeyondTakenMax = 10_000

/** Too many lines of a body were rejected. What was taken before is durable. */
export class TooManyRejected extends Error {}

/** Posts matched at a time where they wait for each other. Ours. */
const matchedPostsMax = 64

/** Lines read before the rules are caught up with again, though no line came meanwhile: 10 to 30 ms. Ours. */
const linesPerCatchUpMax = 512

/** A batch of this size is appended. Measured: batches of 100 to 2,000 posts cost the same per post. */
const batchPostsMax = 500
const batchBytesMax = 2_000_000

/** The report of no lines. */
export const emptyReport: IngestReport = {
  accepted: 0,
  duplicates: 0,
  rejected: [],
  rejectedCount: 0,
  lines: 0,
  matches: 0,
}

/** The report of two parts of a body, `a` before `b`. */
export function addReports(a: IngestReport, b: IngestReport): IngestReport {
  return {
    accepted: a.accepted + b.accepted,
    duplicates: a.duplicates + b.duplicates,
    rejected: [...a.rejected, ...b.rejected].slice(0, rejectedMax),
    rejectedCount: a.rejectedCount + b.rejectedCount,
    lines: a.lines + b.lines,
    matches: a.matches + b.matches,
    ...((a.undelivered ?? b.undelivered) !== undefined && {
      undelivered: (a.undelivered ?? 0) + (b.undelivered ?? 0),
    }),
  }
}

/** What an acceptor needs. */
export interface AcceptorDeps {
  readonly store: Pick<Store, "append">
  readonly rules: Pick<RuleIndex, "catchUp" | "match" | "matchNow" | "walked">
  readonly ruleMatchCounts: Pick<RuleMatchCounts, "note">
  readonly clock: Clock
  /** Most bytes of a line. */
  readonly postBytesMax: number
  /** By default the matches are appended. */
  readonly matchUse?: MatchUse | undefined
  /** The turn of this body. */
  readonly turn: Pick<Turn, "next" | "spend">
}

/** Receives what becomes of a body. */
export interface AcceptorListener {
  /** The append of a batch begins: of all that was read and matched until now. */
  appending(): void
  /** That batch is durable. */
  appended(report: IngestReport): void
  /** It could not be appended. No later one will be. */
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

/** Accepts one body of NDJSON, chunk by chunk. One call at a time. */
export class PostAcceptor {
  readonly #deps: AcceptorDeps
  readonly #listener: AcceptorListener
  readonly #lines: LineReader
  /** Posts that are read and not matched, where `matchNow` cannot say what they match. */
  #read: ReadPost[] = []
  /** Such posts are being matched, or could not be. */
  #isMatching = false
  /** Posts that are matched and not appended. */
  #batch: MatchedPost[] = []
  /** Bytes of the lines since the last batch, which its posts are parts of, and of the matches. */
  #batchBytes = 0
  #rejected: { line: number; title: string; detail: string }[] = []
  /** When the rules were last caught up with, and the lines that may be read before they are again. */
  #caughtUpAtMs = Number.NEGATIVE_INFINITY
  #linesBeforeCatchUp = 0
  /** Rejected lines of the whole body minus taken ones; at least 0. */
  #rejectedBeyondTaken = 0
  #isAbandoned = false
  /** The append in progress, or the one that failed. */
  #appending: Promise<void> | undefined
  /** What was read is to be appended as soon as no other append is in progress. */
  #isFlushDue = false

  constructor(deps: AcceptorDeps, listener: AcceptorListener) {
    this.#deps = deps
    this.#lines = new LineReader(deps.postBytesMax)
    this.#listener = listener
  }

  /** Bytes of memory that a line without its end takes. */
  get partialLineBytes(): number {
    return this.#lines.partialLineBytes
  }

  /** Whether posts are read that are not part of a batch yet. */
  get hasUnmatched(): boolean {
    return this.#read.length > 0 || this.#isMatching
  }

  /** Stops reading after the current line, and discards a partial line. */
  abandon(): void {
    this.#isAbandoned = true
    this.#lines.forget()
  }

  /**
   * Reads a chunk, and appends each batch that becomes full. Rejects when a post cannot be matched or appended, or with
   * `TooManyRejected`. `cameAtMs` is when the chunk came, by the monotonic clock, unless it has come just now. What was
   * confirmed before that applies to it: of chunks that wait, the first has the rules caught up with for all.
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
    await this.#matchRead()
    if (this.#appending === undefined) return this.#beginAppend()
    this.#isFlushDue = this.#batch.length > 0 || this.#rejected.length > 0
    return this.#isFlushDue
  }

  /** Waits until everything that is to be appended is, or an append has failed. */
  async settled(): Promise<void> {
    await this.#free().catch(() => undefined)
  }

  /** Appends what was read, and waits until all of it is durable. */
  async stop(): Promise<void> {
    await this.#flushWhenFree()
    await this.#free()
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
      if (this.#read.length >= matchedPostsMax) await this.#matchRead()
      const count = this.#batch.length + this.#read.length
      const isFull = count >= batchPostsMax || this.#batchBytes >= batchBytesMax
      if (isFull || this.#rejected.length >= rejectedMax) {
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
    this.#batchBytes += line.byteCount
    const { walked } = this.#deps.rules
    const post = walked.read(line.bytes) ? walkEnvelope(walked, line.bytes) : undefined
    if (post !== undefined) {
      this.#take(post, walked)
      return
    }
    const text = textOfLine(line.bytes)
    if (text === "") return
    if (typeof text !== "string") {
      this.#reject(line.number, text.fault)
      return
    }
    const read = readEnvelope(text, this.#deps.clock.nowMs())
    if (read.ok) this.#take(read.post, read.envelope)
    else this.#reject(line.number, read)
  }

  /** Matches the post, which has been walked or parsed, or keeps it until it can be. */
  #take(post: AcceptedPost, source: WalkedPost | Envelope): void {
    if (this.#rejectedBeyondTaken > 0) this.#rejectedBeyondTaken -= 1
    const matches = this.#read.length === 0 ? this.#deps.rules.matchNow(source) : undefined
    if (matches !== undefined) this.#addToBatch(post, matches)
    else this.#read.push({ post, envelope: source instanceof WalkedPost ? (source.envelope as Envelope) : source })
  }

  #addToBatch(post: AcceptedPost, matches: readonly PostMatch[]): void {
    this.#batch.push({ post, matches })
    for (const match of matches) this.#batchBytes += rulesCharacters(match)
  }

  #reject(line: number, { title, detail }: { readonly title: string; readonly detail: string }): void {
    this.#rejectedBeyondTaken += 1
    this.#rejected.push({ line, title, detail })
  }

  async #matchRead(): Promise<void> {
    const read = this.#read
    if (read.length === 0) return
    this.#read = []
    this.#isMatching = true
    const { rules, turn } = this.#deps
    const matches = await rules.match(
      read.map(({ envelope }) => envelope),
      () => turn.spend(),
    )
    for (const [at, { post }] of read.entries()) this.#addToBatch(post, matches[at] ?? [])
    this.#isMatching = false
  }

  /** Starts to append what was read. Waits for the append in progress first, so that there is at most one. */
  async #flushWhenFree(): Promise<void> {
    await this.#matchRead()
    // Here and not by the end of that append: then there would be another one to wait for.
    this.#isFlushDue = false
    await this.#appending
    this.#beginAppend()
  }

  /** Waits until no append is in progress. Throws what one failed with. */
  async #free(): Promise<void> {
    while (this.#appending !== undefined) await this.#appending
  }

  #beginAppend(): boolean {
    const [batch, rejected] = [this.#batch, this.#rejected]
    this.#isFlushDue = false
    this.#batchBytes = 0
    if (batch.length === 0 && rejected.length === 0) return false
    this.#batch = []
    this.#rejected = []
    this.#listener.appending()
    this.#appending = this.#appendAndContinue(batch, rejected)
    // The next call rejects as well, but there may be none.
    this.#appending.catch((error: unknown) => this.#listener.failed(error))
    return true
  }

  async #appendAndContinue(batch: readonly MatchedPost[], rejected: IngestReport["rejected"]): Promise<void> {
    await this.#append(batch, rejected)
    this.#appending = undefined
    if (this.#isFlushDue) this.#beginAppend()
  }

  async #append(batch: readonly MatchedPost[], rejected: IngestReport["rejected"]): Promise<void> {
    const { store, clock, ruleMatchCounts, matchUse = { kind: "append" } } = this.#deps
    const atMs = clock.nowMs()
    const isAppended = matchUse.kind === "append"
    const appended = isAppended ? batch : batch.map(({ post }) => ({ post, matches: [] }))
    const isNew = batch.length === 0 ? [] : await store.append(appended, atMs)
    const accepted = batch.filter((_, index) => isNew[index])
    for (const { matches } of accepted) ruleMatchCounts.note(matches, atMs)
    const all = accepted.flatMap(({ matches }) => matches)
    this.#listener.appended({
      rejected,
      rejectedCount: rejected.length,
      accepted: accepted.length,
      duplicates: batch.length - accepted.length,
      lines: batch.length + rejected.length,
      matches: isAppended ? all.length : 0,
      ...(matchUse.kind === "count" && {
        undelivered: all.filter(({ appId }) => appId === (matchUse.appId ?? appId)).length,
      }),
    })
  }
}

/** Approximate length of the rules of a match as JSON text. */
function rulesCharacters({ rules }: PostMatch): number {
  return rules.reduce((sum, { id, tag = "" }) => sum + id.length + tag.length + ruleCharacters, 0)
}

/** Length of the JSON text of a rule without its id and its tag. */
const ruleCharacters = 18
