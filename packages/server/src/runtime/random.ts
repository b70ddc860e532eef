import { randomBytes } from "node:crypto"

/** Chance as a parameter. */
export interface Random {
  /** At least 0, less than 1. For jitter, not for secrets. */
  fraction(): number
  /** Unpredictable bytes, for secrets. */
  bytes(count: number): Uint8Array
}

/** The machine's randomness. */
export const systemRandom: Random = {
  fraction: () => Math.random(),
  bytes: (count) => randomBytes(count),
}
