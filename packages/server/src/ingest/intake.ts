/**
 * The entry point of ingest in the main thread: bodies go in by chunks, reports come out.
 *
 *     main thread                         intake thread
 *     body.write(chunk) ── bytes ──►      PostAcceptor
 *       (waits while more than
 *        a window is unread)  ◄── read ──     from time to time
 *     onBatch(report)         ◄── batch ──    after each commit, with what was read
 *     body.end()              ◄── done ──     after the last
 *     body.failed             ◄── failed ──   when a batch could not be matched or stored
 *
 * There may be several intake threads, each with the rules of its own. A body is of one of them, so its posts keep their
 * order; that of posts in different bodies was never defined.
 */
import type { MessagePort } from "node:worker_threads"
import { ingestCrowded } from "../model/problem.ts"
import type { SkippedRules } from "../matching/rule-index.ts"
import type { AppId } from "../model/ids.ts"
import type { Events } from "../runtime/events/events.ts"
import { storeFaultOf } from "../store/store-faults.ts"
import type { IngestReport } from "./ingest-report.ts"
import type { IndexNumbers, IntakeReply, IntakeRequest } from "./intake-messages.ts"
import { Backlog, PortBody, type IntakeBody } from "./port-body.ts"
import type { MatchUse } from "./post-batches.ts"

/** Receives posts. */
export interface Intake {
  /**
   * Opens a body, whose matches are appended unless `matchUse` says otherwise. `onBatch` is called after each durable
   * batch with its report. Throws a `Problem` when too many bodies are open.
   */
  open(onBatch?: (report: IngestReport) => void, matchUse?: MatchUse): IntakeBody
  /** Rules of an app that were skipped since the server started; `undefined` when there are none. */
  skippedOf(appId: AppId): SkippedRules | undefined
}

/** Most open bodies. At the bound, another one is refused with 503. Ours. */
export const bodiesMax = 1_000

/** An intake thread, and how many of the open bodies are its own. */
interface Reader {
  readonly port: MessagePort
  openBodies: number
  hasExited: boolean
  /** What its index counted last. */
  index: Pick<IndexNumbers, "candidates" | "omitted">
}

/** The intake whose threads are at the other ends of these ports. */
export function intakeThrough(
  threads: readonly { readonly intakePort: MessagePort }[],
  events: Pick<Events, "failed" | "postsAccepted" | "rulesIndexed" | "recordsDamaged" | "rulesSkipped">,
): Intake {
  /** Only apps with skipped rules. */
  const skipped = new Map<AppId, SkippedRules>()
  const bodies = new Map<number, { readonly body: PortBody; readonly reader: Reader }>()
  let lastBody = 0
  const backlog = new Backlog()
  const readers = threads.map(({ intakePort: port }): Reader => ({
    port,
    openBodies: 0,
    hasExited: false,
    index: { candidates: 0, omitted: 0 },
  }))
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

  // Also for bodies whose client has disconnected: their posts are stored all the same.
  function reportEvents(reader: Reader, reply: IntakeReply): void {
    switch (reply.kind) {
      case "batch": {
        const { accepted, duplicates, rejectedCount, matches } = reply.report
        events.postsAccepted({ accepted, duplicates, rejected: rejectedCount, matches })
        reportIndex(reader, reply.index)
        return
      }
      case "failed":
        // The other reasons are the client's own fault.
        if (reply.reason === "store") events.failed({ where: "ingest", error: storeFaultOf(reply.code, reply.error) })
        if (reply.reason === "embeddings") events.failed({ where: "embeddings", error: reply.error })
        return
      case "indexed":
        reportIndex(reader, reply.index)
        events.recordsDamaged({ reader: "rules", records: reply.damaged })
        return
      case "index-failed":
        events.failed({ where: "rule index", error: storeFaultOf(reply.code, reply.error) })
        return
      case "read":
      case "done":
    }
  }

  function receive(reader: Reader, reply: IntakeReply): void {
    reportEvents(reader, reply)
    if ("body" in reply) bodies.get(reply.body)?.body.receive(reply)
  }

  /** Reports nothing: that a thread ended unasked is reported, with its cause, by those who run it. */
  function failThreadExited(body: number): void {
    const error = new Error("The intake thread has ended.")
    bodies.get(body)?.body.receive({ kind: "failed", body, reason: "store", error })
  }

  for (const reader of readers) {
    reader.port.on("message", (reply: IntakeReply) => receive(reader, reply))
    reader.port.on("close", () => {
      reader.hasExited = true
      for (const [id, open] of bodies) if (open.reader === reader) failThreadExited(id)
    })
  }

  function close(id: number): void {
    const open = bodies.get(id)
    if (open === undefined) return
    open.reader.openBodies -= 1
    bodies.delete(id)
  }

  return {
    open(onBatch = () => undefined, matchUse?: MatchUse) {
      if (bodies.size >= bodiesMax) throw ingestCrowded(`${bodiesMax} bodies of posts are open, the most.`)
      lastBody += 1
      const id = lastBody
      const reader = readers.reduce((least, one) => (one.openBodies < least.openBodies ? one : least))
      const body = new PortBody(reader.port, id, backlog, onBatch, () => close(id))
      bodies.set(id, { body, reader })
      reader.openBodies += 1
      if (matchUse !== undefined) reader.port.postMessage({ kind: "open", body: id, matchUse } satisfies IntakeRequest)
      if (reader.hasExited) failThreadExited(id)
      return body
    },
    skippedOf: (appId) => skipped.get(appId),
  }
}
