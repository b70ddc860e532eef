/** The time that the store knows: one row, so that a start notices a jump of the clock. */
import type { DatabaseSync } from "node:sqlite"
import { noKnownTime, type KnownTime } from "../../../model/known-time.ts"
import { insertChecked, isWhole } from "../connection/checked-rows.ts"
import { columnsAs, prepare } from "../connection/statements.ts"
import type { SyncWrites } from "../serving/sync-store.ts"

/** Prepares the read of the known time. */
export function prepareKnownTime(db: DatabaseSync): () => KnownTime | undefined {
  // A row whose key is damaged stays next to the one that is saved after it.
  const known = prepare<KnownTime & { readonly isWhole: number }>(
    db,
    `SELECT ${columnsAs("known_time", "believed_ms, clock_ms, steady_ms")}, ${isWhole("known_time")} AS isWhole
     FROM known_time ORDER BY isWhole DESC LIMIT 1`,
  )
  return () => {
    const row = known.get()
    if (row === undefined) return undefined
    const { isWhole: isRowWhole, ...time } = row
    return isRowWhole === 1 ? time : noKnownTime
  }
}

/** The write of the known time. It replaces a damaged row too. */
export function createKnownTimeWrites(db: DatabaseSync): Pick<SyncWrites, "saveKnownTime"> {
  const replace = prepare(db, insertChecked("known_time", "INSERT OR REPLACE"))
  return {
    saveKnownTime: ({ believedMs, clockMs, steadyMs }) => void replace.run(1, believedMs, clockMs, steadyMs),
  }
}
