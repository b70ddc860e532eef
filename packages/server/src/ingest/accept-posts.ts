/**
 * Posts in: read, match, append.
 *
 *     lines ─► read ─► (batch) ─► catch up with the rules ─► match ─► append ─► report
 *
 * A batch is one transaction: its posts and their matches become durable together, and are reported after that.
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

/** A batch is appended when it is this large. Source: performance.md, batches of 100 to 2,000 cost the same. */
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

interface ReadPost {
  readonly post: AcceptedPost
  readonly envelope: Envelope
}

/** Takes in one body of NDJSON, chunk by chunk. */
export class PostAcceptor {
  readonly #store: Store
  readonly #rules: RuleIndex
  readonly #clock: Clock
  readonly #lines = new LineReader()
  #batch: ReadPost[] = []
  #batchCharacters = 0
  #rejected: { line: number; title: string; detail: string }[] = []
  #rejectedCount = 0

  constructor(deps: { store: Store; rules: RuleIndex; clock: Clock }) {
    this.#store = deps.store
    this.#rules = deps.rules
    this.#clock = deps.clock
  }

  /** Reads a chunk. Answers the reports of the batches that became full and durable. */
  async write(chunk: Uint8Array): Promise<readonly IngestReport[]> {
    return this.#take(this.#lines.read(chunk))
  }

  /** Reads what is left when no more chunks come. */
  async end(): Promise<readonly IngestReport[]> {
    const reports = await this.#take(this.#lines.end())
    const last = await this.flush()
    return last === undefined ? reports : [...reports, last]
  }

  /** Makes durable what was read so far, and reports it. Nothing when there was nothing. */
  async flush(): Promise<IngestReport | undefined> {
    const [batch, rejected, rejectedCount] = [this.#batch, this.#rejected, this.#rejectedCount]
    if (batch.length === 0 && rejectedCount === 0) return undefined
    this.#batch = []
    this.#batchCharacters = 0
    this.#rejected = []
    this.#rejectedCount = 0
    const { accepted, matches } = await this.#append(batch)
    const lines = batch.length + rejectedCount
    return { accepted, duplicates: batch.length - accepted, rejected, rejectedCount, lines, matches }
  }

  async #take(lines: Iterable<Line>): Promise<readonly IngestReport[]> {
    const reports: IngestReport[] = []
    for (const line of lines) {
      this.#read(line)
      if (this.#batch.length < batchPostsMax && this.#batchCharacters < batchCharactersMax) continue
      const report = await this.flush()
      if (report !== undefined) reports.push(report)
    }
    return reports
  }

  #read(line: Line): void {
    if ("fault" in line) {
      this.#reject(line.number, line.fault)
      return
    }
    const read = readEnvelope(line.text, this.#clock.nowMs())
    if (!read.ok) {
      this.#reject(line.number, read)
      return
    }
    this.#batch.push(read)
    this.#batchCharacters += line.text.length
  }

  #reject(line: number, { title, detail }: { readonly title: string; readonly detail: string }): void {
    this.#rejectedCount += 1
    if (this.#rejected.length < rejectedMax) this.#rejected.push({ line, title, detail })
  }

  async #append(batch: readonly ReadPost[]): Promise<{ accepted: number; matches: number }> {
    if (batch.length === 0) return { accepted: 0, matches: 0 }
    await this.#rules.catchUp()
    const matches = await this.#rules.match(batch.map(({ envelope }) => envelope))
    const matched: readonly { post: AcceptedPost; matches: readonly PostMatch[] }[] = batch.map(
      ({ post }, at) => ({ post, matches: matches[at] ?? [] }),
    )
    const isNew = await this.#store.append(matched, this.#clock.nowMs())
    const accepted = matched.filter((_, index) => isNew[index])
    return {
      accepted: accepted.length,
      matches: accepted.reduce((count, one) => count + one.matches.length, 0),
    }
  }
}
