/** The attempt history: of each link a ring of the newest attempts. */
import type { Attempt } from "../../../model/attempt.ts"
import type { AttemptReads, AttemptWrites } from "../../port/attempt-store.ts"
import type { DatabaseSync } from "node:sqlite"
import { attemptColumns, attemptOf, jsonOrNull, type AttemptRow } from "../../rows/attempt.ts"
import { maySendOld } from "../../ledger/deletions.ts"
import { deletedRules } from "../../rows/match-entry.ts"
import { insertChecked, isWhole } from "../connection/checked-rows.ts"
import { epochOf } from "../../rows/log-epoch.ts"
import { columnsAs, prepare } from "../connection/statements.ts"
import type { SyncReads, SyncWrites } from "../serving/sync-store.ts"

/** The reads of attempts. */
export function createAttemptReads(db: DatabaseSync): SyncReads<AttemptReads> {
  const select = `SELECT CAST (number AS TEXT) AS id, ${columnsAs("attempts", attemptColumns)},
      ${epochOf("(SELECT app_id FROM links WHERE links.id = attempts.link_id)", "attempts.seq")}
    FROM attempts WHERE link_id = ? AND ${isWhole("attempts")}`
  const ofLink = prepare<AttemptRow>(db, `${select} ORDER BY number DESC LIMIT ?`)
  const byNumber = prepare<AttemptRow>(db, `${select} AND number = ?`)
  return {
    attempts: (linkId, limit) => ofLink.all(BigInt(linkId), limit).map(attemptOf),
    attempt(linkId, id) {
      const row = byNumber.get(BigInt(linkId), BigInt(id))
      return row && attemptOf(row)
    },
  }
}

/** The writes of attempts. */
export function createAttemptWrites(db: DatabaseSync): SyncWrites<AttemptWrites> {
  const count = prepare<{ attempts: number }>(
    db,
    "UPDATE links SET attempts = attempts + ? WHERE id = ? RETURNING attempts",
  )
  const insert = prepare(db, insertChecked("attempts", "INSERT OR REPLACE"))
  const changeOf = prepare<{ isDeleted: number; rewrittenAtMs: number | null }>(
    db,
    `SELECT rules = '${deletedRules}' AS isDeleted, rewritten_posts.at_ms AS rewrittenAtMs
     FROM links CROSS JOIN matches ON matches.app_id = links.app_id LEFT JOIN rewritten_posts USING (post_id)
     WHERE links.id = ? AND matches.seq = ?`,
  )
  const shrinkRing = prepare(db, "DELETE FROM attempts WHERE link_id = ? AND slot >= ?")
  const responseOf = (attempt: Attempt): Attempt["response"] => {
    const { linkId, seq, response } = attempt
    if (response === undefined) return undefined
    const { isDeleted = 0, rewrittenAtMs } = changeOf.get(BigInt(linkId), seq) ?? {}
    return isDeleted === 1 || maySendOld(attempt, rewrittenAtMs ?? undefined) ? undefined : response
  }
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
            jsonOrNull(attempt.signatures),
            jsonOrNull(responseOf(attempt)),
          )
        }
      }
    },
  }
}
