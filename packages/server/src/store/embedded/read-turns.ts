/**
 * Turns of the event loop for reads.
 *
 * A read of SQLite blocks its thread, and one that follows another at once would never give the event loop a turn. So
 * reads share a budget for each turn, in time and in number. One that finds it spent waits for a later turn, in the
 * order of arrival. Callers read in a loop as they please; other work of the thread is never kept waiting for long.
 */
import type { Clock } from "../../runtime/clock.ts"

/** Longest that reads, and what their callers do between them, take of one turn. Ours. */
const turnMsMax = 5

/** Most reads in one turn, for where the clock is coarse. Ours. */
const turnReadsMax = 50

/** Hands out turns to the reads of one connection. */
export class ReadTurns {
  readonly #clock: Pick<Clock, "monotonicMs">
  readonly #waiting: (() => void)[] = []
  #isCounting = false
  #reads = 0
  #endsAtMs = 0

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock
  }

  /** To be awaited before a read. Absent when it may begin at once. */
  begin(): Promise<void> | undefined {
    if (!this.#isCounting) this.#count()
    if (this.#waiting.length > 0 || !this.#hasRoom()) return this.next()
    this.#reads += 1
    return undefined
  }

  /** Resolves in a later turn. To be awaited by a read that goes on. */
  next(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.push(resolve)
    if (!this.#isCounting) this.#count()
    return promise
  }

  #hasRoom(): boolean {
    return this.#reads < turnReadsMax && this.#clock.monotonicMs() < this.#endsAtMs
  }

  /** Counts anew, until the event loop has gone round. */
  #count(): void {
    this.#isCounting = true
    this.#reads = 0
    this.#endsAtMs = this.#clock.monotonicMs() + turnMsMax
    setImmediate(() => {
      this.#isCounting = false
      if (this.#waiting.length > 0) void this.#resume()
    })
  }

  /** Lets those that wait begin, one by one, as far as the budget of this turn goes. */
  async #resume(): Promise<void> {
    this.#count()
    // Those that come to wait meanwhile have had their turn.
    for (let left = this.#waiting.length; left > 0 && this.#hasRoom(); left -= 1) {
      this.#reads += 1
      this.#waiting.shift()?.()
      // The read runs in the microtask that this has queued, so that its time counts before the next one begins.
      await Promise.resolve()
    }
  }
}
