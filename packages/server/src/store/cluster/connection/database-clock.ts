/**
 * The time of day that all processes of a store share: PostgreSQL's. By it matches are stamped, retention deletes, and
 * page tokens, sessions, retries and challenges are issued and judged, so a process whose machine has the wrong time
 * does no harm.
 */
import type { SharedClock } from "../../../runtime/shared-clock.ts"
import type { Queries } from "./database.ts"

/** Time between two questions. Ours: clocks drift by less than a millisecond in it, and a step of PostgreSQL's is rare. */
const askedEveryMs = 10_000

/** Sets a clock by PostgreSQL's. Throws when it does not respond. */
export async function setByDatabase(clock: SharedClock, queries: Queries): Promise<void> {
  await clock.correct(async () => {
    const sql = `SELECT extract(epoch FROM clock_timestamp()) * 1000 AS "nowMs"`
    const row = await queries.row<{ nowMs: number }>(sql)
    if (row === undefined) throw new Error("PostgreSQL returned no row of its clock.")
    return row.nowMs
  })
}

/** Goes on setting a clock by PostgreSQL's until aborted. */
export async function keepByDatabase(clock: SharedClock, queries: Queries, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(askedEveryMs, signal)
    if (signal.aborted) return
    // While PostgreSQL is away the clock goes on by itself. The leases report that it is away.
    await setByDatabase(clock, queries).catch(() => undefined)
  }
}
