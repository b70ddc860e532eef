/** The epochs of match logs (`store/epochs.ts`). A log without a row is in its first epoch. */
import { lastIdBefore, type NewEpoch } from "../../epochs.ts"
import type { StoreWrites } from "../../store.ts"
import type { ClusterDatabase, WriteTransaction } from "../connection/database.ts"
import { lastId, noteIds } from "../connection/last-id.ts"
import { refuseServed } from "./lease-rows.ts"

/** SQL: all epochs of the log of an app after the first, as a column; NULL without one. */
export function epochsOfLog(appId: string): string {
  return `(SELECT json_agg(json_build_object('fromSeq', from_seq, 'epoch', epoch)) FROM log_epochs
    WHERE log_epochs.app_id = ${appId}) AS "epochs"`
}

/** The write that begins an epoch. */
export function createEpochWrites(database: ClusterDatabase): Pick<StoreWrites, "beginEpoch"> {
  return {
    beginEpoch: (next) =>
      database.write(async (transaction) => {
        await refuseServed(transaction)
        await beginEpochIn(transaction, next)
      }),
  }
}

/** Begins an epoch as part of a transaction. Appends wait for its end. */
export async function beginEpochIn(transaction: WriteTransaction, next: NewEpoch): Promise<void> {
  await transaction.script("LOCK TABLE match_logs, links IN SHARE ROW EXCLUSIVE MODE")
  // An epoch in which nothing was appended has no ids, and the new one takes its place.
  await transaction.run(
    `INSERT INTO log_epochs (app_id, from_seq, epoch)
     SELECT apps.id, coalesce(head, 0) + 1, $1 FROM apps LEFT JOIN match_logs ON match_logs.app_id = apps.id
     ON CONFLICT (app_id, from_seq) DO UPDATE SET epoch = excluded.epoch`,
    next.epoch,
  )
  await transaction.run("UPDATE links SET attempts = attempts + $1", next.numbersSkipped)
  const sequence = "pg_get_serial_sequence('dead_letters', 'id')"
  await transaction.rows(
    `SELECT setval(${sequence}, coalesce(pg_sequence_last_value(${sequence}::regclass), 0) + $1::bigint)`,
    next.numbersSkipped,
  )
  await noteIds(transaction, lastIdBefore(next, await lastId(transaction)))
  await transaction.announceControl()
}
