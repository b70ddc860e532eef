/** Sessions of the console that were ended before their time. */
import type { SessionReads, SessionWrites } from "../../port/session-store.ts"
import type { DatabaseSync } from "node:sqlite"
import { EndedSessionExpiry } from "../../ended-sessions.ts"
import { insertChecked } from "../connection/checked-rows.ts"
import { prepareKnownTime } from "./known-time.ts"
import { prepare } from "../connection/statements.ts"
import type { SyncReads, SyncWrites, WriteContext } from "../serving/sync-store.ts"

/** The reads of ended sessions. */
export function createSessionReads(db: DatabaseSync): SyncReads<SessionReads> {
  const byId = prepare(db, "SELECT 1 FROM ended_sessions WHERE id = ?")
  return { isSessionEnded: (id) => byId.get(id) !== undefined }
}

/** The writes of ended sessions. */
export function createSessionWrites(
  db: DatabaseSync,
  { clock }: Pick<WriteContext, "clock">,
): SyncWrites<SessionWrites> {
  const insert = prepare(db, insertChecked("ended_sessions", "INSERT OR IGNORE"))
  const forgetExpired = prepare(
    db,
    `DELETE FROM ended_sessions WHERE rowid IN (
       SELECT rowid FROM ended_sessions WHERE expires_at_ms < ? ORDER BY expires_at_ms LIMIT ?)`,
  )
  const forgetBeyond = prepare(
    db,
    `DELETE FROM ended_sessions WHERE rowid IN (
       SELECT rowid FROM ended_sessions ORDER BY expires_at_ms
       LIMIT min(max((SELECT count(*) FROM ended_sessions) - ?, 0), ?))`,
  )
  const knownTime = prepareKnownTime(db)
  const expiry = new EndedSessionExpiry(clock)
  return {
    endSession(id, expiresAtMs) {
      insert.run(id, expiresAtMs)
      const due = expiry.due(knownTime())
      if (due === undefined) return
      forgetExpired.run(due.expiredBeforeMs, due.forgottenMax)
      forgetBeyond.run(due.keptMax, due.forgottenMax)
    },
  }
}
