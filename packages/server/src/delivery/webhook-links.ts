/**
 * All webhook links at work: starts one `WebhookLink` for each link of the store, tells it of changes, stops it
 * when the link is gone, and starts it again when it fails.
 *
 *     store.allLinks() ──► new? start · changed? update · gone? stop
 *            ▲                 └──────────┐
 *            └── when something has changed: on a hint, and by a look every 10 s
 */
import { setImmediate as nextTurn } from "node:timers/promises"
import type { LinkState } from "@sluice/api"
import type { Attempt } from "../model/attempt.ts"
import type { AppId, LinkId, MatchSeq, WebhookId } from "../model/ids.ts"
import type { LinkToDeliver } from "../model/link.ts"
import type { Clock } from "../runtime/clock.ts"
import type { Events } from "../runtime/events.ts"
import type { Outbound } from "../runtime/outbound.ts"
import type { Random } from "../runtime/random.ts"
import type { SecretBox } from "../runtime/secret-box.ts"
import type { Store } from "../store/store.ts"
import { AttemptHistory } from "./attempt-history.ts"
import { ControlLooks } from "./control-looks.ts"
import { newLinkMemory, type LinkMemory } from "./link-memory.ts"
import { LinkStates } from "./link-states.ts"
import { ProgressSaves } from "./progress-saves.ts"
import { shapeOf, WebhookLink, type WebhookLinkDeps } from "./webhook-link.ts"

/** The webhook links of all apps. */
export interface WebhookLinks {
  /**
   * Delivers over all links until aborted. Resolves when what is under way has ended (or has been given up at
   * `drainMsMax`, to be repeated later) and everything that has ended is saved.
   */
  run(signal: AbortSignal): Promise<void>
  /** States of the app's links, or of all, newest link first. */
  states(appId?: AppId): Promise<readonly LinkState[]>
  /** State of the webhook's link; `undefined` when there is none, or none of the app. */
  state(webhookId: WebhookId, appId?: AppId): Promise<LinkState | undefined>
  /**
   * The newest attempts to deliver to the webhook, newest first, those of the last moments perhaps left out;
   * `undefined` when it has no link, or none of the app.
   */
  attempts(
    webhookId: WebhookId,
    appId: AppId | undefined,
    limit: number,
  ): Promise<readonly Attempt[] | undefined>
}

/** Wait before a link that failed is tried again. */
const restartMs = 1_000

/** Time between two measurements. */
const measureMs = 10_000

/** Links started in one turn of the event loop, since each reads a little. */
const startsPerTurn = 50

/** Longest that a stop waits for the last progress to be saved, and again for the last attempts of the history. */
const savesMsMax = 1_000

/** A link that is being followed, over all its runs. */
interface FollowedLink extends LinkMemory {
  link: LinkToDeliver
  current: WebhookLink | undefined
  readonly stop: AbortController
}

