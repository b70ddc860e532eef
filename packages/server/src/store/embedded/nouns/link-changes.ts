/** Reads what the ledger needs of a link, and writes what it changes (`store/ledger/link-change.ts`). */
import type { DatabaseSync } from "node:sqlite"
import type { AppId, LinkId, MatchSeq } from "../../../model/ids.ts"
import type { LinkBefore, LinkChange, OutstandingMatch } from "../../ledger/link-change.ts"
import type { RedeliverableLink } from "../../ledger/redeliver.ts"
import { RetryRoom } from "../../ledger/retry-room.ts"
import { insertChecked, settingChecked } from "../connection/checked-rows.ts"
import { prepare } from "../connection/statements.ts"
import { prepareDeleteSpared } from "./spared-matches.ts"

/** A link, and its log as far as retention and the head go. */
export interface LinkRow extends RedeliverableLink {
  readonly appId: AppId
  readonly retries: number
}

/** Prepares the read of a link, only the app's own when it is given. */
export function prepareLink(db: DatabaseSync): (link: bigint, app: bigint | null) => LinkRow | undefined {
  const link = prepare<LinkRow>(
    db,
    `SELECT CAST (links.app_id AS TEXT) AS appId, first_position AS firstPosition, position, coalesce(head, 0) AS head,
       coalesce(trimmed_to, 0) AS trimmedTo, delivered, retries
     FROM links LEFT JOIN match_logs ON match_logs.app_id = links.app_id
     WHERE links.id = ?1 AND (?2 IS NULL OR links.app_id = ?2)`,
  )
  return (id, app) => link.get(id, app)
}

/** Prepares the read of those of a link's matches that are retries or dead letters. */
export function prepareOutstanding(
  db: DatabaseSync,
): (link: bigint, seqs: readonly MatchSeq[]) => LinkBefore["outstanding"] {
  const state = prepare<{ isRetry: number; isDead: number }>(
    db,
    `SELECT EXISTS (SELECT 1 FROM retries WHERE link_id = ?1 AND seq = ?2) AS isRetry,
       EXISTS (SELECT 1 FROM dead_letters WHERE link_id = ?1 AND seq = ?2) AS isDead`,
  )
  return (link, seqs) =>
    seqs.flatMap((seq): readonly OutstandingMatch[] => {
      const { isRetry = 0, isDead = 0 } = state.get(link, seq) ?? {}
      return isRetry + isDead === 0 ? [] : [{ seq, isDead: isDead === 1 }]
    })
}

/** Prepares the write of a change. */
export function prepareLinkChange(db: DatabaseSync): (linkId: LinkId, appId: AppId, change: LinkChange) => void {
  const deleteRetry = prepare(db, "DELETE FROM retries WHERE link_id = ? AND seq = ?")
  const putRetry = prepare(
    db,
    `${insertChecked("retries")} ON CONFLICT (link_id, seq) DO UPDATE
     SET ${settingChecked("retries", { failures: "excluded.failures", due_at_ms: "excluded.due_at_ms" })}`,
  )
  const deleteDead = prepare(db, "DELETE FROM dead_letters WHERE link_id = ? AND seq = ?")
  const insertDead = prepare(db, insertChecked("dead_letters"))
  const updateLink = prepare(
    db,
    `UPDATE links SET position = ?, delivered = delivered + ?, retries = retries + ?, dead_letters = dead_letters + ?
     WHERE id = ?`,
  )
  const countRest = prepare(
    db,
    `UPDATE links SET expired = expired + ?, withdrawn = withdrawn + ?, redeliveries = redeliveries + ? WHERE id = ?`,
  )
  const deleteSpared = prepareDeleteSpared(db)
  return (linkId, appId, change) => {
    const [link, app] = [BigInt(linkId), BigInt(appId)]
    for (const seq of change.retriesGone) deleteRetry.run(link, seq)
    for (const { seq, failures, dueAtMs } of change.retries) putRetry.run(app, link, seq, failures, dueAtMs)
    for (const seq of change.deadGone) deleteDead.run(link, seq)
    for (const { seq, failures, outcome, status, error, deadLetteredAtMs } of change.dead) {
      insertDead.run(app, link, seq, failures, outcome, status ?? null, error ?? null, deadLetteredAtMs)
    }
    const { position, delivered, retriesBy, deadLettersBy, expired, withdrawn, redeliveries } = change
    updateLink.run(position, delivered, retriesBy, deadLettersBy, link)
    if (expired + withdrawn + redeliveries > 0) countRest.run(expired, withdrawn, redeliveries, link)
    for (const seq of change.freed) deleteSpared(app, seq)
  }
}

/** Prepares the room of a link that has so many retries. */
export function prepareRetryRoom(db: DatabaseSync): (link: bigint, retries: number) => RetryRoom {
  // The sizes are those of what is sent at most. SQLite knows them without reading the texts.
  const retryBytes = prepare<{ bytes: number }>(
    db,
    `SELECT coalesce(sum(octet_length(envelope)), 0) AS bytes
     FROM retries JOIN matches ON matches.app_id = retries.app_id AND matches.seq = retries.seq
       JOIN posts ON posts.id = post_id
     WHERE link_id = ?`,
  )
  return (link, retries) =>
    new RetryRoom(retries, RetryRoom.needsBytes(retries) ? (retryBytes.get(link)?.bytes ?? 0) : 0)
}
