import { randomInt } from "node:crypto"

/** The faults of a listener, on request. */
export interface Faults {
  /** Share of the deliveries that fail with `status`, 0 to 1. */
  readonly failRate: number
  /** The status of failing deliveries. */
  readonly status: number
  /** Least delay of every response, ms. */
  readonly latencyMs: number
}

/** The default status of failing deliveries. */
export const failingStatusDefault = 500

/** Resolution of the share. */
const parts = 1_000_000

/** Whether this delivery fails. */
export function isFailing({ failRate }: Faults): boolean {
  return randomInt(parts) < failRate * parts
}
