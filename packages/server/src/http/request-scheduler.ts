/**
 * Schedules requests fairly: a few begin in each round of the event loop, and when there are more, they begin round-robin
 * by caller. A caller that sends thousands at once waits for its own requests, and the next caller does not.
 *
 *     request ─► among the first of this round ─► begins
 *          └► more ─► queued by caller ─► one of each caller, a few in each round ─► begins
 *
 * A connection has one request in progress, so the queue is at most as long as the number of connections.
 */

/** Maximum number of requests that begin in one round: a few milliseconds of work. Ours. */
const begunPerRoundMax = 16

/** A round-robin scheduler. */
export class RequestScheduler {
  /** Queued requests by caller. The next caller comes first. */
  readonly #queued = new Map<string, (() => void)[]>()
  #begun = 0
  #isRoundScheduled = false

  /** Calls `begin` at once, or when it is the caller's turn. */
  schedule(caller: string, begin: () => void): void {
    this.#scheduleRound()
    if (this.#begun < begunPerRoundMax && this.#queued.size === 0) {
      this.#begun += 1
      begin()
      return
    }
    const others = this.#queued.get(caller)
    if (others === undefined) this.#queued.set(caller, [begin])
    else others.push(begin)
  }

  #scheduleRound(): void {
    if (this.#isRoundScheduled) return
    this.#isRoundScheduled = true
    setImmediate(() => this.#startRound())
  }

  #startRound(): void {
    this.#isRoundScheduled = false
    this.#begun = 0
    for (const [caller, begins] of this.#queued) {
      if (this.#begun === begunPerRoundMax) break
      // To the end of the queue, which this loop reaches again.
      this.#queued.delete(caller)
      const begin = begins.shift()
      if (begins.length > 0) this.#queued.set(caller, begins)
      this.#begun += 1
      begin?.()
    }
    if (this.#queued.size > 0) this.#scheduleRound()
  }
}
