/**
 * Matches that are to be sent again, wherever they are: retries at once, dead letters and delivered ones as retries.
 *
 * A match that the cursor has passed and the log still has is a retry, a dead letter or delivered: gap markers and expired
 * dead letters are of what retention has passed. So what is neither a retry nor a dead letter was delivered.
 */
import type { DatabaseSync } from "node:sqlite"
import type { AppId, LinkId } from "../../../model/ids.ts"
import type { LinkMatch, RedeliveryOutcome } from "../../../model/redelivery.ts"
import { settingChecked } from "../connection/checked-rows.ts"
import { epochOf } from "./log-epochs.ts"
import { insertRetry } from "./progress.ts"
import { prepareRetryRoom, type RetryRoom } from "./retry-room.ts"
import { prepare } from "../connection/statements.ts"
import type { SyncWrites, WriteContext } from "../serving/sync-store.ts"

interface LinkRow {
  readonly app: AppId
  readonly first: number
  readonly position: number
  readonly head: number
  readonly trimmedTo: number
  readonly delivered: number
  readonly retries: number
}

type RedeliveryWrites = Pick<SyncWrites, "redeliverMatches" | "hastenRetries">

/** The writes by which matches are sent again. */
export function createRedeliveryWrites(db: DatabaseSync, { announceControl }: WriteContext): RedeliveryWrites {
  const linkOf = prepare<LinkRow>(
    db,
    `SELECT CAST (links.app_id AS TEXT) AS app, first_position AS first, position, coalesce(head, 0) AS head,
       coalesce(trimmed_to, 0) AS trimmedTo, delivered, retries
     FROM links LEFT JOIN match_logs ON match_logs.app_id = links.app_id
     WHERE links.id = ?1 AND (?2 IS NULL OR links.app_id = ?2)`,
  )
  const dueNow = settingChecked("retries", { due_at_ms: "0" })
  const hasten = prepare(db, `UPDATE retries SET ${dueNow} WHERE link_id = ? AND seq = ?`)
  const hastenAll = prepare(
    db,
    `UPDATE retries SET ${dueNow} WHERE due_at_ms > 0
       AND link_id = (SELECT id FROM links WHERE webhook_id = ?1 AND (?2 IS NULL OR app_id = ?2))`,
  )
  const isDead = prepare(db, "SELECT 1 FROM dead_letters WHERE link_id = ? AND seq = ?")
  const bytesOf = prepare<{ bytes: number }>(
    db,
    `SELECT coalesce(octet_length(envelope), 0) AS bytes FROM matches LEFT JOIN posts ON posts.id = post_id
     WHERE matches.app_id = ? AND seq = ?`,
  )
  const epochAt = prepare<{ epoch: string | null }>(db, `SELECT ${epochOf("?1", "?2")} AS epoch`)
  const insert = prepare(db, insertRetry)
  const forgetDead = prepare(db, "DELETE FROM dead_letters WHERE link_id = ? AND seq = ?")
  const moveToRetries = prepare(
    db,
    "UPDATE links SET retries = retries + 1, delivered = delivered - ?, dead_letters = dead_letters - ? WHERE id = ?",
  )
  const countRedelivery = prepare(db, "UPDATE links SET redeliveries = redeliveries + 1 WHERE id = ?")
  const countOfWebhook = prepare(db, "UPDATE links SET redeliveries = redeliveries + 1 WHERE webhook_id = ?")
  const roomOf = prepareRetryRoom(db)

  function redeliverOne(link: bigint, row: LinkRow, { seq, epoch }: LinkMatch, room: RetryRoom): RedeliveryOutcome {
    if (seq <= row.first || seq > row.head) return "unknown"
    if (epoch !== (epochAt.get(BigInt(row.app), seq)?.epoch ?? undefined)) return "unknown"
    if (seq > row.position) return "waiting"
    if (hasten.run(link, seq) === 1) return "redelivered"
    const wasDead = isDead.get(link, seq) !== undefined
    if (!wasDead && (seq <= row.trimmedTo || row.delivered === 0)) return "gone"
    if (!room.take(bytesOf.get(BigInt(row.app), seq)?.bytes ?? 0)) return "no-room"
    forgetDead.run(link, seq)
    insert.run(BigInt(row.app), link, seq, 0, 0)
    moveToRetries.run(wasDead ? 0 : 1, wasDead ? 1 : 0, link)
    return "redelivered"
  }

  return {
    redeliverMatches(matches, appId) {
      const app = appId === undefined ? null : BigInt(appId)
      const outcomes = new Map<LinkMatch, RedeliveryOutcome>()
      let hasChanged = false
      for (const [linkId, ofLink] of Map.groupBy(matches, (match): LinkId => match.linkId)) {
        const link = BigInt(linkId)
        const row = linkOf.get(link, app)
        if (row === undefined) continue
        const room = roomOf(link, row.retries)
        for (const match of ofLink) outcomes.set(match, redeliverOne(link, row, match, room))
        if (!ofLink.some((match) => outcomes.get(match) === "redelivered")) continue
        countRedelivery.run(link)
        hasChanged = true
      }
      if (hasChanged) announceControl()
      return matches.map((match) => outcomes.get(match) ?? "unknown")
    },

    hastenRetries(webhookId, appId) {
      const hastened = hastenAll.run(BigInt(webhookId), appId === undefined ? null : BigInt(appId))
      if (hastened === 0) return 0
      countOfWebhook.run(BigInt(webhookId))
      announceControl()
      return hastened
    },
  }
}
