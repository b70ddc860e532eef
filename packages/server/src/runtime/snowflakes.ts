import { snowflakeEpochMs } from "@sluice/api"
import type { Clock } from "./clock.ts"
import type { Random } from "./random.ts"

/** Greatest number within a millisecond. */
const sequenceMax = 4095

/** Hands out ids that only ever rise, even when the clock does not. */
export interface Snowflakes {
  /** Decimal digits. */
  next(): string
}

/** Processes that ids tell apart. */
const nodesMax = 1024

/**
 * Ids of this process, all above `after`: milliseconds, 10 bits for the process, a sequence within the millisecond. A
 * clock that is set back does not set ids back: the last millisecond goes on until the clock has passed it. So does that
 * of `after`, the last id that an earlier process gave.
 *
 * Each process that shares a store has a number, whose lower bits its ids hold; without a number these bits are random.
 * Their ids are in no common order: an id may be below one that another process gave earlier, by as much as their clocks
 * differ (docs/decisions/ids-of-many-processes.md).
 *
 * Source: X's announcement of snowflake (41, 10 and 12 bits).
 */
export function createSnowflakes(
  clock: Clock,
  random: Random,
  { after = "0", processNumber }: { readonly after?: string; readonly processNumber?: number | undefined } = {},
): Snowflakes {
  const node = BigInt(processNumber === undefined ? Math.floor(random.fraction() * nodesMax) : processNumber % nodesMax)
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
