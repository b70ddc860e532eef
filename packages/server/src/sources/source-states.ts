/**
 * The sources of this process: the one implementation of `SourceMonitor`, which passes each report on to the events, for
 * metrics and log lines, and remembers the latest ones, so that the state of each source can be shown.
 *
 * All of it is in memory: another process has states of its own, and a new process begins anew.
 */
import { inspect } from "node:util"
import type { Clock } from "../runtime/clock.ts"
import { mask } from "../runtime/masked-url.ts"
import type { Events } from "../runtime/events/events.ts"
import { withoutSecrets, withoutSecretsIn } from "./known-secrets.ts"
import type { DoneCounts, SourceGap, SourceMeasurement, SourceMonitor, SourceNotice } from "./source.ts"

/** The state of a source in this process. Times are Unix times. */
export interface SourceState {
  readonly name: string
  readonly startedAtMs: number
  /** The other side and since when records are taken from it; absent while none are. */
  readonly connected?: { readonly to: string; readonly sinceMs: number }
  /** Absent while records are taken, and before they first were. */
  readonly disconnectedAtMs?: number
  /** The last failure, also when all is well since. */
  readonly lastFailure?: { readonly message: string; readonly advice?: string; readonly atMs: number }
  /** The last record that became a dead letter. */
  readonly lastDeadLetter?: {
    readonly title: string
    readonly detail: string
    readonly place?: string
    readonly atMs: number
  }
  /** When a record was last done. */
  readonly lastRecordAtMs?: number
  /** Since the start. */
  readonly counts: Readonly<Record<SourceCount, number>>
  /** Records that were done, a second, over the last minute or since the start. */
  readonly perSecond: number
  /** Absent when there is none that holds. */
  readonly measured?: SourceMeasurement & { readonly atMs: number }
  /** The latest first. */
  readonly gaps: readonly (SourceGap & { readonly foundAtMs: number })[]
  /** Those that hold, in the order in which they began to. */
  readonly notices: readonly (SourceNotice & { readonly sinceMs: number })[]
}

/** Counts of records of a source. */
type SourceCount = "accepted" | "duplicates" | "deleted" | "ignored" | "rejected" | "returned" | "redelivered" | "gaps"

/** Most gaps that are remembered for a source; beyond it, the oldest is forgotten. Ours. */
const gapsMax = 20

/** Most characters of a text of a source that are remembered. Ours. */
const textMax = 1_000

/** Seconds over which the rate is taken. Ours. */
const rateSeconds = 60

/** Dependencies of the states. */
export interface SourceStatesDeps {
  readonly clock: Pick<Clock, "nowMs" | "monotonicMs">
  readonly events: Events
}

/** The states, by the names of the sources. */
export class SourceStates {
  readonly #deps: SourceStatesDeps
  readonly #states = new Map<string, RecordedState>()

  constructor(deps: SourceStatesDeps) {
    this.#deps = deps
  }

