/**
 * Headers of every answer.
 *
 * Clients count on the rate limit's three: without them twarc2 fails, and at a remainder of 0 the paginators of
 * twitter-api-v2 stop without a word. The profile `none` has no limit, so it shows one that is never used up.
 */

/** X's window. Source: docs.x.com, "Rate limits". */
const windowSeconds = 900

/** Shown by the profile `none`. Ours. */
const unlimited = "1000000"

/** Those of the present window, which all its answers share. */
let current: { readonly window: number; readonly headers: Readonly<Record<string, string>> } | undefined

/** The headers of an answer at this time. */
export function standingHeaders(nowMs: number): Readonly<Record<string, string>> {
  const window = Math.floor(nowMs / 1000 / windowSeconds)
  if (current?.window !== window) {
    const headers = {
      "cache-control": "no-cache, no-store, max-age=0",
      "x-content-type-options": "nosniff",
      "x-rate-limit-limit": unlimited,
      "x-rate-limit-remaining": unlimited,
      "x-rate-limit-reset": String((window + 1) * windowSeconds),
    }
    current = { window, headers }
  }
  return current.headers
}

/** Names of the headers that X leaves out of a 401. */
export const rateLimitHeaders = [
  "x-rate-limit-limit",
  "x-rate-limit-remaining",
  "x-rate-limit-reset",
] as const
