/**
 * The problems of links and webhooks now.
 *
 * The same problem of several endpoints at one host of one app is one problem: an endpoint of many paths that is gone
 * fills no list.
 */
import type { StoredAttempt } from "../../model/attempt.ts"
import type { AppId, WebhookId } from "../../model/ids.ts"
import type { LinkTally } from "../../model/link.ts"
import type { StoredWebhook } from "../../model/webhook.ts"

/** Age of the oldest undelivered match from which a link lags. Ours: several retries of a healthy endpoint. */
const laggingMsMin = 5 * 60_000

/** Part of the retention time that is left when it is said of a paused link that its matches will be deleted. Ours. */
const warnedPart = 1 / 4

/** The state of a link, as far as it shows problems. */
export interface LinkHealth {
  readonly webhookId: WebhookId
  readonly appId: AppId
  readonly valid: boolean
  /** Why the webhook is not valid. */
  readonly invalidReason: string | undefined
  /** Since when its app has paused it. */
  readonly pausedAtMs: number | undefined
  readonly isDown: boolean
  readonly position: number
  /** Position of the newest match of the log. */
  readonly head: number
  readonly oldestUndeliveredAtMs: number | undefined
  readonly failingSinceMs: number | undefined
  readonly tally: Pick<LinkTally, "missed" | "deadLetters"> | undefined
}

/** A link, and what its state does not show. */
export interface LinkFacts {
  readonly state: LinkHealth
  readonly url: string
  /** Absent when no attempt is kept, or none is needed. */
  readonly newestAttempt: Pick<StoredAttempt, "outcome" | "status"> | undefined
}

/** A webhook that is invalid and has no link. */
export type UnlinkedInvalid = Pick<StoredWebhook, "id" | "appId" | "url">

/** Why attempts fail: the status of the response, or the outcome that kept the endpoint from responding. */
export type Failure = number | Exclude<StoredAttempt["outcome"], StatusOutcome | "delivered" | "post_deleted">

/** Outcomes for which the status is more exact. */
type StatusOutcome = "redirect" | "rejected" | "gone" | "server_error" | "damaged"

/** A problem of one webhook, or of several at one host. */
export type LinkProblem = (
  | { readonly kind: "webhook_invalid"; readonly isLinked: boolean; readonly reason?: string | undefined }
  | { readonly kind: "endpoint_down" | "lagging"; readonly reason: Failure | undefined }
  | { readonly kind: "paused"; readonly reason?: undefined; readonly deletedFromMs?: number | undefined }
  | { readonly kind: "gaps" | "dead_letters"; readonly reason?: undefined }
) & {
  /** `info`: nothing is wrong; the app has asked for it. For a paused link a warning, once retention will soon delete matches. */
  readonly severity: "error" | "warning" | "info"
  readonly appId: AppId
  readonly host: string
  /** At least one. */
  readonly webhooks: readonly Pick<StoredWebhook, "id" | "url">[]
  /** Matches of all of them that wait, were missed or are dead letters. */
  readonly matches: number
  /** Start of the earliest of them. */
  readonly sinceMs?: number | undefined
}

/** The time, and how long matches wait for a link. */
export interface ProblemTimes {
  readonly nowMs: number
  /** Retention of a match that a link has still to deliver, ms. */
  readonly undeliveredRetentionMs: number
}

/** Problems of links and of webhooks without one. The same problem of a host of an app is one. */
export function linkProblems(
  links: readonly LinkFacts[],
  unlinkedInvalid: readonly UnlinkedInvalid[],
  times: ProblemTimes,
): readonly LinkProblem[] {
  const found = [
    ...links.flatMap((link) => problemsOf(link, times)),
    ...unlinkedInvalid.map(({ id, appId, url }): LinkProblem => {
      const at = { appId, host: hostOf(url), webhooks: [{ id, url }], matches: 0 }
      return { ...at, kind: "webhook_invalid", severity: "warning", isLinked: false }
    }),
  ]
  const same = Map.groupBy(found, ({ kind, severity, appId, host, reason }) =>
    JSON.stringify([kind, severity, appId, host, reason]),
  )
  return Array.from(same.values(), joined)
}

