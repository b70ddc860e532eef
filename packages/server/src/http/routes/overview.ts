import { paths } from "@sluice/api"
import { OverviewBody } from "@sluice/api/schemas"
import { instant } from "../../model/date-time.ts"
import type { LinkState } from "../../delivery/links/link-states.ts"
import type { AppId, WebhookId } from "../../model/ids.ts"
import type { ActivitySeries } from "../../control/activity.ts"
import { scopeOf } from "../auth.ts"
import type { HttpDeps, HttpServer } from "../deps.ts"
import { needsNewestAttempt, type LinkFacts } from "../present/link-problems.ts"
import { overviewProblems, problemsMax } from "../present/overview-problems.ts"
import { cachedFor } from "../cached-for.ts"
import { bearerRoute } from "./route-schema.ts"

/** Age at which an overview is made anew, however many pages show it: with many links it costs many reads. Ours. */
const ageMsMax = 3_000

/** Most scopes of which an overview is kept. */
const keptMax = 100

type OverviewDeps = Pick<
  HttpDeps,
  | "activity"
  | "apps"
  | "clock"
  | "clockAheadMs"
  | "freeBytes"
  | "notReady"
  | "rulesets"
  | "webhookLinks"
  | "webhookRegistry"
>

type Overview = OverviewBody["data"]

/** What happens and what is wrong. An app sees its own; an operator sees one app's, or all. */
export function overviewRoutes(server: HttpServer, deps: OverviewDeps): void {
  const kept = new Map<string, () => Promise<Overview>>()

  /** GET /sluice/v1/overview */
  server.get(paths.overview, bearerRoute("What happens, and what is wrong now", OverviewBody), async (request) => {
    const appId = scopeOf(request)
    const key = appId ?? "all"
    const overview = kept.get(key) ?? cachedFor(deps.clock, ageMsMax, () => overviewOf(appId, deps))
    // The one that was asked for last is the last to go.
    kept.delete(key)
    kept.set(key, overview)
    const [oldest] = kept.keys()
    if (kept.size > keptMax && oldest !== undefined) kept.delete(oldest)
    return { data: await overview() }
  })
}

async function overviewOf(appId: AppId | undefined, deps: OverviewDeps): Promise<Overview> {
  const { activity, clock } = deps
  const known =
    appId === undefined
      ? (await deps.apps.list()).filter(({ revoked }) => !revoked)
      : [await deps.apps.active(appId)].filter((app) => app !== undefined)
  const apps = appId === undefined ? known.map(({ id }) => id) : [appId]
  const links = await deps.webhookLinks.states(appId)
  const linked = new Set(links.map(({ webhookId }) => webhookId))
  const counts = { rules: 0, webhooks: 0, links: links.length }
  const unlinkedInvalid = []
  const urls = new Map<WebhookId, string>()
  for (const id of apps) {
    counts.rules += (await deps.rulesets.count(id)).count
    const webhooks = await deps.webhookRegistry.list(id)
    counts.webhooks += webhooks.length
    for (const { id: webhookId, url } of webhooks) urls.set(webhookId, url)
    unlinkedInvalid.push(...webhooks.filter((webhook) => !webhook.valid && !linked.has(webhook.id)))
  }
  const nowMs = clock.nowMs()
  const { problems, problemCount } = overviewProblems({
    nowMs,
    links: await linkFacts(links, urls, nowMs, deps),
    appNames: new Map(known.map(({ id, name }) => [id, name])),
    unlinkedInvalid,
    skippingApps: apps.filter((id) => activity.skipsRules(id)),
    notReady: deps.notReady(),
    freeBytes: appId === undefined ? await deps.freeBytes() : undefined,
    clockAheadMs: appId === undefined ? deps.clockAheadMs() : 0,
  })
  return {
    activity: presentActivity(activity.series(appId)),
    counts: { ...(appId === undefined && { apps: apps.length }), ...counts, has_posts: await activity.hasPosts() },
    problems,
    problem_count: problemCount,
  }
}

/** The links with their endpoints; with the newest attempts of those that fail, as many as an overview can name. */
async function linkFacts(
  links: readonly LinkState[],
  urls: ReadonlyMap<WebhookId, string>,
  nowMs: number,
  { webhookLinks }: OverviewDeps,
): Promise<readonly LinkFacts[]> {
  const facts: LinkFacts[] = []
  let asked = 0
  for (const state of links) {
    const { appId, webhookId } = state
    const isAsked = asked < problemsMax && needsNewestAttempt(state, nowMs)
    if (isAsked) asked += 1
    const [newestAttempt] = (isAsked ? await webhookLinks.attempts(webhookId, appId, 1) : undefined) ?? []
    // One that was deleted meanwhile has only its id.
    facts.push({ state, url: urls.get(webhookId) ?? `webhook ${webhookId}`, newestAttempt })
  }
  return facts
}

function presentActivity(series: ActivitySeries): Overview["activity"] {
  const stepSeconds = series.stepMs / 1000
  const rate = (values: readonly number[]): number[] => values.map((value) => value / stepSeconds)
  return {
    step_seconds: stepSeconds,
    until: instant(series.untilMs),
    posts_per_second: rate(series.posts),
    matches_per_second: rate(series.matches),
    deliveries_per_second: rate(series.deliveries),
    failures_per_second: rate(series.failures),
    lag: [...series.lag],
    oldest_undelivered_seconds: series.oldestUndeliveredAgeMs.map((ms) => Math.round(ms / 1000)),
  }
}
