/**
 * The server's readiness for requests, and the reasons against it.
 *
 *     a read fails because the store is damaged, or its disk fails ─► where, for 90 s
 *     a record of control is damaged (a rule, a link …), or
 *     a rule is refused that an earlier version took               ─► until it is deleted
 *     the server closes                                            ─► for good
 *
 * The server goes on with what can be read. It reports that it is not ready all the same, since clients would wait for
 * the rest without an error. It observes the failures of every stage as an `Events`.
 */
import type { Clock } from "../runtime/clock.ts"
import type { Events } from "../runtime/events/events.ts"
import { isReadFault } from "../store/store-faults.ts"
import type { StateReads } from "../store/port/store-state.ts"

/** The readiness of a server. */
export interface Readiness {
  /** Why it is not, in sentences that are safe to publish: no paths, no ids. Absent when it is ready. */
  reason(): string | undefined
  /** Reports damaged records every second, until aborted. */
  run(signal: AbortSignal): Promise<void>
}

/**
 * How long a failed read counts. Ours: longer than any stage waits before it tries again; retention waits longest, a
 * minute.
 */
const failureMs = 90_000

/** Time between two reports of the damaged records that reads have met. Ours: without any it costs nothing. */
const reportMs = 1_000

/** Stages whose reads have failed, and damaged records. */
export class Failures {
  readonly #clock: Clock
  readonly #failedMs = new Map<string, number>()
  readonly #damaged = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The same events, observed here too. */
  observe(events: Events): Events {
    return {
      ...events,
      failed: (event) => {
        if (isReadFault(event.error)) this.#failedMs.set(event.where, this.#clock.monotonicMs())
        events.failed(event)
      },
      recordsDamaged: (event) => {
        this.#damaged.set(event.reader, event.records.length)
        events.recordsDamaged(event)
      },
    }
  }

  /** The present failures, a sentence each. */
  sentences(): readonly string[] {
    const sinceMs = this.#clock.monotonicMs() - failureMs
    const stages = [...this.#failedMs].filter(([, atMs]) => atMs > sinceMs).map(([where]) => where)
    const records = this.#damaged.values().reduce((sum, count) => sum + count, 0)
    const found: string[] = []
    if (stages.length > 0) found.push(`The store cannot be read, which stops: ${stages.join(", ")}.`)
    if (records > 0) {
      const are = records === 1 ? "1 record of the store is" : `${records} records of the store are`
      found.push(`${are} damaged or refused, and left out of what the server does.`)
    }
    if (found.length > 0) found.push("`sluice doctor` says what is damaged, and what to do about it.")
    return found
  }
}

/** Readiness of a server over `store`, until `closing` is aborted. */
export function createReadiness(deps: {
  store: Pick<StateReads, "damagedRecords">
  failures: Failures
  events: Events
  clock: Clock
  closing: AbortSignal
}): Readiness {
  const { store, failures, events, clock, closing } = deps

  async function reportDamage(): Promise<void> {
    try {
      events.recordsDamaged({ reader: "server", records: await store.damagedRecords() })
    } catch (error) {
      events.failed({ where: "control", error })
    }
  }

  return {
    reason() {
      if (closing.aborted) return "The server is starting or closing."
      const found = failures.sentences()
      return found.length === 0 ? undefined : found.join(" ")
    },
    async run(signal) {
      while (!signal.aborted) {
        await reportDamage()
        await clock.pause(reportMs, signal)
      }
    },
  }
}
