import type { AppId, LinkId, MatchSeq, WebhookId } from "./ids.ts"

/** An app's stream tied to one of its webhooks: a durable cursor on the app's match log. */
export interface StoredLink {
  /** Orders links by age; not shown to anyone. */
  readonly id: LinkId
  readonly appId: AppId
  readonly webhookId: WebhookId
  readonly createdAtMs: number
  /** Query string that chooses what deliveries show, as it was given, without `?`. */
  readonly query: string
}

/** A link with all that a delivery needs. */
export interface LinkToDeliver extends StoredLink {
  readonly url: string
  readonly valid: boolean
  /** Everything up to here is delivered. */
  readonly position: MatchSeq
  readonly consumerSecretSealed: Uint8Array
  readonly signingKeySealed: Uint8Array
}
