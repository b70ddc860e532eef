/** The attempt history: of each link a ring of the newest attempts. */
import type { DatabaseSync } from "node:sqlite"
import type { Attempt } from "../../model/attempt.ts"
import { insertChecked, isWhole } from "./checked-rows.ts"
import { columnsAs, prepare, recordOf } from "./statements.ts"
import type { SyncReads, SyncWrites } from "./sync-store.ts"

interface AttemptRow extends Omit<Attempt, "status" | "error"> {
  readonly status: number | null
  readonly error: string | null
}

/** The reads of attempts. */
export function createAttemptReads(db: DatabaseSync): Pick<SyncReads, "attempts"> {
  const ofLink = prepare<AttemptRow>(
    db,
    `SELECT ${columnsAs("attempts", "link_id, seq, at_ms, duration_ms, outcome, status, bytes, error")}
     FROM attempts WHERE link_id = ? AND ${isWhole("attempts")} ORDER BY number DESC LIMIT ?`,
  )
  return {
    attempts: (linkId, limit) => ofLink.all(BigInt(linkId), limit).map(recordOf),
  }
}

/** The writes of attempts. */
export function createAttemptWrites(db: DatabaseSync): Pick<SyncWrites, "recordAttempts"> {
  const count = prepare<{ attempts: number }>(
    db,
    "UPDATE links SET attempts = attempts + ? WHERE id = ? RETURNING attempts",
  )
  const insert = prepare(db, insertChecked("attempts", "INSERT OR REPLACE"))
  const shrinkRing = prepare(db, "DELETE FROM attempts WHERE link_id = ? AND slot >= ?")
  return {
    recordAttempts(attempts, { keptPerLink }) {
      if (keptPerLink < 1) return
      for (const [linkId, ofLink] of Map.groupBy(attempts, (attempt) => attempt.linkId)) {
        const link = BigInt(linkId)
        const last = count.get(ofLink.length, link)?.attempts
        if (last === undefined) continue
        shrinkRing.run(link, keptPerLink)
        const kept = ofLink.slice(-keptPerLink)
        for (const [index, attempt] of kept.entries()) {
          const number = last - kept.length + 1 + index
          insert.run(
            link,
            number % keptPerLink,
            number,
            attempt.seq,
            attempt.atMs,
            attempt.durationMs,
            attempt.outcome,
            attempt.status ?? null,
            attempt.bytes,
            attempt.error ?? null,
          )
        }
      }
    },
  }
}
