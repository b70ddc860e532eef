/** Work at a constant rate, whether or not what it causes keeps up. */
import { setTimeout as sleep } from "node:timers/promises"

/**
 * Calls `work` every millisecond or so with the number of things that are due since the last call, and the moment when
 * the first of them was (`performance.now()`): a measurement from there includes the time for which it was not sent.
 */
export async function atConstantRate(
  perSecond: number,
  seconds: number,
  work: (count: number, dueMs: number) => void,
): Promise<void> {
  const startMs = performance.now()
  const total = perSecond * seconds
  for (let done = 0; done < total;) {
    const due = Math.min(total, Math.floor(((performance.now() - startMs) * perSecond) / 1000) + 1)
    if (due > done) work(due - done, startMs + (done * 1000) / perSecond)
    done = Math.max(done, due)
    await sleep(1)
  }
}
