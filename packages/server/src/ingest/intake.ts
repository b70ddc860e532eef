/**
 * The entry point of ingest in the main thread: bodies go in by chunks, reports come out.
 *
 *     main thread                         intake thread
 *     body.write(chunk) ── bytes ──►      PostAcceptor
 *       (waits while more than
 *        a window is unread)  ◄── read ──     from time to time
 *     onBatch(report)         ◄── batch ──    after each commit, with what was read
 *     body.end(chunk)         ── bytes ──►
 *                             ◄── done ──     with what was read last
 *     body.failed             ◄── failed ──   when a batch could not be matched or stored
 *
 * There may be several intake threads, each with the rules of its own. A body is of one of them, so its posts keep their
 * order; that of posts in different bodies was never defined.
 */
import type { MessagePort } from "node:worker_threads"
import { SourceSuperseded } from "../model/source-superseded.ts"
import { ingestCrowded } from "../model/problem.ts"
import type { SkippedRules } from "../matching/rule-index.ts"
import type { AppId } from "../model/ids.ts"
import type { Events } from "../runtime/events/events.ts"
import { EmbeddingsUnavailable } from "../runtime/embeddings.ts"
import { receivedError } from "../runtime/error-codec.ts"
import { PortCalls } from "../runtime/port-calls.ts"
import type { IngestReport } from "./ingest-report.ts"
import {
  PartialLinesTooLarge,
  TooManyRejected,
  type DurableBatch,
  type IndexNumbers,
  type IntakeFunctions,
  type IntakeReplies,
  type SourceBody,
} from "./intake-messages.ts"
import { Backlog, PortBody, type IntakeBody } from "./port-body.ts"
import type { MatchUse } from "./post-batches.ts"

/** Receives posts. */
export interface Intake {
  /**
   * Opens a body, whose matches are appended unless `matchUse` says otherwise. `onBatch` is called after each durable
   * batch with its report. Throws a `Problem` when too many bodies are open.
   */
  open(onBatch?: (report: IngestReport) => void, matchUse?: MatchUse): IntakeBody
  /** Opens a body of records of a source. Its reason to fail may be `SourceSuperseded`, too. Throws as `open`. */
  openSource(of: SourceBody, onBatch: (report: IngestReport) => void): IntakeBody
  /** Rules of an app that were skipped since the server started; `undefined` when there are none. */
  skippedOf(appId: AppId): SkippedRules | undefined
}

/** Most open bodies. At the bound, another one is refused with 503. Ours. */
export const bodiesMax = 1_000

/** An intake thread, and how many of the open bodies are its own. */
interface Reader {
  readonly port: PortCalls<IntakeFunctions>
  openBodies: number
  hasExited: boolean
  /** The last counts of its index. */
  index: Pick<IndexNumbers, "candidates" | "omitted">
}

/** The intake whose threads are at the other ends of these ports. */
export function intakeThrough(
  threads: readonly { readonly intakePort: MessagePort }[],
  events: Pick<
    Events,
    "failed" | "postsAccepted" | "deletionsRequested" | "rulesIndexed" | "recordsDamaged" | "rulesSkipped"
  >,
): Intake {
  /** Only apps with skipped rules. */
  const skipped = new Map<AppId, SkippedRules>()
  const bodies = new Map<number, { readonly body: PortBody; readonly reader: Reader }>()
  let lastBody = 0
  const backlog = new Backlog()
  const readers = threads.map(({ intakePort }): Reader => {
    const reader: Reader = {
      port: new PortCalls<IntakeFunctions>(
        intakePort,
        repliesTo(() => reader),
        { closed: () => end(reader) },
      ),
      openBodies: 0,
      hasExited: false,
      index: { candidates: 0, omitted: 0 },
    }
    return reader
  })
  const sum = (name: "candidates" | "omitted"): number => readers.reduce((all, { index }) => all + index[name], 0)

  function reportIndex(reader: Reader, { skipped: more, ...index }: IndexNumbers): void {
    reader.index = index
    events.rulesIndexed({ ...index, candidates: sum("candidates"), omitted: sum("omitted") })
    for (const { appId, posts, rules, lastPostId } of more) {
      const before = skipped.get(appId) ?? { posts: 0, rules: 0 }
      const all = { appId, posts: before.posts + posts, rules: before.rules + rules, lastPostId }
      skipped.set(appId, all)
      events.rulesSkipped({ appId, posts, rules, lastPostId, postsBefore: before.posts })
    }
  }

  // Bodies whose client has disconnected are counted, too: their posts are stored all the same.
  function noteBatch(reader: Reader, id: number, { report, bytesRead, index }: DurableBatch): void {
    const { accepted, duplicates, deleted, rejectedCount, matches } = report
    events.postsAccepted({ accepted, duplicates, rejected: rejectedCount, matches })
    if (deleted !== undefined) events.deletionsRequested({ way: "line", count: deleted })
    reportIndex(reader, index)
    bodies.get(id)?.body.batch(report, bytesRead)
  }

  function repliesTo(reader: () => Reader): IntakeReplies {
    return {
      read: (id, bytes) => bodies.get(id)?.body.read(bytes),
      batch: (id, batch) => noteBatch(reader(), id, batch),
      done(id, lastBatch) {
        if (lastBatch !== undefined) noteBatch(reader(), id, lastBatch)
        bodies.get(id)?.body.done()
      },
      failed(id, sent) {
        const error = receivedError(sent)
        // The others are the client's own fault, or those of a source that goes elsewhere.
        const isOurs = ![TooManyRejected, PartialLinesTooLarge, SourceSuperseded].some((kind) => error instanceof kind)
        if (isOurs) events.failed({ where: error instanceof EmbeddingsUnavailable ? "embeddings" : "ingest", error })
        bodies.get(id)?.body.fail(error)
      },
      indexed(index, damaged) {
        reportIndex(reader(), index)
        events.recordsDamaged({ reader: "rules", records: damaged })
      },
      indexFailed: (error) => events.failed({ where: "rule index", error: receivedError(error) }),
    }
  }

  /** Reports nothing: that a thread ended by itself is reported, with its cause, by those who run it. */
  function end(reader: Reader): void {
    reader.hasExited = true
    for (const open of bodies.values()) if (open.reader === reader) open.body.fail(threadExited())
  }

  function close(id: number): void {
    const open = bodies.get(id)
    if (open === undefined) return
    open.reader.openBodies -= 1
    bodies.delete(id)
  }

  function openBody(onBatch: (report: IngestReport) => void) {
    if (bodies.size >= bodiesMax) throw ingestCrowded(`${bodiesMax} bodies of posts are open, the most.`)
    lastBody += 1
    const id = lastBody
    const reader = readers.reduce((least, one) => (one.openBodies < least.openBodies ? one : least))
    const body = new PortBody(reader.port, id, backlog, onBatch, () => close(id))
    bodies.set(id, { body, reader })
    reader.openBodies += 1
    if (reader.hasExited) body.fail(threadExited())
    return { id, body, port: reader.port }
  }

  return {
    open(onBatch = () => undefined, matchUse?: MatchUse) {
      const { id, body, port } = openBody(onBatch)
      if (matchUse !== undefined) port.tell("open", [id, matchUse])
      return body
    },
    openSource(of, onBatch) {
      const { id, body, port } = openBody(onBatch)
      port.tell("openSource", [id, of])
      return body
    },
    skippedOf: (appId) => skipped.get(appId),
  }
}

function threadExited(): Error {
  return new Error("The intake thread has ended.")
}
