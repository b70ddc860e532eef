/** A source of posts, and the reports that it makes of itself. */
import type { Intake } from "../ingest/intake.ts"
import type { Clock } from "../runtime/clock.ts"
import type { Random } from "../runtime/random.ts"

/** A source of posts, by the name that the settings give it. */
export interface Source {
  /** Takes posts until aborted, and finishes what is in flight. A failure is reported, and the work tried again. */
  run(signal: AbortSignal): Promise<void>
}

/** Dependencies of a source whose messages are acknowledged. */
export interface AcknowledgedSourceDeps {
  readonly intake: Pick<Intake, "open">
  readonly clock: Clock
  /** The machine's when it is absent. */
  readonly random?: Pick<Random, "fraction"> | undefined
  readonly monitor: SourceMonitor
  /** Longest wait for messages in flight at the end. */
  readonly drainMsMax: number
}

/** Dependencies of all sources of a server. */
export interface SourcesDeps extends Omit<AcknowledgedSourceDeps, "monitor"> {
  /** The monitor of the source with this name. */
  readonly monitorOf: (name: string) => SourceMonitor
}

/** Outcomes of records that are done: new posts, known ones, deletions, and records that hold nothing to store. */
export type DoneCounts = Partial<Readonly<Record<"accepted" | "duplicates" | "deleted" | "ignored", number>>>

/** A measurement; figures that are not known are absent. */
export type SourceMeasurement = Partial<
  Readonly<Record<"pending" | "unacknowledged" | "inFlight" | "behindMs", number>>
>

/** Records that the source no longer has and that were not taken. */
export interface SourceGap {
  /** Unix times of the first and the last of them, as far as they are known. */
  readonly fromMs?: number
  readonly toMs?: number
  /** A sentence. */
  readonly reason: string
}

/** A state of the other side that keeps records away, and that is no failure. */
export interface SourceNotice {
  /** A sentence. */
  readonly message: string
  /** A sentence on the remedy. */
  readonly advice?: string
}

/** Receives the reports of a source: metrics, log lines and the state that the API shows come from here. */
export interface SourceMonitor {
  /** It takes posts now. `to` names the other side, without secrets. */
  connected(to: string): void
  /** It cannot take posts, and will try again. */
  disconnected(): void
  /** It failed. `advice` says what the operator can do, where that is known. */
  failed(error: unknown, advice?: string): void
  /** Records became durable, or were found to be nothing to store. */
  done(counts: DoneCounts): void
  /** A record became a dead letter. `place` says where it stands at the source. */
  deadLettered(event: { readonly title: string; readonly detail: string; readonly place?: string }): void
  /** Records went back to the source, which sends them again. */
  returned(event: { readonly messages: number; readonly delayMs: number }): void
  /** The source has sent a record before. */
  redelivered(): void
  /**
   * The state as it is measured now: records that wait at the source, those sent and not acknowledged over all processes,
   * those in flight here, and how far behind the source this process is.
   */
  measured(state: SourceMeasurement): void
  /** The last measurement is void. */
  notMeasured(): void
  /** The source no longer has records that were not taken. */
  gap(event: SourceGap): void
  /** A notice holds from now on, in place of the last one about the same; without one, none about it holds any more. */
  noticed(about: string, notice?: SourceNotice): void
}
