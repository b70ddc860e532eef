/** Waits for expected events, and for the absence of unexpected ones. */
import { setTimeout as delay } from "node:timers/promises"

/** How long to wait. */
export interface Waiting {
  /** Longest wait for an expected event. */
  readonly arrivalMsMax: number
  /** Its reason is thrown when it is aborted. */
  readonly signal: AbortSignal
}

/** Wait for unexpected events. Ours. */
export const surplusMs = 250

/** Resolves after `ms`. Throws the reason of `signal` as soon as that is aborted. */
export async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => signal.throwIfAborted())
}

/** Polls every few milliseconds until it is done, or takes too long. */
export async function waitUntil(
  isDone: () => boolean | Promise<boolean>,
  { arrivalMsMax, signal }: Waiting,
): Promise<void> {
  const untilMs = performance.now() + arrivalMsMax
  while (!(await isDone()) && performance.now() < untilMs) {
    await sleep(20, signal)
  }
}
