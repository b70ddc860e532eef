/** The webhook links of all apps: their states, and their runs. */
import type { StoredAttempt } from "../../model/attempt.ts"
import type { AppId, AttemptId, LinkId, WebhookId } from "../../model/ids.ts"
import type { LinkToDeliver } from "../../model/link.ts"
import type { KeysetRange } from "../../store/keyset-range.ts"
import type { Store } from "../../store/store.ts"
import { attemptSent, type AttemptSent } from "./run/attempt-sent.ts"
import { LinkRunner, type LinkRunnerDeps } from "./link-runner.ts"
import type { LinkState, LinkStates } from "./link-states.ts"

/** The webhook links of all apps. */
export interface WebhookLinks {
  /**
   * Delivers over all links until aborted. Resolves when what is in flight has ended (or has been given up at
   * `drainMsMax`, to be repeated later) and everything that has ended is saved.
   */
  run(signal: AbortSignal): Promise<void>
  /** States of the app's links, or of all, newest link first. */
  states(appId?: AppId): Promise<readonly LinkState[]>
  /** States of a page of them, and the links' ids, by which they are ordered. */
  statePage(
    appId: AppId | undefined,
    range: KeysetRange<LinkId>,
  ): Promise<readonly { readonly id: LinkId; readonly state: LinkState }[]>
  /** States of the links of these webhooks, by webhook; of those that have a link. */
  statesOf(webhookIds: readonly WebhookId[]): Promise<ReadonlyMap<WebhookId, LinkState>>
  /** State of the webhook's link; `undefined` when there is none, or none of the app. */
  state(webhookId: WebhookId, appId?: AppId): Promise<LinkState | undefined>
  /**
   * The newest attempts to deliver to the webhook, newest first, those of the last moments perhaps left out;
   * `undefined` when it has no link, or none of the app.
   */
  attempts(webhookId: WebhookId, appId: AppId | undefined, limit: number): Promise<readonly StoredAttempt[] | undefined>
  /** One of them with what was sent; `undefined` when there is none such, or none of the app. */
  attempt(webhookId: WebhookId, appId: AppId | undefined, id: AttemptId): Promise<AttemptSent | undefined>
}

/** Webhook links over a store, driven in this thread. */
export function createWebhookLinks(deps: LinkRunnerDeps): WebhookLinks {
  const runner = new LinkRunner(deps)
  return webhookLinksOf(deps, runner.states, (signal) => runner.run(signal))
}

/** Webhook links over a store with these states, driven by `run`. */
export function webhookLinksOf(
  { store }: { readonly store: Store },
  states: LinkStates,
  run: WebhookLinks["run"],
): WebhookLinks {
  async function linkTo(webhookId: WebhookId, appId: AppId | undefined): Promise<LinkToDeliver | undefined> {
    const link = await store.linkToDeliver(webhookId)
    return appId === undefined || link?.appId === appId ? link : undefined
  }

  return {
    run,
    async states(appId) {
      return states.of(await store.allLinks(appId))
    },
    async statePage(appId, range) {
      const links = await store.linkPage({ ...(appId !== undefined && { appId }) }, range)
      const found = await states.of(links)
      return found.flatMap((state, index) => {
        const link = links[index]
        return link === undefined ? [] : [{ id: link.id, state }]
      })
    },
    async statesOf(webhookIds) {
      const links: LinkToDeliver[] = []
      for (const webhookId of webhookIds) {
        const link = await store.linkToDeliver(webhookId)
        if (link !== undefined) links.push(link)
      }
      return new Map((await states.of(links)).map((state) => [state.webhookId, state]))
    },
    async state(webhookId, appId) {
      const link = await linkTo(webhookId, appId)
      return link && (await states.of([link]))[0]
    },
    async attempts(webhookId, appId, limit) {
      const link = await linkTo(webhookId, appId)
      return link && store.attempts(link.id, limit, link.appId)
    },
    async attempt(webhookId, appId, id) {
      const link = await linkTo(webhookId, appId)
      const attempt = link && (await store.attempt(link.id, id, link.appId))
      return attempt && attemptSent(store, link, attempt)
    },
  }
}
