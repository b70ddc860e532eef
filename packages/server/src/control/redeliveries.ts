/** Sends matches again on request, in any state of their delivery. */
import type { RedeliverMatchesBody } from "@sluice/api"
import { matchOfEventId } from "../model/event-id.ts"
import { asId, type AppId, type WebhookId } from "../model/ids.ts"
import { invalidRequest, notFound } from "../model/problem.ts"
import type { RedeliveryOutcome } from "../model/redelivery.ts"
import type { DeadLetterStore } from "../store/port/dead-letter-store.ts"
import type { LinkReads } from "../store/port/link-store.ts"
import type { RedeliveryStore } from "../store/port/redelivery-store.ts"

/** The result of a request to send matches again. */
export interface Redelivered {
  /** The number of matches that are sent again. */
  readonly count: number
  /** The others that were named. */
  readonly refused: readonly { readonly eventId: string; readonly reason: Exclude<RedeliveryOutcome, "redelivered"> }[]
}

/** Redeliveries of all apps. */
export interface Redeliveries {
  /**
   * Sends matches again, only the app's own when it is given: those that are named, or all that a link has failed to
   * deliver. Throws 400 for a request that does not say which, and 404 for the webhook of no link of the app's.
   */
  redeliver(appId: AppId | undefined, request: RedeliverMatchesBody): Promise<Redelivered>
}

/** Redeliveries over a store. */
export function createRedeliveries({ store }: { store: RedeliveryStore & DeadLetterStore & LinkReads }): Redeliveries {
  async function redeliverNamed(eventIds: readonly string[], appId: AppId | undefined): Promise<Redelivered> {
    const named = [...new Set(eventIds)].map((eventId) => ({ eventId, match: matchOfEventId(eventId) }))
    const outcomes = await store.redeliverMatches(
      named.flatMap(({ match }) => match ?? []),
      appId,
    )
    const next = outcomes.values()
    const refused = named.flatMap(({ eventId, match }) => {
      const reason = match === undefined ? "unknown" : (next.next().value ?? "unknown")
      return reason === "redelivered" ? [] : [{ eventId, reason }]
    })
    return { count: named.length - refused.length, refused }
  }

  async function redeliverFailed(webhookId: WebhookId, appId: AppId | undefined): Promise<Redelivered> {
    const link = await store.linkToDeliver(webhookId)
    if (link === undefined || (appId !== undefined && link.appId !== appId))
      throw notFound("webhook link", "webhook_id", webhookId)
    const hastened = await store.hastenRetries(webhookId, appId)
    const revived = await store.redeliver({ kind: "all", webhookId, ...(appId !== undefined && { appId }) })
    return { count: hastened + revived, refused: [] }
  }

  return {
    async redeliver(appId, { event_ids: eventIds, webhook_id: webhookId, failed }) {
      if (eventIds !== undefined && webhookId === undefined && failed === undefined)
        return redeliverNamed(eventIds, appId)
      if (eventIds === undefined && webhookId !== undefined && failed === true)
        return redeliverFailed(asId(webhookId), appId)
      throw invalidRequest(
        'Say which matches: either {"event_ids":["msg_…"]}, or {"webhook_id":"…","failed":true} for all that it has ' +
          "failed to deliver.",
      )
    },
  }
}
