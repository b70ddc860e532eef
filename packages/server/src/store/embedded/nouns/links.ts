/** Links of webhooks, and the counts of their matches. `progress.ts` moves their cursors. */
import type { LinkReads, LinkWrites } from "../../port/link-store.ts"
import type { DatabaseSync } from "node:sqlite"
import type { LinkTally, LinkToDeliver, StoredLink } from "../../../model/link.ts"
import { idEnds } from "../../id-bounds.ts"
import { readerOf } from "../../readers.ts"
import { linkColumns, linkToDeliverOf, tallyColumns, type LinkToDeliverRow } from "../../rows/link.ts"
import { recordOf } from "../../rows/record.ts"
import { keyColumns } from "../../rows/webhook.ts"
import { damageOf, isWhole, settingChecked, type CheckedRow } from "../connection/checked-rows.ts"
import { prepareKeyset, readKeyset, type Keyset } from "../connection/keyset.ts"
import { epochsDamageOf, epochsOfLog } from "./log-epochs.ts"
import { prepareNoteIds } from "../connection/last-id.ts"
import { prepareRefuseRevoked } from "./revoked-apps.ts"
import { prepareRecheckSpared } from "./spared-matches.ts"
import { columnsAs, prepare, type Statement } from "../connection/statements.ts"
import type { ReadContext, SyncReads, SyncWrites, WriteContext } from "../serving/sync-store.ts"

type LinkRow = CheckedRow & StoredLink

interface CheckedLinkRow extends CheckedRow, LinkToDeliverRow {
  readonly webhookDamage: string | null
  readonly appDamage: string | null
  readonly epochsDamage: string | null
}

/** Links read in one turn: the event loop must not wait for the read of ten thousand. Ours. */
const linksPerTurn = 500

const checkedColumns = `${columnsAs("links", linkColumns)}, ${damageOf("links")} AS damage`

/** The reads of links. */
export function createLinkReads(db: DatabaseSync, { damaged, turns }: ReadContext): SyncReads<LinkReads> {
  const select = `SELECT ${checkedColumns} FROM links WHERE links.app_id = ?`
  // Without damaged rows, so that a page is full unless the list is at its end.
  const pages = prepareKeyset<LinkRow>(db, `${select} AND ${isWhole("links")}`, "links.id")
  const ofWebhook = prepare<LinkRow>(db, `${select} AND links.webhook_id = ?`)
  const tallies = prepareTallies(db, "WHERE links.id = ?")
  const selectToDeliver = (where: string): string =>
    `SELECT ${checkedColumns}, url, valid, position, ordered AS isOrdered, paused_at_ms AS pausedAtMs, redeliveries,
       consumer_secret AS consumerSecretSealed, ${keyColumns}, ${damageOf("webhooks")} AS webhookDamage,
       ${damageOf("apps")} AS appDamage, ${epochsDamageOf("links.app_id")} AS epochsDamage,
       ${epochsOfLog("links.app_id")} AS epochs
     FROM links JOIN webhooks ON webhooks.id = webhook_id JOIN apps ON apps.id = links.app_id
     WHERE NOT revoked AND ${where}`
  const toDeliver = (where: string): Statement<CheckedLinkRow> =>
    prepare(db, `${selectToDeliver(where)} ORDER BY links.id DESC LIMIT ?`)
  const pageToDeliver = (where: string): Keyset<CheckedLinkRow> => {
    const whole = (["links", "webhooks", "apps"] as const).map((table) => isWhole(table)).join(" AND ")
    const isEachWhole = `${whole} AND ${epochsDamageOf("links.app_id")} IS NULL`
    return prepareKeyset(db, selectToDeliver(`${where} AND ${isEachWhole}`), "links.id")
  }
  const pageOfAll = pageToDeliver("true")
  const pageOfApp = pageToDeliver("links.app_id = ?")
  const allToDeliver = toDeliver("links.id < ?")
  const ofAppToDeliver = toDeliver("links.id < ? AND links.app_id = ?")
  const ofWebhookToDeliver = toDeliver("webhook_id = ?")

  /** Whether a link, its webhook, its app and the epochs of its log are what was stored. */
  function isWholeLink(row: CheckedLinkRow): boolean {
    return (
      damaged.isWhole("links", row.id, row) &&
      damaged.isWhole("webhooks", row.webhookId, { damage: row.webhookDamage }) &&
      damaged.isWhole("apps", row.appId, { damage: row.appDamage }) &&
      damaged.isWhole("log_epochs", row.appId, { damage: row.epochsDamage })
    )
  }

  return {
    links: (appId, range) => readKeyset(pages, range, [BigInt(appId)]).map(recordOf),

    link: (appId, webhookId) => damaged.one("links", ofWebhook.get(BigInt(appId), BigInt(webhookId)), recordOf),

    async allLinks(appId) {
      const found: LinkToDeliver[] = []
      let before = idEnds.above
      for (;;) {
        const rows =
          appId === undefined
            ? allToDeliver.all(before, linksPerTurn)
            : ofAppToDeliver.all(before, BigInt(appId), linksPerTurn)
        found.push(...rows.filter(isWholeLink).map(linkToDeliverOf))
        const last = rows.at(-1)
        if (last === undefined || rows.length < linksPerTurn) return found
        before = BigInt(last.id)
        await turns.next(readerOf.allLinks(appId))
      }
    },

    linkPage({ appId }, range) {
      const rows =
        appId === undefined ? readKeyset(pageOfAll, range, []) : readKeyset(pageOfApp, range, [BigInt(appId)])
      return rows.map(linkToDeliverOf)
    },

    linkToDeliver(webhookId) {
      const row = ofWebhookToDeliver.get(BigInt(webhookId), 1)
      return row && isWholeLink(row) ? linkToDeliverOf(row) : undefined
    },

    linkTally: (linkId) => tallies(BigInt(linkId))[0],
  }
}

