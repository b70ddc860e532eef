/**
 * The largest id that this store's servers ever gave: ids rise over restarts too, even when the clock is set back
 * meanwhile.
 *
 * It is kept apart from the rows, since those with the newest ids may be deleted. When it is damaged, the rows that are
 * there say how far ids have come.
 */
import type { DatabaseSync } from "node:sqlite"
import { isWhole } from "./checked-rows.ts"
import { prepare } from "./statements.ts"

/** SQL: the largest id of the rows that are there, as `last_id`; 0 without any. */
const largestId = `
  SELECT coalesce(max(id), 0) AS last_id FROM (
    SELECT max(id) AS id FROM apps
    UNION ALL SELECT max(business_user_id) FROM apps
    UNION ALL SELECT max(instance_id) FROM apps
    UNION ALL SELECT max(id) FROM rules
    UNION ALL SELECT max(id) FROM webhooks
    UNION ALL SELECT max(id) FROM links
    UNION ALL SELECT max(id) FROM replays)`

/** Prepares the read of it, as digits. */
export function prepareLastId(db: DatabaseSync): () => string {
  const lastId = prepare<{ last_id: string }>(
    db,
    `SELECT CAST (iif(${isWhole("given_ids")}, given_ids.last_id, (${largestId})) AS TEXT) AS last_id FROM given_ids`,
  )
  return () => lastId.get()?.last_id ?? "0"
}

/** Prepares the note of new ids. It repairs a row that is damaged. */
export function prepareNoteIds(db: DatabaseSync): (...ids: readonly string[]) => void {
  const last = `iif(${isWhole("given_ids")}, max(given_ids.last_id, ?1), max((${largestId}), ?1))`
  const note = prepare(db, `UPDATE given_ids SET last_id = ${last}, checksum = row_checksum(given_ids.one, ${last})`)
  return (...ids) => {
    for (const id of ids) note.run(BigInt(id))
  }
}
