/**
 * A new epoch of a store: what keeps a copy from giving out an id that the original has given to something else.
 *
 *     original  ─── 1 … 100 ──┬── 101 … 140, in the first epoch ──►
 *                             └─► copy ── 101 … , in an epoch of its own ──►
 *
 * The epoch is part of the ids of later matches (`model/event-id.ts`). It is random, so two copies of one store differ.
 * Attempts and dead letters are numbered from 1, so a copy leaves out a random stretch of their numbers. Ids that hold the
 * time are beyond those of the original as long as the clock is; where it is behind them, a random stretch is left out.
 *
 * A store begins an epoch when it finds that it is a copy: an embedded store by a mark that every copy has
 * (`embedded/copy-store.ts`), a PostgreSQL store by the identity of its database (`cluster/database-identity.ts`). The
 * operator begins one where neither shows, as for a snapshot of a disk.
 */
import { snowflakeEpochMs } from "@sluice/api"
import type { Clock } from "../runtime/clock.ts"
import type { Random } from "../runtime/random.ts"

/** An epoch that is to begin. Plain data. */
export interface NewEpoch {
  /** 12 random hexadecimal digits. */
  readonly epoch: string
  /** When it begins. */
  readonly atMs: number
  /** How many numbers of attempts and of dead letters are left out. */
  readonly numbersSkipped: number
  /** How many milliseconds of ids are left out where the clock is behind the last one. */
  readonly idMsSkipped: number
}

/**
 * Numbers are left out in these steps, so that attempts keep their order in a ring of 100, 200 or 1,000 slots. Ours: a
 * store seldom gives so many between a backup and its restore.
 */
const numbersStep = 1_000_000

/** Most steps. Ours: after thousands of epochs the numbers are still exact as doubles. */
const stepsMax = 1_000_000

/** Most milliseconds of ids that are left out: 24 days. Ours. */
const idMsSkippedMax = 2 ** 31

/** Chooses an epoch that no other copy has. */
export function chooseEpoch(clock: Pick<Clock, "nowMs">, random: Random): NewEpoch {
  return {
    epoch: Buffer.from(random.bytes(6)).toString("hex"),
    atMs: clock.nowMs(),
    numbersSkipped: numbersStep * (1 + Math.floor(random.fraction() * stepsMax)),
    idMsSkipped: 1 + Math.floor(random.fraction() * idMsSkippedMax),
  }
}

/** The id after which those of an epoch begin, in a store whose last one was `lastId`. */
export function lastIdBefore({ atMs, idMsSkipped }: NewEpoch, lastId: string): string {
  const lastMs = Number(BigInt(lastId) >> 22n)
  if (atMs - snowflakeEpochMs > lastMs) return lastId
  return (BigInt(lastMs + idMsSkipped) << 22n).toString()
}
