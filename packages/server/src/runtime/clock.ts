/** Time as a parameter. */
export interface Clock {
  /** Unix time. May step; for time stamps. */
  nowMs(): number
  /** Never steps back; for durations. */
  monotonicMs(): number
  /** Resolves after `ms`, or as soon as `signal` is aborted, whichever comes first. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** The machine's clock. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
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
    }),
}