/** The writes of links. */
export function createLinkWrites(db: DatabaseSync, { announceControl }: WriteContext): SyncWrites<LinkWrites> {
  const refuseRevoked = prepareRefuseRevoked(db)
  const webhookById = prepare(db, "SELECT 1 FROM webhooks WHERE app_id = ? AND id = ?")
  const ofWebhook = prepare(db, "SELECT 1 FROM links WHERE webhook_id = ?")
  const insert = prepare(
    db,
    `INSERT INTO links (id, app_id, webhook_id, created_at_ms, query, position, first_position, checksum)
     SELECT ?1, ?2, ?3, ?4, ?5, head, head, row_checksum(?1, ?2, ?3, ?4, ?5, head, 0, NULL)
     FROM (SELECT coalesce((SELECT head FROM match_logs WHERE app_id = ?2), 0) AS head)`,
  )
  const remove = prepare(db, "DELETE FROM links WHERE app_id = ? AND webhook_id = ?")
  const setOrdered = prepare(
    db,
    `UPDATE links SET ${settingChecked("links", { ordered: "?1" })} WHERE app_id = ?2 AND webhook_id = ?3`,
  )
  const pausedAtMs = "iif(?1 IS NULL, NULL, coalesce(paused_at_ms, ?1))"
  const setPaused = prepare(
    db,
    `UPDATE links SET ${settingChecked("links", { paused_at_ms: pausedAtMs })} WHERE app_id = ?2 AND webhook_id = ?3`,
  )
  const noteIds = prepareNoteIds(db)
  const recheckSpared = prepareRecheckSpared(db)
  return {
    createLink(link) {
      const [app, webhook] = [BigInt(link.appId), BigInt(link.webhookId)]
      refuseRevoked(app)
      if (webhookById.get(app, webhook) === undefined) return "no-webhook"
      if (ofWebhook.get(webhook) !== undefined) return "exists"
      insert.run(BigInt(link.id), app, webhook, link.createdAtMs, link.query)
      noteIds(link.id)
      announceControl()
      return "created"
    },

    deleteLink(appId, webhookId) {
      recheckSpared(BigInt(appId), BigInt(webhookId))
      return announceControl(remove.run(BigInt(appId), BigInt(webhookId)) === 1)
    },

    setLinkOrdered(appId, webhookId, isOrdered) {
      return announceControl(setOrdered.run(isOrdered ? 1 : 0, BigInt(appId), BigInt(webhookId)) === 1)
    },

    setLinkPaused(appId, webhookId, atMs) {
      return announceControl(setPaused.run(atMs ?? null, BigInt(appId), BigInt(webhookId)) === 1)
    },
  }
}

/** Prepares the tallies of the links that `where` chooses. The counts are columns, or SQL that counts anew. */
export function prepareTallies(
  db: DatabaseSync,
  where: string,
  { retries, deadLetters } = { retries: "retries", deadLetters: "dead_letters" },
): (...values: readonly bigint[]) => readonly LinkTally[] {
  const tallies = prepare<LinkTally>(
    db,
    `SELECT CAST (links.id AS TEXT) AS linkId,
       ${columnsAs("links", tallyColumns)},
       ${retries} AS retries, ${deadLetters} AS deadLetters
     FROM links ${where}`,
  )
  return (...values) => tallies.all(...values).map(recordOf)
}
