/** The time that a stream which replays nothing was not read: it is a gap. */
import type { Clock } from "../../runtime/clock.ts"
import type { RecordSink } from "./positioned-source.ts"

/** Knows when the connection before was lost. */
export class MissedTime {
  readonly #clock: Pick<Clock, "nowMs">
  /** The number of the reading before. */
  #driver: number | undefined
  /** Unix ms; absent before the first connection. */
  #lostAtMs: number | undefined

  constructor(clock: Pick<Clock, "nowMs">) {
    this.#clock = clock
  }

  /** A reading begins. Another process may have read the source since the last one, or an operator has steered it. */
  reading({ driver }: Pick<RecordSink, "driver">): void {
    if (this.#driver === undefined || driver !== this.#driver + 1) this.#lostAtMs = undefined
    this.#driver = driver
  }

  /** A connection is there. Marks the time since the one before was lost, unless the server replays that. */
  async connected(sink: Pick<RecordSink, "gap">, isReplayed: boolean): Promise<void> {
    const fromMs = this.#lostAtMs
    if (fromMs === undefined || isReplayed) return
    const reason = "The stream was not read in this time, and it replays nothing: no position was asked for."
    await sink.gap({ fromMs, toMs: this.#clock.nowMs(), reason })
  }

  /** The connection is lost. Everything up to this time, Unix ms, was taken; without one the connection was none of a stream. */
  lost(atMs: number | undefined): void {
    this.#lostAtMs = atMs
  }
}
