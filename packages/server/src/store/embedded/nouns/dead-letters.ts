/** Dead letters, and their way back to the retries. `progress.ts` adds them. */
import type { AttemptOutcome } from "@sluice/api"
import type { DatabaseSync } from "node:sqlite"
import type { DeadLetter, DeadLetterSelector } from "../../../model/dead-letter.ts"
import type { AppId, DeadLetterId, LinkId, WebhookId } from "../../../model/ids.ts"
import { redeliveredMax, retriesSummedMax } from "../../bounds.ts"
import { recordOf } from "../../records.ts"
import { damageOf, type CheckedRow } from "../connection/checked-rows.ts"
import { prepareKeyset, readKeyset, type Keyset } from "../connection/keyset.ts"
import { epochOf } from "./log-epochs.ts"
import { insertRetry } from "./progress.ts"
import { prepareRetryRoom } from "./retry-room.ts"
import { prepareDeleteSpared } from "./spared-matches.ts"
import { columnsAs, prepare, type Statement } from "../connection/statements.ts"
import type { SyncReads, SyncWrites, WriteContext } from "../serving/sync-store.ts"

interface DeadLetterRow extends CheckedRow, Omit<DeadLetter, "outcome" | "status" | "error" | "epoch"> {
  readonly epoch: string | null
  readonly outcome: AttemptOutcome
  readonly status: number | null
  readonly error: string | null
}

/** The reads of dead letters. */
export function createDeadLetterReads(db: DatabaseSync): Pick<SyncReads, "deadLetters"> {
  const columns = "id, app_id, link_id, seq, failures, outcome, status, error, dead_lettered_at_ms"
  // One statement for each selection, so that each reads a stretch of an index.
  const where = (condition: string): Keyset<DeadLetterRow> =>
    prepareKeyset(
      db,
      // The match is missing only in a damaged store.
      `SELECT ${columnsAs("dead_letters", columns)}, CAST (webhook_id AS TEXT) AS webhookId,
         coalesce(CAST (post_id AS TEXT), '0') AS postId, coalesce(matches.at_ms, 0) AS matchedAtMs,
         ${epochOf("dead_letters.app_id", "dead_letters.seq")} AS epoch,
         ${damageOf("dead_letters")} AS damage
       FROM dead_letters JOIN links ON links.id = link_id
         LEFT JOIN matches ON matches.app_id = dead_letters.app_id AND matches.seq = dead_letters.seq
       WHERE ${condition}`,
      "dead_letters.id",
    )
  const ofWebhookCondition = "dead_letters.link_id = (SELECT id FROM links WHERE webhook_id = ?)"
  const all = where("true")
  const ofApp = where("dead_letters.app_id = ?")
  const ofWebhook = where(ofWebhookCondition)
  const ofWebhookOfApp = where(`${ofWebhookCondition} AND +dead_letters.app_id = ?`)
  return {
    deadLetters({ appId, webhookId }, range) {
      const read = (keyset: Keyset<DeadLetterRow>, ...ids: readonly string[]) =>
        readKeyset(keyset, range, ids.map(BigInt)).map(deadLetterOf)
      if (webhookId === undefined) return appId === undefined ? read(all) : read(ofApp, appId)
      return appId === undefined ? read(ofWebhook, webhookId) : read(ofWebhookOfApp, webhookId, appId)
    },
  }
}

/** A link with dead letters. */
interface LinkRow {
  link_id: LinkId
  retries: number
}

interface DeadRow {
  id: string
  seq: number
  /** Most bytes to send for it. */
  bytes: number
}

/** Dead letters of one link. */
interface LinkSelection extends LinkRow {
  readonly dead: Iterable<DeadRow>
}

