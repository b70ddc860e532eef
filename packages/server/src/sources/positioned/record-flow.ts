/**
 * Records of one source into ingest: each is a line of one body, and is counted until its batch is durable.
 *
 *     record ─► line ─► intake ── batch is durable, and the position with it ──► room for more
 *
 * Unlike a broker's messages, records need no acknowledgement: when the body fails, the source begins again behind the
 * position that is stored.
 */
import type { IngestReport } from "../../ingest/ingest-report.ts"
import type { Intake } from "../../ingest/intake.ts"
import type { SourceBody } from "../../ingest/intake-messages.ts"
import type { IntakeBody } from "../../ingest/port-body.ts"
import type { Clock } from "../../runtime/clock.ts"
import { lineOf } from "../message-line.ts"
import { bytesInFlightMax, messagesInFlightMax } from "../flow-bounds.ts"
import type { SourceMonitor } from "../source.ts"

/** Dependencies of the flow. */
export interface RecordFlowDeps {
  readonly intake: Pick<Intake, "openSource">
  readonly clock: Pick<Clock, "nowMs">
  readonly monitor: Pick<SourceMonitor, "done" | "deadLettered" | "measured">
}

/** Takes records, one call of `take` at a time; `end` is the last. */
export class RecordFlow {
  readonly #deps: RecordFlowDeps
  readonly #body: IntakeBody
  /** Bytes of each record that is written and not reported, in order. */
  #written: number[] = []
  #bytes = 0
  #room = Promise.withResolvers<void>()

  constructor(of: SourceBody, deps: RecordFlowDeps) {
    this.#deps = deps
    this.#body = deps.intake.openSource(of, (report) => this.#settle(report))
    this.#body.failed.addEventListener("abort", () => this.#makeRoom(), { once: true })
  }

  /** Aborted when records cannot be stored. The reason is a `Problem` or `SourceSuperseded`. */
  get failed(): AbortSignal {
    return this.#body.failed
  }

  /** Takes a record. Resolves when another one may be taken. Throws the reason once the flow has failed. */
  async take(record: Uint8Array): Promise<void> {
    const line = lineOf(record)
    if (line === undefined) return
    this.#written.push(record.length)
    this.#bytes += record.length
    await this.#body.write(line)
    while (this.#written.length >= messagesInFlightMax || this.#bytes >= bytesInFlightMax) {
      await this.#room.promise
      this.failed.throwIfAborted()
    }
  }

  /** Waits until all records that were taken are durable. Throws the reason when they cannot be stored. */
  async end(): Promise<void> {
    await this.#body.end()
  }

  #settle({ lines, accepted, duplicates, deleted = 0, ignored = 0, rejected, recordAtMs }: IngestReport): void {
    const { monitor, clock } = this.#deps
    for (const bytes of this.#written.splice(0, lines)) this.#bytes -= bytes
    monitor.done({ accepted, duplicates, deleted, ignored })
    for (const { title, detail } of rejected) monitor.deadLettered({ title, detail })
    monitor.measured({
      inFlight: this.#written.length,
      ...(recordAtMs !== undefined && { behindMs: Math.max(0, clock.nowMs() - recordAtMs) }),
    })
    this.#makeRoom()
  }

  #makeRoom(): void {
    this.#room.resolve()
    this.#room = Promise.withResolvers()
  }
}
