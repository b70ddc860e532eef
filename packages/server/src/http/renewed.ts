import type { Clock } from "../runtime/clock.ts"

/**
 * The same bytes for all clients, made again when they are older than `ageMsMax`, or could not be made: for routes that
 * need no token.
 */
export function renewed(clock: Clock, ageMsMax: number, make: () => Promise<Buffer>): () => Promise<Buffer> {
  let latest: { readonly bytes: Promise<Buffer>; readonly untilMs: number } | undefined
  return () => {
    const nowMs = clock.monotonicMs()
    if (latest === undefined || latest.untilMs <= nowMs) latest = { bytes: make(), untilMs: nowMs + ageMsMax }
    const { bytes } = latest
    bytes.catch(() => {
      if (latest?.bytes === bytes) latest = undefined
    })
    return bytes
  }
}
