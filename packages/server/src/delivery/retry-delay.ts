/** How waits grow: from `baseMs`, doubling, up to `maxMs`. */
export interface RetryPolicy {
  readonly baseMs: number
  readonly maxMs: number
}

/**
 * Wait before the next attempt, after `failures` of them (1 after the first). The doubled base, up to the most,
 * and of that between one half and the whole, as `fraction` (0 up to 1) says: so that what failed together
 * does not come back together, and yet never at once.
 *
 * Source: Marc Brooker, "Exponential backoff and jitter", equal jitter.
 */
export function retryDelayMs(policy: RetryPolicy, failures: number, fraction: number): number {
  const ceilingMs = Math.min(policy.maxMs, policy.baseMs * 2 ** (failures - 1))
  return Math.round((ceilingMs / 2) * (1 + fraction))
}

/** The wait that an endpoint asked for, within the bounds of our own: a stranger can neither rush us nor stop us. */
export function grantedDelayMs(policy: RetryPolicy, askedMs: number): number {
  return Math.min(Math.max(Math.ceil(askedMs), policy.baseMs), policy.maxMs)
}
