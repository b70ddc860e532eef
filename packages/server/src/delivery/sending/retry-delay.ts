/** Growth of delays: from `baseMs`, doubling, up to `maxMs`. */
export interface RetryPolicy {
  readonly baseMs: number
  readonly maxMs: number
}

/**
 * Delay before the next attempt, after `failures` of them (1 after the first): the doubled base, up to the maximum, and
 * of that between one half and the whole, as `fraction` (0 up to 1) says. So what failed together does not come back
 * together, and yet never at once. `retryAfterMs` is what the endpoint asked for: it gets at least what is granted.
 *
 * Source: Marc Brooker, "Exponential backoff and jitter", equal jitter.
 */
export function retryDelayMs(policy: RetryPolicy, failures: number, fraction: number, retryAfterMs?: number): number {
  const ceilingMs = Math.min(policy.maxMs, policy.baseMs * 2 ** (failures - 1))
  const delayMs = Math.round((ceilingMs / 2) * (1 + fraction))
  return retryAfterMs === undefined ? delayMs : Math.max(delayMs, grantedDelayMs(policy, retryAfterMs))
}

/** The delay that an endpoint asked for, within our own bounds: it can neither rush us nor stop us. */
export function grantedDelayMs(policy: RetryPolicy, retryAfterMs: number): number {
  return Math.min(Math.max(Math.ceil(retryAfterMs), policy.baseMs), policy.maxMs)
}

/** Responses whose `Retry-After` is about the endpoint, not about one request. Source: RFC 6585, 4; RFC 9110, 15.6.4. */
const pausesEndpoint: ReadonlySet<number | undefined> = new Set([429, 503])

/** How long nothing at all may be sent to an endpoint after a response of this status; 0 when it did not ask for that. */
export function endpointPauseMs(
  policy: RetryPolicy,
  { status, retryAfterMs }: { readonly status: number | undefined; readonly retryAfterMs: number | undefined },
): number {
  return retryAfterMs === undefined || !pausesEndpoint.has(status) ? 0 : grantedDelayMs(policy, retryAfterMs)
}
