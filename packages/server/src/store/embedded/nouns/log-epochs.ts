/** The epochs of match logs (`store/epochs.ts`). A log without a row is in its first epoch. */
import type { DatabaseSync } from "node:sqlite"
import { chooseEpoch, lastIdBefore, type NewEpoch } from "../../epochs.ts"
import { systemClock } from "../../../runtime/clock.ts"
import { systemRandom } from "../../../runtime/random.ts"
import { damageOf, insertChecked, isWhole } from "../connection/checked-rows.ts"
import { removeSearchFile, searchFileOf } from "../connection/derived-files.ts"
import { prepareLastId, prepareNoteIds } from "../connection/last-id.ts"
import { prepare } from "../connection/statements.ts"
import type { SyncWrites, WriteContext } from "../serving/sync-store.ts"

/** SQL: all epochs of the log of an app after the first, as JSON text; NULL without one. */
export function epochsOfLog(appId: string): string {
  return `(SELECT json_group_array(json_object('fromSeq', from_seq, 'epoch', epoch)) FROM log_epochs
    WHERE log_epochs.app_id = ${appId} HAVING count(*) > 0)`
}

/** SQL: a damaged epoch of the log of an app, as it is called; NULL without one. */
export function epochsDamageOf(appId: string): string {
  return `(SELECT ${damageOf("log_epochs")} FROM log_epochs
    WHERE log_epochs.app_id = ${appId} AND NOT ${isWhole("log_epochs")} LIMIT 1)`
}

/** The write that begins an epoch. */
export function createEpochWrites(
  db: DatabaseSync,
  { announceControl }: Pick<WriteContext, "announceControl">,
): Pick<SyncWrites, "beginEpoch"> {
  const begin = prepareBeginEpoch(db)
  return {
    beginEpoch(next) {
      // One that is there may be of later posts.
      removeSearchFile(searchFileOf(db.location() ?? ""))
      begin(next)
      announceControl()
    },
  }
}

/**
 * Marks a file as a copy: a number in its header, outside the schema, so that a copy of any version can be marked.
 * SQLite gives it no meaning. Source: sqlite.org, "PRAGMA application_id".
 */
export function markAsCopy(db: DatabaseSync): void {
  db.exec(`PRAGMA application_id = ${copyMark}`)
}

/** "SLCP" in ASCII. */
const copyMark = 0x53_4c_43_50

/** Begins an epoch in a store that is marked as a copy, and takes the mark away. */
export function beginEpochOfCopy(db: DatabaseSync): void {
  if (!isMarkedAsCopy(db)) return
  db.exec("BEGIN IMMEDIATE")
  try {
    // Another process may have been first.
    if (isMarkedAsCopy(db)) {
      prepareBeginEpoch(db)(chooseEpoch(systemClock, systemRandom))
      db.exec("PRAGMA application_id = 0")
    }
    db.exec("COMMIT")
  } catch (error) {
    // A full or failing disk may have ended it already.
    if (db.isTransaction) db.exec("ROLLBACK")
    throw error
  }
}

/** Whether a file is marked as a copy. */
export function isMarkedAsCopy(db: DatabaseSync): boolean {
  return prepare<{ application_id: number }>(db, "PRAGMA application_id").get()?.application_id === copyMark
}

function prepareBeginEpoch(db: DatabaseSync): (next: NewEpoch) => void {
  const heads = prepare<{ app: string; head: number }>(
    db,
    `SELECT CAST (apps.id AS TEXT) AS app, coalesce(head, 0) AS head
     FROM apps LEFT JOIN match_logs ON match_logs.app_id = apps.id`,
  )
  // An epoch in which nothing was appended has no ids, and the new one takes its place.
  const insert = prepare(db, insertChecked("log_epochs", "INSERT OR REPLACE"))
  const skipAttempts = prepare(db, "UPDATE links SET attempts = attempts + ?")
  const countDeadLetters = prepare(
    db,
    `INSERT INTO sqlite_sequence (name, seq) SELECT 'dead_letters', 0
     WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'dead_letters')`,
  )
  const skipDeadLetters = prepare(db, "UPDATE sqlite_sequence SET seq = seq + ? WHERE name = 'dead_letters'")
  const lastId = prepareLastId(db)
  const noteIds = prepareNoteIds(db)
  return (next) => {
    for (const { app, head } of heads.all()) insert.run(BigInt(app), head + 1, next.epoch)
    skipAttempts.run(next.numbersSkipped)
    countDeadLetters.run()
    skipDeadLetters.run(next.numbersSkipped)
    noteIds(lastIdBefore(next, lastId()))
  }
}
