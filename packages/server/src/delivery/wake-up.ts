import type { Clock } from "../runtime/clock.ts"

/** A hint that there is something to do. One that comes before the wait ends the wait at once. */
export class WakeUp {
  #isCalled = false
  #end: (() => void) | undefined

  call(): void {
    this.#isCalled = true
    this.#end?.()
  }

  /** Until the next call, or the one before; or `ms`; or `signal`. */
  async wait(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#isCalled) {
      const wait = new AbortController()
      this.#end = () => wait.abort()
      await clock.sleep(ms, AbortSignal.any([signal, wait.signal]))
      this.#end = undefined
    }
    this.#isCalled = false
  }
}
