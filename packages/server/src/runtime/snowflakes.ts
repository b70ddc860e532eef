import { snowflakeEpochMs } from "@sluice/api"
import type { Clock } from "./clock.ts"
import type { Random } from "./random.ts"

/** Greatest number within a millisecond. */
const sequenceMax = 4095

/** Hands out ids that only ever rise, whatever the clock does. */
export interface Snowflakes {
  /** Decimal digits. */
  next(): string
}

/**
 * Ids of this process, all above `after`: milliseconds, 10 random bits for the process, a sequence within the
 * millisecond. A clock that is set back does not set ids back: the last millisecond goes on until the clock has passed
 * it. So does that of `after`, the last id that an earlier process gave.
 *
 * Source: X's announcement of snowflake (41, 10 and 12 bits).
 */
export function createSnowflakes(clock: Clock, random: Random, after = "0"): Snowflakes {
  const node = BigInt(Math.floor(random.fraction() * 1024))
  let atMs = Number(BigInt(after) >> 22n)
  let sequence = sequenceMax
  return {
    next() {
      const nowMs = clock.nowMs() - snowflakeEpochMs
      if (nowMs > atMs) {
        atMs = nowMs
        sequence = 0
      } else if (++sequence > sequenceMax) {
        atMs += 1
        sequence = 0
      }
      return ((BigInt(atMs) << 22n) | (node << 12n) | BigInt(sequence)).toString()
    },
  }
}
