import type { Clock } from "../../../runtime/clock.ts"

/** Calls back at the earliest of the times that it was set for. It has at most one timer, and none while unset. */
export class Alarm {
  readonly #clock: Clock
  readonly #ring: () => void
  #atMs = Number.POSITIVE_INFINITY
  #sleep: AbortController | undefined

  constructor(clock: Clock, ring: () => void) {
    this.#clock = clock
    this.#ring = ring
  }

  /** Rings at `atMs` by the monotonic clock, unless it is set for an earlier time; then it must be set again. */
  setFor(atMs: number): void {
    if (atMs >= this.#atMs) return
    this.#atMs = atMs
    this.#sleep?.abort()
    this.#sleep = new AbortController()
    void this.#ringAfter(this.#sleep.signal)
  }

  /** Cancels it, until it is set again. */
  stop(): void {
    this.#atMs = Number.POSITIVE_INFINITY
    this.#sleep?.abort()
  }

  async #ringAfter(signal: AbortSignal): Promise<void> {
    // A sleep may end a little early, and what is not quite due would not be started.
    for (let leftMs = this.#leftMs(); leftMs > 0; leftMs = this.#leftMs()) {
      await this.#clock.sleep(Math.ceil(leftMs), signal)
      if (signal.aborted) return
    }
    this.#atMs = Number.POSITIVE_INFINITY
    this.#ring()
  }

  #leftMs(): number {
    return this.#atMs - this.#clock.monotonicMs()
  }
}
