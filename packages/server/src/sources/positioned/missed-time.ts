/** The time that a stream which replays nothing was not read: it is a gap. */
import type { Clock } from "../../runtime/clock.ts"
import type { RecordSink } from "./positioned-source.ts"

/** Knows when the connection before was lost. */
export class MissedTime {
  readonly #clock: Pick<Clock, "nowMs">
  /** Unix ms; absent before the first connection, and after one that this process has left by itself. */
  #lostAtMs: number | undefined

  constructor(clock: Pick<Clock, "nowMs">) {
    this.#clock = clock
  }

  /** A connection is there. Marks the time since the one before was lost, unless the server replays that. */
  async end(sink: Pick<RecordSink, "gap">, isReplayed: boolean): Promise<void> {
    const fromMs = this.#lostAtMs
    if (fromMs === undefined || isReplayed) return
    const reason = "The stream was not read in this time, and it replays nothing: no position was asked for."
    await sink.gap({ fromMs, toMs: this.#clock.nowMs(), reason })
  }

  /** The connection is lost. Everything up to this time, Unix ms, was taken. */
  begin(lostAtMs: number): void {
    this.#lostAtMs = lostAtMs
  }

  /** The source is paused, or another process may read it from here on. */
  forget(): void {
    this.#lostAtMs = undefined
  }
}
