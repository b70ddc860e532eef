import { randomInt } from "node:crypto"

/** What a listener does wrong on purpose. */
export interface Faults {
  /** Share of the deliveries that are answered with `status`: 0 to 1. */
  readonly failRate: number
  /** The status of those. */
  readonly status: number
  /** How long every response waits at least, ms. */
  readonly latencyMs: number
}

/** Of a failing delivery when none is named. */
export const failingStatusDefault = 500

/** Parts in which a share is drawn. */
const parts = 1_000_000

/** Whether this delivery fails. */
export function isFailing({ failRate }: Faults): boolean {
  return randomInt(parts) < failRate * parts
}
