/**
 * The headers of every response.
 *
 * Clients rely on the three headers of the rate limit: without them twarc2 fails, and at a remainder of 0 the paginators
 * of twitter-api-v2 stop silently. The headers of an endpoint without a limit show one that is
 * never reached.
 */
import type { RequestStanding } from "../control/limits/request-limits.ts"

/** The access level of an app token. Source: X's recorded responses, except its 401s. */
const accessLevel = "read"

/** The version of X's API whose description Sluice follows. */
const apiVersion = "2.167"

/** X's window. Source: docs.x.com, "Rate limits". */
const windowSeconds = 900

/** The limit that is shown. Ours. */
const unlimited = "1000000"

/** The headers of the current window, which all its responses share. */
let current: { readonly window: number; readonly headers: Readonly<Record<string, string>> } | undefined

/** The headers of a response at this time. */
export function defaultHeaders(nowMs: number): Readonly<Record<string, string>> {
  const window = Math.floor(nowMs / 1000 / windowSeconds)
  if (current?.window !== window) {
    const headers = {
      "api-version": apiVersion,
      "cache-control": "no-cache, no-store, max-age=0",
      "x-access-level": accessLevel,
      "x-content-type-options": "nosniff",
      "x-rate-limit-limit": unlimited,
      "x-rate-limit-remaining": unlimited,
      "x-rate-limit-reset": String((window + 1) * windowSeconds),
    }
    current = { window, headers }
  }
  return current.headers
}

/** The headers that X omits from a 401. */
export const authorizedHeaderNames = [
  "x-access-level",
  "x-rate-limit-limit",
  "x-rate-limit-remaining",
  "x-rate-limit-reset",
] as const

/** The headers of a response of an endpoint with a limit. */
export function standingHeaders(
  { limit, left, endsInMs }: RequestStanding,
  nowMs: number,
): Readonly<Record<string, string>> {
  return {
    "x-rate-limit-limit": String(limit),
    "x-rate-limit-remaining": String(left),
    "x-rate-limit-reset": String(Math.ceil((nowMs + endsInMs) / 1000)),
  }
}

/** The headers of a 429: clients wait until `x-rate-limit-reset`, or for `retry-after`. */
export function rateLimitHeaders(
  { limit, retryAfterMs }: { readonly limit: number; readonly retryAfterMs: number },
  nowMs: number,
): Readonly<Record<string, string>> {
  return {
    "retry-after": String(Math.ceil(retryAfterMs / 1000)),
    "x-rate-limit-limit": String(limit),
    "x-rate-limit-remaining": "0",
    "x-rate-limit-reset": String(Math.ceil((nowMs + retryAfterMs) / 1000)),
  }
}
