import { linkFields, selectionOfQuery } from "../model/link-fields.ts"
import type { Link } from "@sluice/api"
import type { App } from "../model/app.ts"
import { asId, type AppId, type LinkId, type WebhookId } from "../model/ids.ts"
import type { StoredLink } from "../model/link.ts"
import { conflict, notFound, type Problem } from "../model/problem.ts"
import type { Clock } from "../runtime/clock.ts"
import type { Snowflakes } from "../runtime/snowflakes.ts"
import type { KeysetRange, Store } from "../store/store.ts"
import { ReadCache } from "./read-cache.ts"

/** A link and its place in the list, which is shown to nobody. */
export interface ListedLink {
  readonly id: LinkId
  readonly link: Link
}

/** The webhook links of each app's filtered stream. */
export interface Links {
  /**
   * Links a webhook from now on. `query` chooses what deliveries show, in the order that `fields` shows it again.
   * The same link a second time changes nothing. Throws 404 without such a webhook, 409 when it is linked otherwise.
   */
  create(appId: AppId, webhookId: WebhookId, query: string): Promise<void>
  /** All links of an app, newest first. */
  all(app: App): Promise<readonly Link[]>
  /** Some of them, newest first. */
  list(app: App, range: KeysetRange<LinkId>): Promise<readonly ListedLink[]>
  /**
   * Has the link deliver strictly in the order of the log, or as it comes. Without `appId` it may be any app's.
   * Throws 404 when there is no such link, or it is another app's.
   */
  setOrdered(appId: AppId | undefined, webhookId: WebhookId, isOrdered: boolean): Promise<void>
  /** Throws 404 when the app has no such link. */
  delete(appId: AppId, webhookId: WebhookId): Promise<void>
}

/** The links kept in a store. */
export function createLinks(deps: { store: Store; snowflakes: Snowflakes; clock: Clock }): Links {
  const { store, snowflakes, clock } = deps
  const known = new ReadCache<readonly Link[]>(store, clock)

  async function ownerOf(webhookId: WebhookId): Promise<AppId | undefined> {
    return (await store.linkToDeliver(webhookId))?.appId
  }

  return {
    async create(appId, webhookId, asGiven) {
      selectionOfQuery(asGiven)
      const query = withoutEscapes(asGiven)
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
        if (existing !== undefined) throw linkedOtherwise(existing)
        // Somebody has unlinked it in between.
        outcome = await store.createLink(link)
      }
      if (outcome === "no-webhook") throw notFound("webhook", "webhook_id", webhookId)
    },
    async all(app) {
      const read = async (): Promise<readonly Link[]> => {
        const links = await store.links(app.id, { direction: "older", limit: Number.MAX_SAFE_INTEGER })
        return links.map((link) => linkOf(app, link))
      }
      return (await known.get(app.id, read)) ?? []
    },
    async list(app, range) {
      return (await store.links(app.id, range)).map((link) => ({ id: link.id, link: linkOf(app, link) }))
    },
    async setOrdered(appId, webhookId, isOrdered) {
      const owner = appId ?? (await ownerOf(webhookId))
      const isThere = owner !== undefined && (await store.setLinkOrdered(owner, webhookId, isOrdered))
      if (!isThere) throw notFound("webhook link", "webhook_id", webhookId)
    },
    async delete(appId, webhookId) {
      const isDeleted = await store.deleteLink(appId, webhookId)
      known.clear()
      if (!isDeleted) throw notFound("webhook link", "webhook_id", webhookId)
    },
  }
}

function linkOf(app: App, { createdAtMs, query, webhookId }: StoredLink): Link {
  return {
    application_id: app.id,
    business_user_id: app.businessUserId,
    created_at: new Date(createdAtMs).toISOString(),
    fields: linkFields(query),
    instance_id: app.instanceId,
    webhook_id: webhookId,
  }
}

/** Names and values of fields need no escapes, so that without them equal choices are equal text. */
function withoutEscapes(query: string): string {
  return [...new URLSearchParams(query)].map(([name, value]) => `${name}=${value}`).join("&")
}

function linkedOtherwise({ webhookId, query }: StoredLink): Problem {
  const how = query === "" ? "the default fields" : `[${query}]`
  return conflict(
    `The webhook [${webhookId}] is linked already, with ${how}. ` +
      `To change what its deliveries show, delete the link first and create it again.`,
  )
}
