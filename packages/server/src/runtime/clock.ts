/** Time as a parameter. */
export interface Clock {
  /** Unix time. May step; for time stamps. */
  nowMs(): number
  /** Never steps back; for durations. */
  monotonicMs(): number
  /** Resolves after `ms`, or as soon as `signal` is aborted, whichever comes first. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /**
   * As `sleep`, until a loop looks again for work that may be there. It may end later where time is moved (`movable-clock.ts`):
   * the work of a day then takes a hundred looks, and not a hundred thousand.
   */
  pause(ms: number, signal?: AbortSignal): Promise<void>
}

/** The machine's clock. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep,
  pause: sleep,
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) {
      resolve()
      return
    }
    const done = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener("abort", done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal?.addEventListener("abort", done, { once: true })
  })
}
