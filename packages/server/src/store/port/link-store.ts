/** Links of webhooks: a part of the store (`store.ts`). */
import type { AppId, LinkId, WebhookId } from "../../model/ids.ts"
import type { LinkTally, LinkToDeliver, StoredLink } from "../../model/link.ts"
import type { KeysetRange } from "../keyset-range.ts"

/** Reads: links of webhooks. */
export interface LinkReads {
  /** Newest first. */
  links(appId: AppId, range: KeysetRange<LinkId>): Promise<readonly StoredLink[]>
  link(appId: AppId, webhookId: WebhookId): Promise<StoredLink | undefined>
  /**
   * Links of every app that is not revoked, or of one; newest first. Links created or deleted during the read may be
   * missing.
   */
  allLinks(appId?: AppId): Promise<readonly LinkToDeliver[]>
  /** A page of `allLinks`. */
  linkPage(of: { readonly appId?: AppId }, range: KeysetRange<LinkId>): Promise<readonly LinkToDeliver[]>
  /** The webhook's link; `undefined` when its app is revoked. */
  linkToDeliver(webhookId: WebhookId): Promise<LinkToDeliver | undefined>
  linkTally(linkId: LinkId, reader?: AppId): Promise<LinkTally | undefined>
}

/** Writes: links of webhooks. */
export interface LinkWrites {
  /** Links a webhook, from the newest match on. `exists` when it is linked already. */
  createLink(link: StoredLink): Promise<"created" | "exists" | "no-webhook">
  deleteLink(appId: AppId, webhookId: WebhookId): Promise<boolean>
  /** False when the app has no such link. */
  setLinkOrdered(appId: AppId, webhookId: WebhookId, isOrdered: boolean): Promise<boolean>
  /** Pauses a link, or resumes it (`undefined`). A paused link keeps its time. False when the app has no such link. */
  setLinkPaused(appId: AppId, webhookId: WebhookId, pausedAtMs: number | undefined): Promise<boolean>
}
