import type { Clock } from "../runtime/clock.ts"

/** Rings at the earliest of the moments that it was set for. Between them it has no timer, and it has never two. */
export class Alarm {
  readonly #clock: Clock
  readonly #ring: () => void
  #atMs = Number.POSITIVE_INFINITY
  #sleep: AbortController | undefined

  constructor(clock: Clock, ring: () => void) {
    this.#clock = clock
    this.#ring = ring
  }

  /** Rings at `atMs`, by the clock that never steps back, unless it does so earlier: then it must be set again. */
  setFor(atMs: number): void {
    if (atMs >= this.#atMs) return
    this.#atMs = atMs
    this.#sleep?.abort()
    this.#sleep = new AbortController()
    void this.#ringAfter(this.#sleep.signal)
  }

  /** Until it is set again it does not ring. */
  stop(): void {
    this.#atMs = Number.POSITIVE_INFINITY
    this.#sleep?.abort()
  }

  async #ringAfter(signal: AbortSignal): Promise<void> {
    // A sleep may end a little before its time, and what is not quite due would be left lying.
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
