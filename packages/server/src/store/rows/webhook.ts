/** Webhooks and their signing keys as rows. */
import type { SealedKeyUntil } from "../../model/link.ts"
import type { StoredWebhook } from "../../model/webhook.ts"
import { isTrue, recordOf, type StoredBoolean } from "./record.ts"

/** Columns of a webhook, but for its keys. */
export const webhookColumns = "id, app_id, url, created_at_ms, valid, invalid_reason, checked_at_ms, name, description"

/** SQL: the columns of a webhook's signing keys. */
export const keyColumns = `webhooks.signing_key AS "signingKeySealed", webhooks.previous_key AS "previousKeySealed",
  webhooks.previous_until_ms AS "previousUntilMs"`

/** A webhook's signing key that goes out of use, if there is one. */
export interface PreviousKeyRow {
  readonly previousKeySealed: Uint8Array | null
  readonly previousUntilMs: number | null
}

/** A webhook. */
export interface WebhookRow
  extends PreviousKeyRow, Omit<StoredWebhook, "valid" | "invalidReason" | "previousKey" | "name" | "description"> {
  readonly valid: StoredBoolean
  readonly invalidReason: string | null
  readonly name: string | null
  readonly description: string | null
}

/** A row as a webhook. */
export function webhookOf({ previousKeySealed, previousUntilMs, ...row }: WebhookRow): StoredWebhook {
  return { ...recordOf(row), valid: isTrue(row.valid), ...previousKeyOf({ previousKeySealed, previousUntilMs }) }
}

/** The previous key, as the member of the object that holds it. */
export function previousKeyOf({ previousKeySealed: keySealed, previousUntilMs: untilMs }: PreviousKeyRow): {
  readonly previousKey?: SealedKeyUntil
} {
  return keySealed === null || untilMs === null ? {} : { previousKey: { keySealed, untilMs } }
}
