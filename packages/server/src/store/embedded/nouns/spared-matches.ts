/**
 * Matches that retention has passed and spared, since a retry or a dead letter needs them.
 *
 * Each is deleted with the last of those. When a link is deleted with all that it needed, the log notes from where on
 * its spared matches have to be checked again; retention does that, a few at each step.
 */
import type { DatabaseSync } from "node:sqlite"
import { prepare } from "../connection/statements.ts"

/**
 * Prepares the deletion of a spared match that no retry and no dead letter of its app needs any more: to be called when
 * one of them goes. It returns how many it has deleted, 1 or 0.
 */
export function prepareDeleteSpared(db: DatabaseSync): (app: bigint, seq: number) => number {
  const remove = prepare(
    db,
    `DELETE FROM matches WHERE app_id = ?1 AND seq = ?2
       AND seq <= (SELECT trimmed_to FROM match_logs WHERE app_id = ?1)
       AND NOT EXISTS (SELECT 1 FROM retries WHERE app_id = ?1 AND seq = ?2)
       AND NOT EXISTS (SELECT 1 FROM dead_letters WHERE app_id = ?1 AND seq = ?2)`,
  )
  return (app, seq) => remove.run(app, seq)
}

/** Prepares the note that what the link of a webhook needed is to be checked again: for when it is deleted. */
export function prepareRecheckSpared(db: DatabaseSync): (app: bigint, webhook: bigint) => void {
  // Matches beyond trimmed_to are checked anyway when their time comes.
  const note = prepare(
    db,
    `UPDATE match_logs SET leftovers_after = min(coalesce(leftovers_after, first - 1), first - 1)
     FROM (
       SELECT min(seq) AS first FROM (
         SELECT min(seq) AS seq FROM retries WHERE link_id = (SELECT id FROM links WHERE webhook_id = ?2)
         UNION ALL
         SELECT min(seq) FROM dead_letters WHERE link_id = (SELECT id FROM links WHERE webhook_id = ?2)))
     WHERE match_logs.app_id = ?1 AND first <= trimmed_to`,
  )
  return (app, webhook) => void note.run(app, webhook)
}
