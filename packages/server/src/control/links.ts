import { asId, type AppId, type LinkId, type WebhookId } from "../model/ids.ts"
import { linkQuery, selectionOfQuery } from "../model/link-query.ts"
import type { StoredLink } from "../model/link.ts"
import { conflict, notFound, type Problem } from "../model/problem.ts"
import type { Clock } from "../runtime/clock.ts"
import type { Snowflakes } from "../runtime/snowflakes.ts"
import type { KeysetRange } from "../store/keyset-range.ts"
import type { Store } from "../store/store.ts"
import { ControlCache } from "./control-cache.ts"

/** The webhook links of each app's filtered stream. */
export interface Links {
  /**
   * Links a webhook from now on. `query` is a query string that chooses what deliveries show. The same link a second
   * time changes nothing. Throws 404 when there is no such webhook, 409 when it is linked with another query.
   */
  create(appId: AppId, webhookId: WebhookId, query: string): Promise<void>
  /** All links of an app, newest first. */
  all(appId: AppId): Promise<readonly StoredLink[]>
  /** Some of them, newest first. */
  list(appId: AppId, range: KeysetRange<LinkId>): Promise<readonly StoredLink[]>
  /**
   * Sets whether the link delivers strictly in the order of the log. Without `appId` it may be any app's.
   * Throws 404 when there is no such link, or it is another app's.
   */
  setOrdered(appId: AppId | undefined, webhookId: WebhookId, isOrdered: boolean): Promise<void>
  /**
   * Pauses a link, or resumes it. Pausing a paused link changes nothing. Without `appId` it may be any app's.
   * Throws 404 when there is no such link, or it is another app's.
   */
  setPaused(appId: AppId | undefined, webhookId: WebhookId, isPaused: boolean): Promise<void>
  /** Throws 404 when the app has no such link. */
  delete(appId: AppId, webhookId: WebhookId): Promise<void>
}

/** The links kept in a store. */
export function createLinks(deps: { store: Store; snowflakes: Snowflakes; clock: Clock }): Links {
  const { store, snowflakes, clock } = deps
  const known = new ControlCache<readonly StoredLink[]>(store, clock)

  /** Changes a link of the app, or of any app without `appId`. Throws 404 when there is none. */
  async function change(
    appId: AppId | undefined,
    webhookId: WebhookId,
    write: (owner: AppId) => Promise<boolean>,
  ): Promise<void> {
    const owner = appId ?? (await store.linkToDeliver(webhookId))?.appId
    const isThere = owner !== undefined && (await write(owner))
    if (!isThere) throw notFound("webhook link", "webhook_id", webhookId)
  }

  return {
    async create(appId, webhookId, asGiven) {
      selectionOfQuery(asGiven)
      const query = linkQuery(asGiven)
      const link = {
        id: asId<LinkId>(snowflakes.next()),
        appId,
        webhookId,
        createdAtMs: clock.nowMs(),
        query,
      }
      let outcome = await store.createLink(link)
      known.clear()
      while (outcome === "exists") {
        const existing = await store.link(appId, webhookId)
        if (existing?.query === query) return
        if (existing !== undefined) throw linkedWithAnotherQuery(existing)
        // It was unlinked in between.
        outcome = await store.createLink(link)
      }
      if (outcome === "no-webhook") throw notFound("webhook", "webhook_id", webhookId)
    },
    async all(appId) {
      const read = (): Promise<readonly StoredLink[]> =>
        store.links(appId, { direction: "older", limit: Number.MAX_SAFE_INTEGER })
      return (await known.get(appId, read)) ?? []
    },
    list: (appId, range) => store.links(appId, range),
    setOrdered: (appId, webhookId, isOrdered) =>
      change(appId, webhookId, (owner) => store.setLinkOrdered(owner, webhookId, isOrdered)),
    setPaused: (appId, webhookId, isPaused) =>
      change(appId, webhookId, (owner) => store.setLinkPaused(owner, webhookId, isPaused ? clock.nowMs() : undefined)),
    async delete(appId, webhookId) {
      const isDeleted = await store.deleteLink(appId, webhookId)
      known.clear()
      if (!isDeleted) throw notFound("webhook link", "webhook_id", webhookId)
    },
  }
}

function linkedWithAnotherQuery({ webhookId, query }: StoredLink): Problem {
  const how = query === "" ? "the default fields" : `[${query}]`
  return conflict(
    `The webhook [${webhookId}] is linked already, with ${how}. ` +
      `To change what its deliveries show, delete the link first and create it again.`,
  )
}
