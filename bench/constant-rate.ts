/** Work at a constant rate, whether or not its effects keep up. */
import { setTimeout as sleep } from "node:timers/promises"

/**
 * Calls `work` about every millisecond with the number of things due since the last call, and the moment when the first
 * of them was due (`performance.now()`): a measurement from that moment includes the delay before sending.
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