  /** Begins the state of a source, and returns the monitor that it reports to. */
  monitorOf(name: string): SourceMonitor {
    const state = new RecordedState(name, this.#deps)
    this.#states.set(name, state)
    return state
  }

  /** The states as they are now, in the order in which they began. */
  list(): readonly SourceState[] {
    return Array.from(this.#states.values(), (state) => state.now())
  }
}

/** The state of one source. */
class RecordedState implements SourceMonitor {
  readonly #name: string
  readonly #deps: SourceStatesDeps
  readonly #startedAtMs: number
  readonly #rate: RecentRate
  readonly #counts: Record<SourceCount, number> = {
    accepted: 0,
    duplicates: 0,
    deleted: 0,
    ignored: 0,
    rejected: 0,
    returned: 0,
    redelivered: 0,
    gaps: 0,
  }
  #connected: SourceState["connected"]
  #disconnectedAtMs: number | undefined
  #lastFailure: SourceState["lastFailure"]
  #lastDeadLetter: SourceState["lastDeadLetter"]
  #lastRecordAtMs: number | undefined
  #measured: SourceState["measured"]
  #gaps: SourceState["gaps"] = []
  /** By what they are about. */
  readonly #notices = new Map<string, SourceState["notices"][number]>()
  /** The last message about each matter, which is logged once. */
  readonly #logged = new Map<string, string>()

  constructor(name: string, deps: SourceStatesDeps) {
    this.#name = name
    this.#deps = deps
    this.#startedAtMs = deps.clock.nowMs()
    this.#rate = new RecentRate(deps.clock)
    deps.events.sourceStarted({ source: name })
  }

  connected(to: string): void {
    this.#connected = { to, sinceMs: this.#deps.clock.nowMs() }
    this.#disconnectedAtMs = undefined
    this.#deps.events.sourceConnected({ source: this.#name, to })
  }

  disconnected(): void {
    this.#connected = undefined
    this.#disconnectedAtMs = this.#deps.clock.nowMs()
    this.#notices.clear()
    this.#deps.events.sourceDisconnected({ source: this.#name })
  }

  failed(error: unknown, advice?: string): void {
    const message = shownMessage(error)
    this.#lastFailure = { message, ...(advice !== undefined && { advice }), atMs: this.#deps.clock.nowMs() }
    this.#deps.events.failed({
      where: "source",
      source: this.#name,
      error: loggedError(error),
      ...(advice !== undefined && { advice }),
    })
  }

  done({ accepted = 0, duplicates = 0, deleted = 0, ignored = 0 }: DoneCounts): void {
    this.#counts.accepted += accepted
    this.#counts.duplicates += duplicates
    this.#counts.deleted += deleted
    this.#counts.ignored += ignored
    this.#took(accepted + duplicates + deleted + ignored)
    this.#deps.events.sourceMessagesDone({ source: this.#name, accepted, duplicates, deleted, ignored })
  }

  deadLettered(event: Parameters<SourceMonitor["deadLettered"]>[0]): void {
    this.#counts.rejected += 1
    this.#took(1)
    const shown = withoutSecretsIn(event)
    this.#lastDeadLetter = { ...shown, detail: shortened(shown.detail), atMs: this.#deps.clock.nowMs() }
    this.#deps.events.sourceMessageDeadLettered({ source: this.#name, ...shown })
  }

  returned(event: { readonly messages: number; readonly delayMs: number }): void {
    this.#counts.returned += event.messages
    this.#deps.events.sourceMessagesReturned({ source: this.#name, ...event })
  }

  redelivered(): void {
    this.#counts.redelivered += 1
    this.#deps.events.sourceMessageRedelivered({ source: this.#name })
  }

  measured(state: SourceMeasurement): void {
    this.#measured = { ...state, atMs: this.#deps.clock.nowMs() }
    this.#deps.events.sourceMeasured({ source: this.#name, ...state })
  }

  notMeasured(): void {
    this.#measured = undefined
    this.#deps.events.sourceNotMeasured({ source: this.#name })
  }

  gap(event: SourceGap): void {
    this.#counts.gaps += 1
    const shown = withoutSecretsIn(event)
    this.#gaps = [{ ...shown, foundAtMs: this.#deps.clock.nowMs() }, ...this.#gaps].slice(0, gapsMax)
    this.#deps.events.sourceGapFound({ source: this.#name, ...shown })
  }

  noticed(about: string, notice?: SourceNotice): void {
    if (notice === undefined) {
      this.#notices.delete(about)
      return
    }
    const shown = withoutSecretsIn(notice)
    const { message } = shown
    if (this.#notices.get(about)?.message !== message) {
      this.#notices.set(about, { ...shown, sinceMs: this.#deps.clock.nowMs() })
    }
    if (this.#logged.get(about) === message) return
    this.#logged.set(about, message)
    this.#deps.events.sourceNoticed({ source: this.#name, ...shown })
  }

  now(): SourceState {
    return {
      name: this.#name,
      startedAtMs: this.#startedAtMs,
      ...(this.#connected && { connected: this.#connected }),
      ...(this.#disconnectedAtMs !== undefined && { disconnectedAtMs: this.#disconnectedAtMs }),
      ...(this.#lastFailure && { lastFailure: this.#lastFailure }),
      ...(this.#lastDeadLetter && { lastDeadLetter: this.#lastDeadLetter }),
      ...(this.#lastRecordAtMs !== undefined && { lastRecordAtMs: this.#lastRecordAtMs }),
      counts: { ...this.#counts },
      perSecond: this.#rate.perSecond(),
      ...(this.#measured && { measured: this.#measured }),
      gaps: this.#gaps,
      notices: [...this.#notices.values()],
    }
  }

  #took(records: number): void {
    if (records === 0) return
    this.#lastRecordAtMs = this.#deps.clock.nowMs()
    this.#rate.add(records)
  }
}

/** The message of a failure, without secrets and without what stands before the @ of a URL. */
export function shownMessage(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return shortened(withoutSecrets(message).replaceAll(/(:\/\/)[^\s/@]+@/g, `$1${mask}@`))
}

/** The error, or one with its message alone when it has a secret anywhere, as in its cause. */
function loggedError(error: unknown): unknown {
  const whole = inspect(error)
  return withoutSecrets(whole) === whole ? error : new Error(shownMessage(error))
}

function shortened(text: string): string {
  return text.length <= textMax ? text : `${text.slice(0, textMax)}…`.toWellFormed()
}

/** Counts over the last minute, by the second. */
class RecentRate {
  readonly #clock: Pick<Clock, "monotonicMs">
  readonly #startedMs: number
  /** Counts of seconds since the start, at the number of the second modulo their number. */
  readonly #counts = Array.from({ length: rateSeconds }, () => 0)
  /** The second that was last counted. */
  #last = 0

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock
    this.#startedMs = clock.monotonicMs()
  }

  add(count: number): void {
    const at = this.#advance() % rateSeconds
    this.#counts[at] = (this.#counts[at] ?? 0) + count
  }

  /** The second that runs counts with those before it; less than one second counts as one. */
  perSecond(): number {
    const seconds = Math.min(rateSeconds, this.#advance() + 1)
    return this.#counts.reduce((sum, count) => sum + count, 0) / seconds
  }

  /** Forgets the seconds that are over, and returns the one that runs. */
  #advance(): number {
    const second = Math.floor((this.#clock.monotonicMs() - this.#startedMs) / 1000)
    if (second - this.#last >= rateSeconds) this.#counts.fill(0)
    else for (let each = this.#last + 1; each <= second; each += 1) this.#counts[each % rateSeconds] = 0
    this.#last = second
    return second
  }
}
