/** The activity and the problems of a server, for one app or for all. */
import type { StoredAttempt } from "../../model/attempt.ts"
import type { AppId, WebhookId } from "../../model/ids.ts"
import type { Clock } from "../../runtime/clock.ts"
import type { Activity, ActivitySeries } from "../activity.ts"
import type { Apps } from "../apps.ts"
import type { Rulesets } from "../rules/rulesets.ts"
import type { WebhookRegistry } from "../webhooks/webhook-registry.ts"
import type { DiskRoom } from "./disk-room.ts"
import { findProblems, problemsMax, type FoundProblem } from "./find-problems.ts"
import { needsNewestAttempt, type LinkFacts, type LinkHealth, type UnlinkedInvalid } from "./link-problems.ts"

/** The activity, the counts and the problems of a server. */
export interface Overview {
  readonly activity: ActivitySeries
  readonly counts: {
    /** Absent in the overview of one app. */
    readonly apps?: number
    readonly rules: number
    readonly webhooks: number
    readonly links: number
  }
  readonly hasPosts: boolean
  /** Errors first. */
  readonly problems: readonly FoundProblem[]
  /** The number of all problems: at most a hundred are listed. */
  readonly problemCount: number
  readonly appNames: ReadonlyMap<AppId, string>
}

/** Dependencies of an overview. */
export interface OverviewDeps {
  readonly activity: Pick<Activity, "series" | "hasPosts" | "skipsRules">
  readonly apps: Pick<Apps, "active" | "list">
  readonly rulesets: Pick<Rulesets, "count">
  readonly webhookRegistry: Pick<WebhookRegistry, "list">
  readonly webhookLinks: LinksToJudge
  readonly clock: Pick<Clock, "nowMs">
  /** Retention of a match that a link has still to deliver, ms. */
  readonly undeliveredRetentionMs: number
  /** The data directory's disk; undefined when that cannot be found out, and for a database. */
  diskRoom(): Promise<DiskRoom | undefined>
  /** Milliseconds by which the clock is ahead of retention's time; 0 when retention goes by the clock. */
  clockAheadMs(): number
  /** Why the server is not ready; absent when it is. */
  notReady(): string | undefined
}

/** The links, as far as an overview reads them. */
interface LinksToJudge {
  states(appId: AppId | undefined): Promise<readonly LinkHealth[]>
  attempts(
    webhookId: WebhookId,
    appId: AppId,
    limit: number,
  ): Promise<readonly Pick<StoredAttempt, "outcome" | "status">[] | undefined>
}

/** Reads the overview of an app, or of all. Disk and clock are the operator's, so one app's overview leaves them out. */
export async function readOverview(appId: AppId | undefined, deps: OverviewDeps): Promise<Overview> {
  const { activity, clock } = deps
  const known =
    appId === undefined
      ? (await deps.apps.list()).filter(({ revoked }) => !revoked)
      : [await deps.apps.active(appId)].filter((app) => app !== undefined)
  const apps = appId === undefined ? known.map(({ id }) => id) : [appId]
  const links = await deps.webhookLinks.states(appId)
  const linked = new Set(links.map(({ webhookId }) => webhookId))
  const counts = { rules: 0, webhooks: 0, links: links.length }
  const unlinkedInvalid: UnlinkedInvalid[] = []
  const urls = new Map<WebhookId, string>()
  for (const id of apps) {
    counts.rules += await deps.rulesets.count(id)
    const webhooks = await deps.webhookRegistry.list(id)
    counts.webhooks += webhooks.length
    for (const { id: webhookId, url } of webhooks) urls.set(webhookId, url)
    unlinkedInvalid.push(...webhooks.filter((webhook) => !webhook.valid && !linked.has(webhook.id)))
  }
  const nowMs = clock.nowMs()
  return {
    activity: activity.series(appId),
    counts: { ...(appId === undefined && { apps: apps.length }), ...counts },
    hasPosts: await activity.hasPosts(),
    appNames: new Map(known.map(({ id, name }) => [id, name])),
    ...findProblems({
      nowMs,
      undeliveredRetentionMs: deps.undeliveredRetentionMs,
      links: await linkFacts(links, urls, nowMs, deps),
      unlinkedInvalid,
      skippingApps: apps.filter((id) => activity.skipsRules(id)),
      notReady: deps.notReady(),
      disk: appId === undefined ? await deps.diskRoom() : undefined,
      clockAheadMs: appId === undefined ? deps.clockAheadMs() : 0,
    }),
  }
}

/** The links with their endpoints; with the newest attempts of those that fail, as many as an overview can name. */
async function linkFacts(
  links: readonly LinkHealth[],
  urls: ReadonlyMap<WebhookId, string>,
  nowMs: number,
  { webhookLinks }: Pick<OverviewDeps, "webhookLinks">,
): Promise<readonly LinkFacts[]> {
  const facts: LinkFacts[] = []
  let reads = 0
  for (const state of links) {
    const { appId, webhookId } = state
    const isRead = reads < problemsMax && needsNewestAttempt(state, nowMs)
    if (isRead) reads += 1
    const [newestAttempt] = (isRead ? await webhookLinks.attempts(webhookId, appId, 1) : undefined) ?? []
    // A webhook that was deleted meanwhile has only its id.
    facts.push({ state, url: urls.get(webhookId) ?? `webhook ${webhookId}`, newestAttempt })
  }
  return facts
}
