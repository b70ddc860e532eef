import { setTimeout as delay } from "node:timers/promises"

/** Milliseconds that never step back, for durations. */
export function monotonicMs(): number {
  return performance.now()
}

/** Resolves after `ms`, or as soon as `signal` is aborted, whichever comes first. Never rejects. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    await delay(ms, undefined, signal === undefined ? {} : { signal })
  } catch (error) {
    if (signal?.aborted !== true) throw error
  }
}
