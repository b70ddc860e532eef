import type { Clock } from "../runtime/clock.ts"

/** A hint that there is work. A call before the wait ends the wait at once. */
export class WakeUp {
  #isCalled = false
  #end: (() => void) | undefined

  call(): void {
    this.#isCalled = true
    this.#end?.()
  }

  /** Waits until the next call, for `ms`, or until aborted. Returns at once when there was a call since the last wait. */
  async wait(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#isCalled) {
      const wait = new AbortController()
      this.#end = () => wait.abort()
      await clock.pause(ms, AbortSignal.any([signal, wait.signal]))
      this.#end = undefined
    }
    this.#isCalled = false
  }
}
