import type { AppId, LinkId, MatchSeq, WebhookId } from "./ids.ts"
import type { MatchEntry } from "./match.ts"

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
  /** Where its cursor is: everything up to here is delivered, or a retry. */
  readonly position: MatchSeq
  readonly consumerSecretSealed: Uint8Array
  readonly signingKeySealed: Uint8Array
}

/** A match that a link's cursor has passed and that is not delivered. */
export interface Retry {
  readonly seq: MatchSeq
  /** Attempts that have failed; 0 for one that was under way when the cursor passed it. */
  readonly failures: number
  /** When to try next, Unix ms; 0 for at once. */
  readonly dueAtMs: number
}

/** A retry with what it delivers. */
export interface RetryEntry extends Retry {
  readonly entry: MatchEntry
}

/** How far a link has come since its progress was saved last. */
export interface LinkProgress {
  readonly linkId: LinkId
  /** Where its cursor is now. */
  readonly position: MatchSeq
  /** Retries that are new, or not as they were. */
  readonly retries: readonly Retry[]
  /** Retries that are delivered. */
  readonly settled: readonly MatchSeq[]
}
