/**
 * All webhook links at work: starts one `WebhookLink` for each link of the store, tells it of changes, stops it
 * when the link is gone, and starts it again when it fails.
 *
 *     store.allLinks() ──► new? start · changed? update · gone? stop
 *            ▲                 └──────────┐
 *            └── on a hint that something has changed, and every 10 s
 */
import type { LinkState } from "@sluice/api"
import type { AppId, LinkId, MatchSeq } from "../model/ids.ts"
import { selectionOfQuery } from "../model/link-fields.ts"
import type { LinkToDeliver } from "../model/link.ts"
import { shapeFor } from "../model/render-post.ts"
import type { Clock } from "../runtime/clock.ts"
import type { Events } from "../runtime/events.ts"
import type { Outbound } from "../runtime/outbound.ts"
import type { Random } from "../runtime/random.ts"
import type { SecretBox } from "../runtime/secret-box.ts"
import type { Store } from "../store/store.ts"
import { LinkCursor } from "./link-cursor.ts"
import { ProgressSaves } from "./progress-saves.ts"
import { WakeUp } from "./wake-up.ts"
import { WebhookLink, type LinkCounters, type WebhookLinkDeps } from "./webhook-link.ts"

/** The webhook links of all apps. */
export interface WebhookLinks {
  /**
   * Delivers over all links until aborted. Resolves when what is under way has ended (or has been given up at
   * `drainMsMax`, to be repeated later) and everything that has ended is saved.
   */
  run(signal: AbortSignal): Promise<void>
  /** States of the app's links, or of all, newest link first. */
  states(appId?: AppId): Promise<readonly LinkState[]>
}

/** Longest time between two looks at the links. */
const pollMs = 10_000

/** Wait before a link, or the look at the links, that failed is tried again. */
const restartMs = 1_000

/** A link that is being followed, over all its runs. */
interface FollowedLink {
  link: LinkToDeliver
  current: WebhookLink | undefined
  readonly counters: LinkCounters
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
  concurrencyPerLink: number
  attemptMsMax: number
  retryBaseMs: number
  retryMaxMs: number
  /** Longest that a stop waits for attempts. */
  drainMsMax: number
}): WebhookLinks {
  const { store, clock, events } = deps
  const saves = new ProgressSaves(deps)
  const retry = { baseMs: deps.retryBaseMs, maxMs: deps.retryMaxMs }
  const linkDeps: WebhookLinkDeps = { ...deps, retry, saves }
  const followed = new Map<LinkId, FollowedLink>()
  const following = new Set<Promise<void>>()

  /** Follows a link until it is stopped, through as many runs as that takes. */
  async function followLink(entry: FollowedLink): Promise<void> {
    const { id } = entry.link
    const { signal } = entry.stop
    while (!signal.aborted) {
      try {
        const retries = await store.retries(id, shapeFor(selectionOfQuery(entry.link.query)))
        // All that an earlier run came to is saved, perhaps after `entry.link` was read.
        const link = { ...entry.link, position: entry.current?.position ?? entry.link.position }
        entry.current = new WebhookLink(link, retries, linkDeps, entry.counters, signal)
        await entry.current.run()
      } catch (error) {
        events.failed({ where: "webhook link", error })
        await clock.sleep(restartMs, signal)
      }
    }
  }

  function start(link: LinkToDeliver, signal: AbortSignal): void {
    const counters: LinkCounters = { delivered: 0, failed: 0, failingSinceMs: undefined }
    const entry: FollowedLink = { link, current: undefined, counters, stop: new AbortController() }
    followed.set(link.id, entry)
    const stop = (): void => entry.stop.abort()
    signal.addEventListener("abort", stop)
    const end = followLink(entry).finally(() => {
      signal.removeEventListener("abort", stop)
      following.delete(end)
    })
    following.add(end)
  }

  async function reconcile(signal: AbortSignal): Promise<void> {
    const links = new Map((await store.allLinks()).map((link) => [link.id, link]))
    for (const [id, entry] of followed) {
      if (links.has(id)) continue
      entry.stop.abort()
      followed.delete(id)
    }
    for (const [id, link] of links) {
      const entry = followed.get(id)
      if (entry === undefined) {
        start(link, signal)
      } else {
        entry.link = link
        entry.current?.update(link)
      }
    }
  }

  async function superviseLinks(signal: AbortSignal): Promise<void> {
    const wakeUp = new WakeUp()
    const stopListening = store.onChange((change) => {
      if (change.kind === "control") wakeUp.call()
    })
    while (!signal.aborted) {
      try {
        await reconcile(signal)
        await wakeUp.wait(clock, pollMs, signal)
      } catch (error) {
        events.failed({ where: "webhook links", error })
        await clock.sleep(restartMs, signal)
      }
    }
    stopListening()
  }

  async function stateOf(link: LinkToDeliver, head: MatchSeq): Promise<LinkState> {
    const entry = followed.get(link.id)
    // A run knows better than the store, which hears of everything a little later.
    const { deliveredUpTo: position } =
      entry?.current ?? new LinkCursor(link.position, await store.retries(link.id, "core"))
    const [oldest] =
      position < head
        ? await store.matches({ appId: link.appId, after: position, limit: 1, shape: "core" })
        : []
    const nextAttemptAtMs = link.valid ? entry?.current?.nextAttemptAtMs : undefined
    const failingSinceMs = entry?.counters.failingSinceMs
    return {
      webhook_id: link.webhookId,
      application_id: link.appId,
      valid: link.valid,
      position,
      head,
      lag: Math.max(0, head - position),
      in_flight: entry?.current?.inFlight ?? 0,
      ...(oldest !== undefined && { oldest_undelivered_at: instant(oldest.atMs) }),
      ...(failingSinceMs !== undefined && { failing_since: instant(failingSinceMs) }),
      ...(nextAttemptAtMs !== undefined && { next_attempt_at: instant(nextAttemptAtMs) }),
      delivered: entry?.counters.delivered ?? 0,
      failed: entry?.counters.failed ?? 0,
    }
  }

  return {
    async run(signal) {
      const drained = new AbortController()
      const saving = saves.run(drained.signal)
      await superviseLinks(signal)
      await Promise.race([Promise.all(following), clock.sleep(deps.drainMsMax, drained.signal)])
      drained.abort()
      await saving
    },
    async states(appId) {
      const links = (await store.allLinks()).filter((link) => appId === undefined || link.appId === appId)
      const newestFirst = links.toSorted((a, b) => Number(BigInt(b.id) - BigInt(a.id)))
      const appIds = [...new Set(links.map((link) => link.appId))]
      const heads = new Map(await Promise.all(appIds.map(async (id) => [id, await store.head(id)] as const)))
      return Promise.all(newestFirst.map((link) => stateOf(link, heads.get(link.appId) ?? link.position)))
    },
  }
}

function instant(atMs: number): string {
  return new Date(atMs).toISOString()
}
