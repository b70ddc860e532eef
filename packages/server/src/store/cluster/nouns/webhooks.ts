/** Webhooks and their signing keys. */
import type { WebhookReads, WebhookWrites } from "../../port/webhook-store.ts"
import type { StoredWebhook } from "../../../model/webhook.ts"
import { keyColumns, webhookColumns, webhookOf, type WebhookRow } from "../../rows/webhook.ts"
import {
  columnsAs,
  type ClusterDatabase,
  type Queries,
  type SqlValue,
  type WriteTransaction,
} from "../connection/database.ts"
import { readKeyset } from "../connection/keyset.ts"
import { noteIds } from "../connection/last-id.ts"
import { noteLeftovers } from "./spared-matches.ts"
import { refuseRevoked } from "./revoked-apps.ts"

const select = `SELECT ${columnsAs("webhooks", webhookColumns)}, ${keyColumns} FROM webhooks`

const selectLive = `${select} JOIN apps ON apps.id = webhooks.app_id WHERE NOT revoked`

/** The reads of webhooks. */
export function createWebhookReads(queries: Queries): WebhookReads {
  return {
    async webhookPage({ appId, urlPart }, range) {
      const conditions: string[] = []
      const values: SqlValue[] = []
      if (appId !== undefined) conditions.push(`AND webhooks.app_id = $${values.push(appId)}`)
      if (urlPart !== undefined) {
        conditions.push(`AND position(lower($${values.push(urlPart)}) IN lower(webhooks.url)) > 0`)
      }
      const list = { select: `${selectLive} ${conditions.join(" ")}`, id: "webhooks.id" }
      return (await readKeyset<WebhookRow>(queries, list, values, range)).map(webhookOf)
    },

    async webhooks(appId) {
      const sql = `${select} WHERE webhooks.app_id = $1 ORDER BY webhooks.id DESC`
      return (await queries.rows<WebhookRow>(sql, appId)).map(webhookOf)
    },

    async webhook(appId, id) {
      const sql = `${select} WHERE webhooks.app_id = $1 AND webhooks.id = $2`
      const row = await queries.row<WebhookRow>(sql, appId, id)
      return row && webhookOf(row)
    },

    async allWebhooks() {
      return (await queries.rows<WebhookRow>(`${selectLive} ORDER BY webhooks.id DESC`)).map(webhookOf)
    },
  }
}

/** The writes of webhooks. */
export function createWebhookWrites(database: ClusterDatabase): WebhookWrites {
  return {
    createWebhook: (webhook, { webhooksMax }) =>
      database.write(async (transaction) => {
        // Webhooks of one app are created one after the other, so that their number is known.
        await transaction.run("SELECT 1 FROM apps WHERE id = $1 FOR NO KEY UPDATE", webhook.appId)
        await refuseRevoked(transaction, webhook.appId)
        if (!(await insertWebhook(transaction, webhook, webhooksMax))) {
          const taken = await transaction.run(
            "SELECT 1 FROM webhooks WHERE app_id = $1 AND url_hash = sha256(convert_to($2, 'UTF8'))",
            webhook.appId,
            webhook.url,
          )
          return taken > 0 ? "duplicate" : "over-limit"
        }
        await noteIds(transaction, webhook.id)
        await transaction.announceControl()
        return "created"
      }),

    markWebhookValid: (id, checkedAtMs) =>
      database.runControl(
        "UPDATE webhooks SET valid = true, invalid_reason = NULL, checked_at_ms = $1 WHERE id = $2",
        checkedAtMs,
        id,
      ),

    invalidateWebhook: (id, reason) =>
      database.runControl("UPDATE webhooks SET valid = false, invalid_reason = $1 WHERE id = $2", reason, id),

    rotateSigningKey: (appId, id, { signingKeySealed, previousUntilMs }) =>
      database.runControl(
        `UPDATE webhooks SET previous_key = signing_key, previous_until_ms = $1, signing_key = $2
         WHERE app_id = $3 AND id = $4`,
        previousUntilMs,
        signingKeySealed,
        appId,
        id,
      ),

    describeWebhook: (appId, id, { name = null, description = null }) =>
      database.runControl(
        `UPDATE webhooks SET name = nullif(coalesce($1, name), ''), description = nullif(coalesce($2, description), '')
         WHERE app_id = $3 AND id = $4`,
        name,
        description,
        appId,
        id,
      ),

    deleteWebhook: (appId, id) =>
      database.write(async (transaction) => {
        // Locked before what comes after webhooks in the order of locks. A locked webhook cannot be linked.
        const sql = "SELECT 1 FROM webhooks WHERE app_id = $1 AND id = $2 FOR UPDATE"
        if ((await transaction.run(sql, appId, id)) === 0) return false
        await noteLeftovers(transaction, appId, id)
        await transaction.run("DELETE FROM webhooks WHERE id = $1", id)
        return transaction.announceControl()
      }),
  }
}

/** False when the app has the URL already, or as many webhooks as it may. Its row is locked. */
async function insertWebhook(
  transaction: WriteTransaction,
  webhook: StoredWebhook,
  webhooksMax: number,
): Promise<boolean> {
  const inserted = await transaction.run(
    `INSERT INTO webhooks (id, app_id, url, url_hash, created_at_ms, valid, invalid_reason, checked_at_ms,
       signing_key, previous_key, previous_until_ms, name, description)
     SELECT $1, $2, $3, sha256(convert_to($3::text, 'UTF8')), $4, $5, $6, $7, $8, $9, $10, $11, $12
     WHERE (SELECT count(*) FROM webhooks WHERE app_id = $2) < $13
     ON CONFLICT (app_id, url_hash) DO NOTHING`,
    webhook.id,
    webhook.appId,
    webhook.url,
    webhook.createdAtMs,
    webhook.valid,
    webhook.invalidReason ?? null,
    webhook.checkedAtMs,
    webhook.signingKeySealed,
    webhook.previousKey?.keySealed ?? null,
    webhook.previousKey?.untilMs ?? null,
    webhook.name ?? null,
    webhook.description ?? null,
    webhooksMax,
  )
  return inserted > 0
}
