/** Sessions of the console that were ended before their time. */
import type { DatabaseSync } from "node:sqlite"
import { endedSessionKeptMs } from "../bounds.ts"
import { insertChecked } from "./checked-rows.ts"
import { prepare } from "./statements.ts"
import type { SyncReads, SyncWrites, WriteContext } from "./sync-store.ts"

/** The reads of ended sessions. */
export function createSessionReads(db: DatabaseSync): Pick<SyncReads, "isSessionEnded"> {
  const byId = prepare(db, "SELECT 1 FROM ended_sessions WHERE id = ?")
  return { isSessionEnded: (id) => byId.get(id) !== undefined }
}

/** The writes of ended sessions. */
export function createSessionWrites(
  db: DatabaseSync,
  { clock }: Pick<WriteContext, "clock">,
): Pick<SyncWrites, "endSession"> {
  const insert = prepare(db, insertChecked("ended_sessions", "INSERT OR IGNORE"))
  const forget = prepare(db, "DELETE FROM ended_sessions WHERE expires_at_ms < ?")
  return {
    endSession(id, expiresAtMs) {
      insert.run(id, expiresAtMs)
      forget.run(clock.nowMs() - endedSessionKeptMs)
    },
  }
}
