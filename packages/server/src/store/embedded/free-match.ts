import type { DatabaseSync } from "node:sqlite"
import { prepare } from "./statements.ts"

/**
 * Takes an entry away that retention has passed, when no retry and no dead letter of its app needs it any more. To be
 * called when one of them goes. Answers how many were taken: 1 or 0.
 */
export type FreeMatch = (app: bigint, seq: number) => number

/** Prepares it, on the connection that writes. */
export function prepareFreeMatch(db: DatabaseSync): FreeMatch {
  const free = prepare(
    db,
    `DELETE FROM matches WHERE app_id = ?1 AND seq = ?2
       AND seq <= (SELECT trimmed_to FROM match_logs WHERE app_id = ?1)
       AND NOT EXISTS (SELECT 1 FROM retries WHERE app_id = ?1 AND seq = ?2)
       AND NOT EXISTS (SELECT 1 FROM dead_letters WHERE app_id = ?1 AND seq = ?2)`,
  )
  return (app, seq) => free.run(app, seq)
}
