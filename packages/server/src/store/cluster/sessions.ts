/** Sessions of the console that were ended before their time. */
import { endedSessionKeptMs } from "../bounds.ts"
import type { StoreReads, StoreWrites } from "../store.ts"
import type { ClusterDatabase, Queries, WriteContext } from "./database.ts"

/** The reads of ended sessions. */
export function createSessionReads(queries: Queries): Pick<StoreReads, "isSessionEnded"> {
  return {
    async isSessionEnded(id) {
      return (await queries.row("SELECT 1 FROM ended_sessions WHERE id = $1", id)) !== undefined
    },
  }
}

/** The writes of ended sessions. */
export function createSessionWrites(
  database: ClusterDatabase,
  { clock }: WriteContext,
): Pick<StoreWrites, "endSession"> {
  return {
    endSession: (id, expiresAtMs) =>
      database.write(async (transaction) => {
        const insert = "INSERT INTO ended_sessions (id, expires_at_ms) VALUES ($1, $2) ON CONFLICT DO NOTHING"
        await transaction.run(insert, id, expiresAtMs)
        const expired = clock.nowMs() - endedSessionKeptMs
        await transaction.run("DELETE FROM ended_sessions WHERE expires_at_ms < $1", expired)
      }),
  }
}
