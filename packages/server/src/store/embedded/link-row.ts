import type { AppId, LinkId, WebhookId } from "../../model/ids.ts"
import type { SealedKeyUntil, StoredLink } from "../../model/link.ts"

/** A row of `links`, as far as the API shows it. */
export interface LinkRow {
  id: LinkId
  app_id: AppId
  webhook_id: WebhookId
  created_at_ms: number
  query: string
}

/** The link that a row holds. */
export function linkOf(row: LinkRow): StoredLink {
  return {
    id: row.id,
    appId: row.app_id,
    webhookId: row.webhook_id,
    createdAtMs: row.created_at_ms,
    query: row.query,
  }
}

/** A webhook's signing key that goes out of use, if there is one. */
export interface PreviousKeyRow {
  previous_key: Uint8Array | null
  previous_until_ms: number | null
}

/** The key, as the member of whatever holds it. */
export function previousKeyOf(row: PreviousKeyRow): { readonly previousKey?: SealedKeyUntil } {
  if (row.previous_key === null || row.previous_until_ms === null) return {}
  return { previousKey: { keySealed: row.previous_key, untilMs: row.previous_until_ms } }
}
