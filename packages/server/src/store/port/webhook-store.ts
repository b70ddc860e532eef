/** Webhooks and their signing keys: a part of the store (`store.ts`). */
import type { AppId, WebhookId } from "../../model/ids.ts"
import type { StoredWebhook, WebhookTexts } from "../../model/webhook.ts"
import type { KeysetRange } from "../keyset-range.ts"

/** Reads: webhooks and their signing keys. */
export interface WebhookReads {
  /** Newest first. */
  webhooks(appId: AppId): Promise<readonly StoredWebhook[]>
  webhook(appId: AppId, id: WebhookId): Promise<StoredWebhook | undefined>
  /** Newest first, of one app or of all that are not revoked; with `urlPart` those whose URL has it, in any case. */
  webhookPage(
    of: { readonly appId?: AppId; readonly urlPart?: string },
    range: KeysetRange<WebhookId>,
  ): Promise<readonly StoredWebhook[]>
  /** Webhooks of every app that is not revoked, newest first. */
  allWebhooks(): Promise<readonly StoredWebhook[]>
}

/** Writes: webhooks and their signing keys. */
export interface WebhookWrites {
  createWebhook(
    webhook: StoredWebhook,
    options: { webhooksMax: number },
  ): Promise<"created" | "duplicate" | "over-limit">
  /** Records that a challenge succeeded at `checkedAtMs`: the webhook is valid. False when there is no such webhook. */
  markWebhookValid(id: WebhookId, checkedAtMs: number): Promise<boolean>
  /** Makes a webhook invalid, for `reason`, until a challenge succeeds. False when there is no such webhook. */
  invalidateWebhook(id: WebhookId, reason: string): Promise<boolean>
  /** Gives a webhook another signing key; the present one becomes the previous one. False when the app has none such. */
  rotateSigningKey(
    appId: AppId,
    id: WebhookId,
    key: { readonly signingKeySealed: Uint8Array; readonly previousUntilMs: number },
  ): Promise<boolean>
  /** Sets the name and the description of a webhook. False when the app has no such webhook. */
  describeWebhook(appId: AppId, id: WebhookId, texts: WebhookTexts): Promise<boolean>
  /** Deletes a webhook and its link with it. False when the app has no such webhook. */
  deleteWebhook(appId: AppId, id: WebhookId): Promise<boolean>
}
