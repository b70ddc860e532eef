/** Bounds of what a source has in flight. Both are ours: reading stops at either. */

/** Most messages that are received and not durable. */
export const messagesInFlightMax = 2_000

/** Most bytes of them. */
export const bytesInFlightMax = 16 * 1024 * 1024

/** Wait after the first failure, doubled with each further one. Ours. */
const backoffMsMin = 500

/** The longest. Ours. */
export const backoffMsMax = 30_000

/** The wait after so many failures in a row, at least one. */
export function backoffMs(failures: number): number {
  return Math.min(backoffMsMax, backoffMsMin * 2 ** Math.min(failures - 1, 10))
}
