/** Delays of retries: ours for requests, those of X's documents for stream connections. */
import { ApiError } from "./errors.ts"

/** Options of retries. */
export interface RetryOptions {
  readonly signal?: AbortSignal
  /** True for an error that may pass; by default a transient `ApiError`. */
  readonly mayRetry?: (error: unknown) => boolean
  /** Called before each delay. */
  readonly onRetry?: (delayMs: number, error: unknown) => void
}

/** Most attempts at one request; with the delays below, about a minute in all. Ours. */
const attemptsMax = 10

/**
 * Runs `work` until it succeeds, at most ten times. Throws the last error, an error that will not pass, or the reason
 * of `signal`. Use it for requests that may be repeated without harm.
 */
export async function withRetries<Result>(
  work: () => Promise<Result>,
  { signal, mayRetry = (error) => error instanceof ApiError && error.isTransient, onRetry }: RetryOptions = {},
): Promise<Result> {
  for (let failures = 1; ; failures++) {
    try {
      return await work()
    } catch (error) {
      if (signal?.aborted === true || failures >= attemptsMax || !mayRetry(error)) throw error
      const delayMs = retryDelayMs(failures, error instanceof ApiError ? error.retryAfterMs : undefined)
      onRetry?.(delayMs, error)
      await sleep(delayMs, signal)
      signal?.throwIfAborted()
    }
  }
}

/** Delay before the next attempt at a request: what the server asked for, up to a minute, else doubling to 10 s. Ours. */
export function retryDelayMs(failures: number, retryAfterMs: number | undefined): number {
  return retryAfterMs === undefined ? Math.min(250 * 2 ** (failures - 1), 10_000) : Math.min(retryAfterMs, 60_000)
}

/** Failure of a stream connection. */
export type StreamFault = "network" | "http" | "rate-limit"

/**
 * Delay before the next attempt at a stream connection, after `failures` failures of this kind in a row (1 is the
 * first). Source: docs.x.com, "Handling disconnections": network +250 ms up to 16 s; HTTP 5 s doubling up to
 * 320 s; 429 one minute doubling. The bound of the last is ours: X's rate limits last 15 minutes.
 */
export function reconnectDelayMs(fault: StreamFault, failures: number): number {
  const doublings = Math.min(failures - 1, 10)
  switch (fault) {
    case "network":
      return Math.min(250 * failures, 16_000)
    case "http":
      return Math.min(5000 * 2 ** doublings, 320_000)
    case "rate-limit":
      return Math.min(60_000 * 2 ** doublings, 900_000)
  }
}

/** Resolves after `ms`, or as soon as `signal` is aborted. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener("abort", done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal?.addEventListener("abort", done)
  })
}