/** The writes of dead letters. */
export function createDeadLetterWrites(
  db: DatabaseSync,
  { announceControl }: WriteContext,
): Pick<SyncWrites, "redeliver" | "trimDeadLetters"> {
  const select = prepareSelect(db)
  const roomOf = prepareRetryRoom(db)
  const retry = prepare(db, insertRetry)
  const forget = prepare(db, "DELETE FROM dead_letters WHERE id = ?")
  const countRedelivery = prepare<{ app_id: AppId }>(
    db,
    `UPDATE links SET redeliveries = redeliveries + 1, retries = retries + ?, dead_letters = dead_letters - ?
     WHERE id = ? RETURNING CAST (app_id AS TEXT) AS app_id`,
  )
  const deleteOld = prepare<{ link_id: LinkId; app_id: AppId; seq: number }>(
    db,
    `DELETE FROM dead_letters WHERE id IN (
       SELECT id FROM dead_letters WHERE dead_lettered_at_ms < ?
         AND seq <= (SELECT trimmed_to FROM match_logs WHERE match_logs.app_id = dead_letters.app_id)
       ORDER BY dead_lettered_at_ms LIMIT ?)
     RETURNING CAST (link_id AS TEXT) AS link_id, CAST (app_id AS TEXT) AS app_id, seq`,
  )
  const countExpired = prepare(
    db,
    "UPDATE links SET expired = expired + ?1, dead_letters = dead_letters - ?1 WHERE id = ?2",
  )
  const deleteSpared = prepareDeleteSpared(db)

  /** Those of the selected ones for which their links have room among their retries. */
  function withRoom(selector: DeadLetterSelector): readonly { linkId: LinkId; dead: readonly DeadRow[] }[] {
    const chosen: { linkId: LinkId; dead: readonly DeadRow[] }[] = []
    let room = redeliveredMax
    let summed = 0
    for (const { link_id: linkId, retries, dead } of select(selector)) {
      if (room === 0 || summed > retriesSummedMax) break
      const roomOfLink = roomOf(BigInt(linkId), retries)
      if (roomOfLink.isFull) continue
      summed += retries
      const ofLink: DeadRow[] = []
      for (const row of dead) {
        if (!roomOfLink.take(row.bytes)) break
        ofLink.push(row)
        room -= 1
        if (room === 0 || roomOfLink.isFull) break
      }
      if (ofLink.length > 0) chosen.push({ linkId, dead: ofLink })
    }
    return chosen
  }

  return {
    redeliver(selector) {
      let redelivered = 0
      for (const { linkId, dead } of withRoom(selector)) {
        const link = BigInt(linkId)
        const app = countRedelivery.get(dead.length, dead.length, link)?.app_id
        if (app === undefined) continue
        for (const { id, seq } of dead) {
          retry.run(BigInt(app), link, seq, 0, 0)
          forget.run(BigInt(id))
        }
        redelivered += dead.length
      }
      if (redelivered > 0) announceControl()
      return redelivered
    },

    trimDeadLetters({ beforeMs, limit }) {
      const expired = deleteOld.all(beforeMs, limit)
      for (const [linkId, ofLink] of Map.groupBy(expired, (dead) => dead.link_id)) {
        countExpired.run(ofLink.length, BigInt(linkId))
      }
      for (const { app_id: app, seq } of expired) deleteSpared(BigInt(app), seq)
      return expired.length
    },
  }
}

/** Prepares the selection: of each link with dead letters, the one with the fewest retries first, in the order of death. */
function prepareSelect(db: DatabaseSync): (selector: DeadLetterSelector) => Iterable<LinkSelection> {
  // The sizes are those of what is sent at most. SQLite knows them without reading the texts.
  const deadWhere = (where: string): Statement<DeadRow> =>
    prepare(
      db,
      `SELECT CAST (dead_letters.id AS TEXT) AS id, dead_letters.seq, coalesce(octet_length(envelope), 0) AS bytes
       FROM dead_letters
         LEFT JOIN matches ON matches.app_id = dead_letters.app_id AND matches.seq = dead_letters.seq
         LEFT JOIN posts ON posts.id = post_id
       WHERE ${where}`,
    )
  const deadById = deadWhere("dead_letters.id = ?")
  const deadOfLinkSince = deadWhere("link_id = ? AND dead_lettered_at_ms >= ? ORDER BY dead_lettered_at_ms")
  const linksWhere = (where: string): Statement<LinkRow> =>
    prepare(
      db,
      `SELECT CAST (links.id AS TEXT) AS link_id, retries FROM links WHERE dead_letters > 0 AND ${where}
       ORDER BY retries, links.id`,
    )
  const allLinks = linksWhere("true")
  const linksOfApp = linksWhere("app_id = ?")
  const linkOfWebhook = linksWhere("webhook_id = ?1 AND (?2 IS NULL OR +app_id = ?2)")
  const linkOfDead = linksWhere(
    "links.id = (SELECT link_id FROM dead_letters WHERE id = ?1) AND (?2 IS NULL OR +app_id = ?2)",
  )

  function byIds(ids: readonly DeadLetterId[], app: bigint | null): Iterable<LinkSelection> {
    const links = new Map<LinkId, LinkRow & { readonly dead: DeadRow[] }>()
    for (const id of new Set(ids)) {
      const link = linkOfDead.get(BigInt(id), app)
      if (link === undefined) continue
      const selection = links.get(link.link_id) ?? { ...link, dead: [] }
      selection.dead.push(...deadById.all(BigInt(id)))
      links.set(link.link_id, selection)
    }
    return links.values()
  }

  function linksOf(webhookId: WebhookId | undefined, app: bigint | null): readonly LinkRow[] {
    if (webhookId !== undefined) return linkOfWebhook.all(BigInt(webhookId), app)
    return app === null ? allLinks.all() : linksOfApp.all(app)
  }

  return function* select(selector) {
    const app = selector.appId === undefined ? null : BigInt(selector.appId)
    if (selector.kind === "ids") {
      yield* byIds(selector.ids, app)
      return
    }
    const since = selector.sinceMs ?? Number.MIN_SAFE_INTEGER
    for (const link of linksOf(selector.webhookId, app)) {
      yield { ...link, dead: deadOfLinkSince.iterate(BigInt(link.link_id), since) }
    }
  }
}

function deadLetterOf({ damage, outcome, status, error, epoch, ...row }: DeadLetterRow): DeadLetter {
  return damage === null
    ? { ...row, ...recordOf({ epoch, outcome, status, error }) }
    : { ...row, ...recordOf({ epoch }), outcome: "damaged", error: `${damage} is not as it was stored` }
}
