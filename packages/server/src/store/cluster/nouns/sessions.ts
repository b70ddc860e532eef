/** Sessions of the console that were ended before their time. */
import type { SessionReads, SessionWrites } from "../../port/session-store.ts"
import { EndedSessionExpiry } from "../../ended-sessions.ts"
import type { ClusterDatabase, Queries, WriteContext } from "../connection/database.ts"
import { createKnownTimeReads } from "./known-time.ts"

/** The reads of ended sessions. */
export function createSessionReads(queries: Queries): SessionReads {
  return {
    async isSessionEnded(id) {
      return (await queries.row("SELECT 1 FROM ended_sessions WHERE id = $1", id)) !== undefined
    },
  }
}

/** Rows that another process deletes at the same time are left to it. */
const forgetExpired = `DELETE FROM ended_sessions WHERE id = ANY (ARRAY(
  SELECT id FROM ended_sessions WHERE expires_at_ms < $1 ORDER BY expires_at_ms LIMIT $2 FOR UPDATE SKIP LOCKED))`

const forgetBeyond = `DELETE FROM ended_sessions WHERE id = ANY (ARRAY(
  SELECT id FROM ended_sessions ORDER BY expires_at_ms
  LIMIT least(greatest((SELECT count(*) FROM ended_sessions) - $1::bigint, 0), $2::bigint) FOR UPDATE SKIP LOCKED))`

/** The writes of ended sessions. */
export function createSessionWrites(database: ClusterDatabase, { clock }: WriteContext): SessionWrites {
  const expiry = new EndedSessionExpiry(clock)
  return {
    endSession: (id, expiresAtMs) =>
      database.write(async (transaction) => {
        const insert = "INSERT INTO ended_sessions (id, expires_at_ms) VALUES ($1, $2) ON CONFLICT DO NOTHING"
        await transaction.run(insert, id, expiresAtMs)
        const due = expiry.due(await createKnownTimeReads(transaction).knownTime())
        if (due === undefined) return
        await transaction.run(forgetExpired, due.expiredBeforeMs, due.forgottenMax)
        await transaction.run(forgetBeyond, due.keptMax, due.forgottenMax)
      }),
  }
}
