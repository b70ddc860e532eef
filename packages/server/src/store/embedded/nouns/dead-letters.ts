/** Dead letters, and their way back to the retries. `progress.ts` adds them. */
import type { DeadLetterReads, DeadLetterWrites } from "../../port/dead-letter-store.ts"
import type { DatabaseSync } from "node:sqlite"
import type { DeadLetter, DeadLetterSelector } from "../../../model/dead-letter.ts"
import type { DeadLetterId, LinkId, MatchSeq, WebhookId } from "../../../model/ids.ts"
import { FairRedelivery, fewestRetriesFirst, oldestFirst } from "../../ledger/fair-redelivery.ts"
import { expire, redeliverDead } from "../../ledger/redeliver.ts"
import { deadLetterColumns, type DeadLetterRow } from "../../rows/dead-letter.ts"
import { recordOf } from "../../rows/record.ts"
import { damageOf, type CheckedRow } from "../connection/checked-rows.ts"
import { prepareKeyset, readKeyset, type Keyset } from "../connection/keyset.ts"
import { epochOf } from "../../rows/log-epoch.ts"
import { prepareLink, prepareLinkChange, prepareRetryRoom } from "./link-changes.ts"
import { columnsAs, prepare, type Statement } from "../connection/statements.ts"
import type { SyncReads, SyncWrites, WriteContext } from "../serving/sync-store.ts"

type CheckedDeadLetter = DeadLetterRow & CheckedRow

/** The reads of dead letters. */
export function createDeadLetterReads(db: DatabaseSync): SyncReads<DeadLetterReads> {
  // One statement for each selection, so that each reads a stretch of an index.
  const where = (condition: string): Keyset<CheckedDeadLetter> =>
    prepareKeyset(
      db,
      // The match is missing only in a damaged store.
      `SELECT ${columnsAs("dead_letters", deadLetterColumns)}, CAST (webhook_id AS TEXT) AS webhookId,
         coalesce(CAST (post_id AS TEXT), '0') AS postId, coalesce(matches.at_ms, 0) AS matchedAtMs,
         ${epochOf("dead_letters.app_id", "dead_letters.seq")},
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
      const read = (keyset: Keyset<CheckedDeadLetter>, ...ids: readonly string[]) =>
        readKeyset(keyset, range, ids.map(BigInt)).map(deadLetterOf)
      if (webhookId === undefined) return appId === undefined ? read(all) : read(ofApp, appId)
      return appId === undefined ? read(ofWebhook, webhookId) : read(ofWebhookOfApp, webhookId, appId)
    },
  }
}

/** A link with dead letters. */
interface LinkRow {
  readonly id: LinkId
  readonly retries: number
}

interface DeadRow {
  readonly id: DeadLetterId
  readonly seq: MatchSeq
  readonly deadLetteredAtMs: number
  /** Most bytes to send for it. */
  readonly bytes: number
}

/** Dead letters of one link, the oldest first. */
interface LinkSelection extends LinkRow {
  readonly dead: Iterable<DeadRow>
}

/** The writes of dead letters. */
export function createDeadLetterWrites(
  db: DatabaseSync,
  { announceControl }: WriteContext,
): SyncWrites<DeadLetterWrites> {
  const select = prepareSelect(db)
  const roomOf = prepareRetryRoom(db)
  const linkOf = prepareLink(db)
  const write = prepareLinkChange(db)
  const old = prepare<{ linkId: LinkId; seq: MatchSeq }>(
    db,
    `SELECT CAST (link_id AS TEXT) AS linkId, seq FROM dead_letters WHERE dead_lettered_at_ms < ?
       AND seq <= (SELECT trimmed_to FROM match_logs WHERE match_logs.app_id = dead_letters.app_id)
     ORDER BY dead_lettered_at_ms LIMIT ?`,
  )

  /** Positions of those of the selected ones for which their links have room among their retries. */
  function withRoom(selector: DeadLetterSelector): ReadonlyMap<LinkId, readonly MatchSeq[]> {
    const fair = new FairRedelivery()
    const chosen = new Map<LinkId, MatchSeq[]>()
    for (const { id, retries, dead } of select(selector)) {
      if (!fair.begin(retries)) break
      const room = roomOf(BigInt(id), retries)
      const seqs: MatchSeq[] = []
      for (const { seq, bytes } of room.left === 0 ? [] : dead) {
        if (!fair.take(id, room, bytes)) break
        seqs.push(seq)
        if (room.left === 0) break
      }
      if (seqs.length > 0) chosen.set(id, seqs)
    }
    return chosen
  }

  return {
    redeliver(selector) {
      let redelivered = 0
      for (const [id, seqs] of withRoom(selector)) {
        const link = linkOf(BigInt(id), null)
        if (link === undefined) continue
        write(id, link.appId, redeliverDead(link, seqs))
        redelivered += seqs.length
      }
      if (redelivered > 0) announceControl()
      return redelivered
    },

    trimDeadLetters({ beforeMs, limit }) {
      let expired = 0
      for (const [id, ofLink] of Map.groupBy(old.all(beforeMs, limit), ({ linkId }) => linkId)) {
        const link = linkOf(BigInt(id), null)
        if (link === undefined) continue
        const change = expire(
          link,
          ofLink.map(({ seq }) => seq),
        )
        write(id, link.appId, change)
        expired += change.expired
      }
      return expired
    },
  }
}

/** Prepares the selection: the link with the fewest retries first, of each its dead letters, the oldest first. */
function prepareSelect(db: DatabaseSync): (selector: DeadLetterSelector) => Iterable<LinkSelection> {
  // The sizes are those of what is sent at most. SQLite knows them without reading the texts.
  const deadWhere = (where: string): Statement<DeadRow> =>
    prepare(
      db,
      `SELECT ${columnsAs("dead_letters", "id, seq, dead_lettered_at_ms")},
         coalesce(octet_length(envelope), 0) AS bytes
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
      `SELECT CAST (links.id AS TEXT) AS id, retries FROM links WHERE dead_letters > 0 AND ${where}
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
      const selection = links.get(link.id) ?? { ...link, dead: [] }
      selection.dead.push(...deadById.all(BigInt(id)))
      links.set(link.id, selection)
    }
    for (const { dead } of links.values()) dead.sort(oldestFirst)
    return [...links.values()].toSorted(fewestRetriesFirst)
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
      yield { ...link, dead: deadOfLinkSince.iterate(BigInt(link.id), since) }
    }
  }
}

function deadLetterOf({ damage, outcome, status, error, epoch, ...row }: CheckedDeadLetter): DeadLetter {
  return damage === null
    ? { ...row, ...recordOf({ epoch, outcome, status, error }) }
    : { ...row, ...recordOf({ epoch }), outcome: "damaged", error: `${damage} is not as it was stored` }
}
