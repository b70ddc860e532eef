/** How long to wait before trying again, by the words of X's documents or ours. */

/** What went wrong with a stream connection. */
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

/** Most attempts at one chunk of an import; with the delays below, about a minute in all. Ours. */
export const importAttemptsMax = 10

/** Delay before the next attempt at a chunk of an import. What the server asks for counts, up to a minute. Ours. */
export function importDelayMs(failures: number, askedMs: number | undefined): number {
  return askedMs === undefined ? Math.min(250 * 2 ** (failures - 1), 10_000) : Math.min(askedMs, 60_000)
}