/** Webhook links over a store. */
export function createWebhookLinks(deps: {
  store: Store
  outbound: Outbound
  secretBox: SecretBox
  clock: Clock
  random: Random
  events: Events
  /** Most attempts of a link under way or not saved: at most so many are repeated by the next after a crash. */
  concurrencyPerLink: number
  /** 0 is without a bound. */
  deliveriesPerLinkPerSecondMax: number
  deliveryAttemptsMax: number
  attemptsKeptPerLink: number
  attemptMsMax: number
  retryBaseMs: number
  retryMaxMs: number
  /** Longest that a stop waits for attempts. */
  drainMsMax: number
}): WebhookLinks {
  const { store, clock, events } = deps
  const saves = new ProgressSaves(deps)
  const history = new AttemptHistory(deps)
  const retry = { baseMs: deps.retryBaseMs, maxMs: deps.retryMaxMs }
  let looksBegun = 0
  const linkDeps: WebhookLinkDeps = { ...deps, retry, saves, history, looksBegun: () => looksBegun }
  const followed = new Map<LinkId, FollowedLink>()
  const following = new Set<Promise<void>>()
  const linkStates = new LinkStates(deps, followed)

  /** Follows a link until it is stopped, through as many runs as that takes. */
  async function followLink(entry: FollowedLink): Promise<void> {
    const { id } = entry.link
    const { signal } = entry.stop
    while (!signal.aborted) {
      try {
        const retries = await store.retries(id, shapeOf(entry.link))
        // All that an earlier run came to is saved, perhaps after `entry.link` was read.
        const position = Math.max(entry.link.position, entry.current?.position ?? 0) as MatchSeq
        const link = { ...asKnown(entry.link, entry), position }
        entry.current = new WebhookLink(link, retries, linkDeps, entry, signal)
        await entry.current.run()
      } catch (error) {
        events.failed({ where: "webhook link", error })
        await clock.sleep(restartMs, signal)
      }
    }
  }

  function start(link: LinkToDeliver): void {
    const memory = newLinkMemory(deps)
    const entry: FollowedLink = { ...memory, link, current: undefined, stop: new AbortController() }
    followed.set(link.id, entry)
    const end = followLink(entry).finally(() => following.delete(end))
    following.add(end)
  }

  async function reconcile(signal: AbortSignal): Promise<void> {
    const look = ++looksBegun
    const links = new Map((await store.allLinks()).map((link) => [link.id, link]))
    for (const [id, entry] of followed) {
      if (links.has(id)) continue
      entry.stop.abort()
      followed.delete(id)
    }
    let started = 0
    for (const [id, link] of links) {
      if (signal.aborted) return
      const entry = followed.get(id)
      if (entry === undefined) {
        start(link)
        started += 1
        if (started % startsPerTurn === 0) await nextTurn()
      } else {
        const { endpoint } = entry
        if (endpoint.goneAtLook !== undefined && look > endpoint.goneAtLook) endpoint.goneAtLook = undefined
        entry.link = asKnown(link, entry)
        entry.current?.update(entry.link)
      }
    }
  }

  async function superviseLinks(signal: AbortSignal): Promise<void> {
    await new ControlLooks("webhook links", reconcile, deps).run(signal)
    for (const { stop } of followed.values()) stop.abort()
  }

  async function measure(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await clock.sleep(measureMs, signal)
      try {
        if (!signal.aborted) events.linksMeasured(await linkStates.measure())
      } catch (error) {
        events.failed({ where: "link metrics", error })
      }
    }
  }

  /** A store that hangs must not have a stop hang: what is not saved is repeated by the next start. */
  async function orTooLong(saving: Promise<void>): Promise<void> {
    const given = new AbortController()
    await Promise.race([saving, clock.sleep(savesMsMax, given.signal)])
    given.abort()
  }

  async function linkTo(webhookId: WebhookId, appId: AppId | undefined): Promise<LinkToDeliver | undefined> {
    const link = await store.linkToDeliver(webhookId)
    return appId === undefined || link?.appId === appId ? link : undefined
  }

  return {
    async run(signal) {
      const drained = new AbortController()
      const saving = saves.run(drained.signal)
      await Promise.all([superviseLinks(signal), measure(signal)])
      // When nothing can be saved any more, nothing that is under way ends.
      await Promise.race([Promise.all(following), saving, clock.sleep(deps.drainMsMax, drained.signal)])
      drained.abort()
      await orTooLong(saving)
      await orTooLong(history.close())
    },
    async states(appId) {
      return linkStates.of(await store.allLinks(appId))
    },
    async state(webhookId, appId) {
      const link = await linkTo(webhookId, appId)
      return link && (await linkStates.of([link]))[0]
    },
    async attempts(webhookId, appId, limit) {
      const link = await linkTo(webhookId, appId)
      return link && store.attempts(link.id, limit)
    },
  }
}

/** The link as it was read, unless its endpoint has said since then that it wants no more. */
function asKnown(link: LinkToDeliver, { endpoint }: LinkMemory): LinkToDeliver {
  return endpoint.goneAtLook === undefined ? link : { ...link, valid: false }
}
