import type { SealedKeyUntil } from "./link.ts"
import type { AppId, WebhookId } from "./ids.ts"

/** An endpoint that an app has proved to be its own. */
export interface StoredWebhook {
  readonly id: WebhookId
  readonly appId: AppId
  readonly url: string
  readonly createdAtMs: number
  /** False: nothing is sent until a challenge succeeds. */
  readonly valid: boolean
  /** Why it is not valid, as the end of a sentence that starts with "The endpoint". */
  readonly invalidReason?: string
  /** When a challenge last succeeded. */
  readonly checkedAtMs: number
  /** The webhook's own key for the Standard Webhooks signature, sealed. */
  readonly signingKeySealed: Uint8Array
  /** The key before, which signs too until its time has come. */
  readonly previousKey?: SealedKeyUntil
  /** The name that its app gave it. Absent: none. */
  readonly name?: string
  /** Its app's note about it. Absent: none. */
  readonly description?: string
}

/** The name and the description of a webhook. Absent: stays as it is; empty: is removed. */
export type WebhookTexts = Pick<StoredWebhook, "name" | "description">
