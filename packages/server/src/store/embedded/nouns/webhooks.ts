/** Webhooks and their signing keys. */
import type { WebhookReads, WebhookWrites } from "../../port/webhook-store.ts"
import type { DatabaseSync } from "node:sqlite"
import { keyColumns, webhookColumns, webhookOf, type WebhookRow } from "../../rows/webhook.ts"
import { damageOf, insertChecked, isWhole, settingChecked, type CheckedRow } from "../connection/checked-rows.ts"
import { prepareKeyset, readKeyset, type Keyset } from "../connection/keyset.ts"
import { prepareNoteIds } from "../connection/last-id.ts"
import { prepareRefuseRevoked } from "./revoked-apps.ts"
import { prepareRecheckSpared } from "./spared-matches.ts"
import { columnsAs, prepare } from "../connection/statements.ts"
import type { ReadContext, SyncReads, SyncWrites, WriteContext } from "../serving/sync-store.ts"

/** The reads of webhooks. */
export function createWebhookReads(db: DatabaseSync, { damaged }: ReadContext): SyncReads<WebhookReads> {
  const select = `SELECT ${columnsAs("webhooks", webhookColumns)}, ${keyColumns}, ${damageOf("webhooks")} AS damage
    FROM webhooks`
  const ofApp = prepare<WebhookRow & CheckedRow>(db, `${select} WHERE webhooks.app_id = ? ORDER BY webhooks.id DESC`)
  const byId = prepare<WebhookRow & CheckedRow>(db, `${select} WHERE webhooks.app_id = ? AND webhooks.id = ?`)
  const live = prepare<WebhookRow & CheckedRow>(
    db,
    `${select} JOIN apps ON apps.id = app_id WHERE NOT revoked ORDER BY webhooks.id DESC`,
  )
  // Without damaged rows, so that a page is full unless the list is at its end.
  const pages = (where: string): Keyset<WebhookRow> =>
    prepareKeyset(
      db,
      `${select} JOIN apps ON apps.id = app_id
       WHERE NOT revoked AND ${isWhole("webhooks")} AND ${where}
         AND (?2 IS NULL OR instr(lower(webhooks.url), lower(?2)) > 0)`,
      "webhooks.id",
    )
  const pagesOfApp = pages("webhooks.app_id = ?1")
  const pagesOfAll = pages("?1 IS NULL")
  return {
    webhookPage({ appId, urlPart = null }, range) {
      const rows =
        appId === undefined
          ? readKeyset(pagesOfAll, range, [null, urlPart])
          : readKeyset(pagesOfApp, range, [BigInt(appId), urlPart])
      return rows.map(webhookOf)
    },

    webhooks: (appId) => damaged.whole("webhooks", ofApp.all(BigInt(appId))).map(webhookOf),

    webhook: (appId, id) => damaged.one("webhooks", byId.get(BigInt(appId), BigInt(id)), webhookOf),

    allWebhooks: () => damaged.whole("webhooks", live.all()).map(webhookOf),
  }
}

/** The writes of webhooks. */
export function createWebhookWrites(db: DatabaseSync, { announceControl }: WriteContext): SyncWrites<WebhookWrites> {
  const refuseRevoked = prepareRefuseRevoked(db)
  const byUrl = prepare(db, "SELECT 1 FROM webhooks WHERE app_id = ? AND url = ?")
  const count = prepare<{ count: number }>(db, "SELECT count(*) AS count FROM webhooks WHERE app_id = ?")
  const insert = prepare(db, insertChecked("webhooks"))
  const markValid = prepare(
    db,
    `UPDATE webhooks SET ${settingChecked("webhooks", { valid: "1", invalid_reason: "NULL", checked_at_ms: "?1" })}
     WHERE id = ?2`,
  )
  const invalidate = prepare(
    db,
    `UPDATE webhooks SET ${settingChecked("webhooks", { valid: "0", invalid_reason: "?1" })} WHERE id = ?2`,
  )
  const rotateKey = prepare(
    db,
    `UPDATE webhooks SET ${settingChecked("webhooks", {
      previous_key: "signing_key",
      previous_until_ms: "?1",
      signing_key: "?2",
    })} WHERE app_id = ?3 AND id = ?4`,
  )
  const describe = prepare(
    db,
    `UPDATE webhooks SET ${settingChecked("webhooks", {
      name: "nullif(coalesce(?1, name), '')",
      description: "nullif(coalesce(?2, description), '')",
    })} WHERE app_id = ?3 AND id = ?4`,
  )
  const remove = prepare(db, "DELETE FROM webhooks WHERE app_id = ? AND id = ?")
  const noteIds = prepareNoteIds(db)
  const recheckSpared = prepareRecheckSpared(db)

  return {
    createWebhook(webhook, { webhooksMax }) {
      refuseRevoked(BigInt(webhook.appId))
      const app = BigInt(webhook.appId)
      if (byUrl.get(app, webhook.url) !== undefined) return "duplicate"
      if ((count.get(app)?.count ?? 0) >= webhooksMax) return "over-limit"
      insert.run(
        BigInt(webhook.id),
        app,
        webhook.url,
        webhook.createdAtMs,
        webhook.valid ? 1 : 0,
        webhook.invalidReason ?? null,
        webhook.checkedAtMs,
        webhook.signingKeySealed,
        webhook.previousKey?.keySealed ?? null,
        webhook.previousKey?.untilMs ?? null,
        webhook.name ?? null,
        webhook.description ?? null,
      )
      noteIds(webhook.id)
      announceControl()
      return "created"
    },

    markWebhookValid: (id, checkedAtMs) => announceControl(markValid.run(checkedAtMs, BigInt(id)) > 0),

    invalidateWebhook: (id, reason) => announceControl(invalidate.run(reason, BigInt(id)) > 0),

    rotateSigningKey(appId, id, { signingKeySealed, previousUntilMs }) {
      return announceControl(rotateKey.run(previousUntilMs, signingKeySealed, BigInt(appId), BigInt(id)) > 0)
    },

    describeWebhook(appId, id, { name = null, description = null }) {
      return announceControl(describe.run(name, description, BigInt(appId), BigInt(id)) > 0)
    },

    deleteWebhook(appId, id) {
      recheckSpared(BigInt(appId), BigInt(id))
      return announceControl(remove.run(BigInt(appId), BigInt(id)) > 0)
    },
  }
}
