/** Bounds of what a source has in flight. Both are ours: reading stops at either. */

/** Most messages that are received and not durable. */
export const messagesInFlightMax = 2_000

/** Most bytes of them. */
export const bytesInFlightMax = 16 * 1024 * 1024
