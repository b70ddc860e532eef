/** Waits before a source tries again: longer with each failure in a row, and never the same for all processes. */
import type { Clock } from "../runtime/clock.ts"
import { systemRandom, type Random } from "../runtime/random.ts"

/** Wait after the first failure at most, doubled with each further one. Ours. */
const backoffMsMin = 500

/** The longest. Ours. */
export const backoffMsMax = 30_000

/** A session that lasted as long did not fail at once, also when it read nothing: its failure counts as the first. Ours. */
const steadyMs = 10_000

/**
 * The wait after so many failures in a row, at least one: between one half and the whole of the doubled time, as `fraction`
 * (0 up to 1) says. So sources that failed together do not come back together.
 *
 * Source: Marc Brooker, "Exponential backoff and jitter", equal jitter.
 */
export function backoffMs(failures: number, fraction: number): number {
  const ceilingMs = Math.min(backoffMsMax, backoffMsMin * 2 ** Math.min(failures - 1, 10))
  return Math.round((ceilingMs / 2) * (1 + fraction))
}

/** Counts the failures in a row of a source's sessions. To connect is no success: the first read may fail each time. */
export class Backoff {
  readonly #clock: Pick<Clock, "monotonicMs">
  readonly #random: Pick<Random, "fraction">
  #failures = 0
  /** When the session was opened; undefined while there is none. */
  #openedMs: number | undefined

  constructor({
    clock,
    random = systemRandom,
  }: {
    readonly clock: Pick<Clock, "monotonicMs">
    readonly random?: Pick<Random, "fraction"> | undefined
  }) {
    this.#clock = clock
    this.#random = random
  }

  /** A session is open. */
  opened(): void {
    this.#openedMs = this.#clock.monotonicMs()
  }

  /** The session has brought something: the next failure counts as the first. */
  progressed(): void {
    this.#failures = 0
  }

  /** The session has failed, or could not be opened. Returns the wait before the next one, in ms. */
  failed(): number {
    const nowMs = this.#clock.monotonicMs()
    if (nowMs - (this.#openedMs ?? nowMs) > steadyMs) this.#failures = 0
    this.#openedMs = undefined
    this.#failures += 1
    return backoffMs(this.#failures, this.#random.fraction())
  }
}
