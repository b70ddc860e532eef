/** Matches that are sent again: a part of the store (`store.ts`). */
import type { AppId, WebhookId } from "../../model/ids.ts"
import type { LinkMatch, RedeliveryOutcome } from "../../model/redelivery.ts"

/** Matches that are sent again. */
export interface RedeliveryStore {
  /**
   * Sends matches of links again, only the app's own when it is given. Returns an outcome for each, in order. A match that
   * is delivered or a dead letter becomes a retry that is due at once, and no longer counts as what it was; a retry
   * becomes due at once. A link has room for retries as with `redeliver`.
   */
  redeliverMatches(matches: readonly LinkMatch[], appId?: AppId): Promise<readonly RedeliveryOutcome[]>
  /** Makes all retries of the webhook's link due at once that wait for their time, and returns their number. */
  hastenRetries(webhookId: WebhookId, appId?: AppId): Promise<number>
}
