/**
 * Shares out the attempts that are started in one turn of the event loop.
 *
 * Endpoints that respond at once need few attempts in flight: how fast they are sent to is then decided by this process,
 * and what is started beyond that waits in it, on connections that had to be made for it. So a turn starts a few attempts
 * over all links, takes what has been received, and starts the next few. A slow endpoint is not held up by that: while
 * nothing else is to be done, turns are short, and each starts some more.
 *
 * These are no `FairRounds`: there, pieces of work wait in a queue, and a round begins one after the other. A link has no
 * piece to put into a queue, since what it may start (a match, a retry, a probe, nothing) depends on responses that come
 * while it waits. So a link waits once, however much it has to start, and when its turn comes it takes what it then needs of
 * a share, without a microtask between two attempts.
 */

/** Most attempts started in a turn, by all links together. Ours: with half or twice as many nothing was faster. */
const perTurn = 64

/** A starter of attempts: a link. */
interface Starter {
  /** Starts what it may start, and asks before each. */
  pump(): void
}

/** Attempts left to start in this turn, and starters that wait for the next. */
export class FairStarts {
  #left = perTurn
  /** Number of attempts that the starter whose turn has come may start before the others. */
  #share = perTurn
  #served: Starter | undefined
  /** In the order in which they asked. */
  #waiting = new Set<Starter>()
  #isPlanned = false

  /** True when the starter may start an attempt now. Otherwise its `pump` is called when it may. */
  isOpenTo(starter: Starter): boolean {
    const mayStart = this.#left > 0 && (this.#served !== starter || this.#share > 0)
    if (!mayStart) {
      this.#waiting.add(starter)
      this.#plan()
    }
    return mayStart
  }

  /** An attempt is started. */
  note(): void {
    this.#left -= 1
    this.#share -= 1
    this.#plan()
  }

  #plan(): void {
    if (this.#isPlanned) return
    this.#isPlanned = true
    setImmediate(() => this.#nextTurn())
  }

  /** Serves those who wait now, each with an equal share; who wants more waits again, behind the others. */
  #nextTurn(): void {
    this.#isPlanned = false
    this.#left = perTurn
    const count = this.#waiting.size
    const share = Math.max(1, Math.floor(perTurn / count))
    let served = 0
    for (const starter of this.#waiting) {
      if (served === count || this.#left === 0) break
      served += 1
      this.#waiting.delete(starter)
      this.#served = starter
      this.#share = share
      starter.pump()
    }
    this.#served = undefined
  }
}
