import type { Clock } from "../runtime/clock.ts"

/** The same for all clients, made again when it is older than `ageMsMax`, or could not be made. */
export function cachedFor<Made>(clock: Clock, ageMsMax: number, make: () => Promise<Made>): () => Promise<Made> {
  let latest: { readonly made: Promise<Made>; readonly untilMs: number } | undefined
  return () => {
    const nowMs = clock.monotonicMs()
    if (latest === undefined || latest.untilMs <= nowMs) latest = { made: make(), untilMs: nowMs + ageMsMax }
    const { made } = latest
    made.catch(() => {
      if (latest?.made === made) latest = undefined
    })
    return made
  }
}
