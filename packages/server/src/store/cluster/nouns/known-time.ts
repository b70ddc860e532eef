/** The time that the store knows: one row, so that a start notices a jump of the clock. */
import type { StoreReads, StoreWrites } from "../../store.ts"
import { columnsAs, type ClusterDatabase, type Queries } from "../connection/database.ts"
import type { KnownTime } from "../../../model/known-time.ts"

/** The read of the known time. */
export function createKnownTimeReads(queries: Queries): Pick<StoreReads, "knownTime"> {
  return {
    knownTime: () =>
      queries.row<KnownTime>(`SELECT ${columnsAs("known_time", "believed_ms, clock_ms, steady_ms")} FROM known_time`),
  }
}

/** The write of the known time. */
export function createKnownTimeWrites(database: ClusterDatabase): Pick<StoreWrites, "saveKnownTime"> {
  return { saveKnownTime: (time) => replaceKnownTime(database, time) }
}

/** Replaces what is known of the time. */
export async function replaceKnownTime(queries: Queries, { believedMs, clockMs, steadyMs }: KnownTime): Promise<void> {
  await queries.run(
    `INSERT INTO known_time (one, believed_ms, clock_ms, steady_ms) VALUES (1, $1, $2, $3)
     ON CONFLICT (one) DO UPDATE SET believed_ms = $1, clock_ms = $2, steady_ms = $3`,
    believedMs,
    clockMs,
    steadyMs,
  )
}
