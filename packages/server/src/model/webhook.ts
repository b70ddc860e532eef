import type { AppId, WebhookId } from "./ids.ts"

/** An endpoint that an app has proved to be its own. */
export interface StoredWebhook {
  readonly id: WebhookId
  readonly appId: AppId
  readonly url: string
  readonly createdAtMs: number
  /** False: nothing is sent until a challenge succeeds. */
  readonly valid: boolean
  /** When a challenge last succeeded. */
  readonly checkedAtMs: number
  /** The webhook's own key for the Standard Webhooks signature, sealed. */
  readonly signingKeySealed: Uint8Array
}