/** True if the newest attempt of a link shows the reason of its problem. */
export function needsNewestAttempt(state: LinkHealth, nowMs: number): boolean {
  return (
    state.valid && state.pausedAtMs === undefined && (state.isDown || isLagging(state.oldestUndeliveredAtMs, nowMs))
  )
}

/** True if the oldest undelivered match has waited for longer than ordinary retries take. */
export function isLagging(oldestUndeliveredAtMs: number | undefined, nowMs: number): boolean {
  return oldestUndeliveredAtMs !== undefined && nowMs - oldestUndeliveredAtMs > laggingMsMin
}

/** When retention deletes a match that has waited since then, if that is soon; Unix ms. */
export function deletedSoon(
  oldestUndeliveredAtMs: number | undefined,
  { nowMs, undeliveredRetentionMs }: ProblemTimes,
): number | undefined {
  if (oldestUndeliveredAtMs === undefined) return undefined
  const deletedFromMs = oldestUndeliveredAtMs + undeliveredRetentionMs
  return deletedFromMs - nowMs < undeliveredRetentionMs * warnedPart ? deletedFromMs : undefined
}

/** The host of a webhook, with its port; the URL itself when it is not one. */
function hostOf(url: string): string {
  return URL.parse(url)?.host ?? url
}

function problemsOf({ state, url, newestAttempt }: LinkFacts, times: ProblemTimes): readonly LinkProblem[] {
  const { nowMs } = times
  const { appId, webhookId: id, oldestUndeliveredAtMs } = state
  const { missed, deadLetters } = state.tally ?? { missed: 0, deadLetters: 0 }
  const at = { appId, host: hostOf(url), webhooks: [{ id, url }], matches: Math.max(0, state.head - state.position) }
  const error = { ...at, severity: "error" } as const
  const warning = { ...at, severity: "warning" } as const
  const reason = failureOf(newestAttempt)
  const found: LinkProblem[] = []
  if (!state.valid) found.push({ ...error, kind: "webhook_invalid", isLinked: true, reason: state.invalidReason })
  else if (state.pausedAtMs !== undefined) {
    const deletedFromMs = deletedSoon(oldestUndeliveredAtMs, times)
    const severity = deletedFromMs === undefined ? "info" : "warning"
    found.push({ ...at, severity, kind: "paused", sinceMs: state.pausedAtMs, deletedFromMs })
  } else if (state.isDown) found.push({ ...error, kind: "endpoint_down", reason, sinceMs: state.failingSinceMs })
  else if (isLagging(oldestUndeliveredAtMs, nowMs)) {
    found.push({ ...warning, kind: "lagging", reason, sinceMs: oldestUndeliveredAtMs })
  }
  if (missed > 0) found.push({ ...warning, kind: "gaps", matches: missed })
  if (deadLetters > 0) found.push({ ...warning, kind: "dead_letters", matches: deadLetters })
  return found
}

/** Why the newest attempt failed; undefined when none is kept, or when it succeeded. */
function failureOf(attempt: LinkFacts["newestAttempt"]): Failure | undefined {
  if (attempt === undefined) return undefined
  const { outcome, status } = attempt
  switch (outcome) {
    case "delivered":
    case "post_deleted":
      return undefined
    case "damaged":
      return "local_error"
    case "redirect":
    case "rejected":
    case "gone":
    case "server_error":
      return status
    default:
      return outcome
  }
}

function joined(same: readonly LinkProblem[]): LinkProblem {
  const [first] = same
  if (first === undefined) throw new Error("a group of problems is empty")
  const since = same.flatMap(({ sinceMs }) => sinceMs ?? [])
  return {
    ...first,
    webhooks: same.flatMap(({ webhooks }) => webhooks),
    matches: same.reduce((sum, { matches }) => sum + matches, 0),
    sinceMs: since.length === 0 ? undefined : Math.min(...since),
  }
}
