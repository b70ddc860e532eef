/**
 * The problems of links and webhooks now.
 *
 * The same problem of several endpoints at one host of one app is one problem: an endpoint of many paths that is gone
 * fills no list.
 */
import type { StoredAttempt } from "../../model/attempt.ts"
import type { AppId, WebhookId } from "../../model/ids.ts"
import type { LinkTally } from "../../model/link.ts"

/** Age of the oldest undelivered match from which a link lags. Ours: several retries of a healthy endpoint. */
const laggingMsMin = 5 * 60_000

/** The state of a link, as far as it shows problems. */
export interface LinkHealth {
  readonly webhookId: WebhookId
  readonly appId: AppId
  readonly valid: boolean
  /** Why the webhook is not valid. */
  readonly invalidReason: string | undefined
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
export interface UnlinkedInvalid {
  readonly id: WebhookId
  readonly appId: AppId
  readonly url: string
}

/** Why attempts fail: the status of the response, or what kept the endpoint from responding. */
export type Failure = { readonly status: number } | Exclude<StoredAttempt["outcome"], StatusOutcome | "delivered">

/** Outcomes for which the status is more exact. */
type StatusOutcome = "redirect" | "rejected" | "gone" | "server_error" | "damaged"

/** A fault of an endpoint. */
type EndpointFault =
  | { readonly kind: "webhook_invalid"; readonly reason: string | undefined }
  | { readonly kind: "endpoint_down" | "lagging"; readonly reason: Failure | undefined }
  | { readonly kind: "gaps" | "dead_letters"; readonly reason: undefined }

/** A problem of one webhook, or of several at one host. */
export type LinkProblem = EndpointFault & {
  readonly severity: "error" | "warning"
  readonly isLinked: boolean
  readonly appId: AppId
  /** At least one. */
  readonly webhooks: readonly { readonly id: WebhookId; readonly url: string }[]
  /** Matches of all of them that wait, were missed or are dead letters. */
  readonly matches: number
  /** Start of the earliest of them. */
  readonly sinceMs: number | undefined
}

/** A problem of one webhook, before those that are the same become one. */
type Found = EndpointFault & {
  readonly isLinked: boolean
  readonly appId: AppId
  readonly id: WebhookId
  readonly url: string
  readonly matches: number
  readonly sinceMs?: number | undefined
}

/** Problems of links and of webhooks without one. The same problem of a host of an app is one. */
export function linkProblems(
  links: readonly LinkFacts[],
  unlinkedInvalid: readonly UnlinkedInvalid[],
  nowMs: number,
): readonly LinkProblem[] {
  const found = [
    ...links.flatMap((link) => problemsOf(link, nowMs)),
    ...unlinkedInvalid.map((webhook): Found => {
      return { ...webhook, kind: "webhook_invalid", isLinked: false, reason: undefined, matches: 0 }
    }),
  ]
  const same = Map.groupBy(found, ({ kind, isLinked, appId, url, reason }) =>
    JSON.stringify([kind, isLinked, appId, hostOf(url), reason]),
  )
  return Array.from(same.values(), joined)
}

/** True if the newest attempt of a link shows the reason of its problem. */
export function needsNewestAttempt(state: LinkHealth, nowMs: number): boolean {
  return state.valid && (state.isDown || isLagging(state.oldestUndeliveredAtMs, nowMs))
}

/** True if the oldest undelivered match has waited for longer than ordinary retries take. */
export function isLagging(oldestUndeliveredAtMs: number | undefined, nowMs: number): boolean {
  return oldestUndeliveredAtMs !== undefined && nowMs - oldestUndeliveredAtMs > laggingMsMin
}

/** The host of a webhook, with its port; the URL itself when it is not one. */
export function hostOf(url: string): string {
  return URL.parse(url)?.host ?? url
}

function problemsOf({ state, url, newestAttempt }: LinkFacts, nowMs: number): readonly Found[] {
  const { appId, webhookId: id, failingSinceMs, oldestUndeliveredAtMs } = state
  const { missed, deadLetters } = state.tally ?? { missed: 0, deadLetters: 0 }
  const at = { isLinked: true, appId, id, url }
  const matches = Math.max(0, state.head - state.position)
  const reason = failureOf(newestAttempt)
  const found: Found[] = []
  if (!state.valid) found.push({ ...at, kind: "webhook_invalid", reason: state.invalidReason, matches })
  else if (state.isDown) found.push({ ...at, kind: "endpoint_down", reason, matches, sinceMs: failingSinceMs })
  else if (isLagging(oldestUndeliveredAtMs, nowMs)) {
    found.push({ ...at, kind: "lagging", reason, matches, sinceMs: oldestUndeliveredAtMs })
  }
  if (missed > 0) found.push({ ...at, kind: "gaps", reason: undefined, matches: missed })
  if (deadLetters > 0) found.push({ ...at, kind: "dead_letters", reason: undefined, matches: deadLetters })
  return found
}

/** Why the newest attempt failed; undefined when none is kept, or when it succeeded. */
function failureOf(attempt: LinkFacts["newestAttempt"]): Failure | undefined {
  if (attempt === undefined) return undefined
  const { outcome, status } = attempt
  switch (outcome) {
    case "delivered":
      return undefined
    case "damaged":
      return "local_error"
    case "redirect":
    case "rejected":
    case "gone":
    case "server_error":
      return status === undefined ? undefined : { status }
    default:
      return outcome
  }
}

function joined(same: readonly Found[]): LinkProblem {
  const [first] = same
  if (first === undefined) throw new Error("a group of problems is empty")
  const { id: _id, url: _url, ...problem } = first
  const since = same.flatMap(({ sinceMs }) => sinceMs ?? [])
  const isError = first.isLinked && (first.kind === "endpoint_down" || first.kind === "webhook_invalid")
  return {
    ...problem,
    severity: isError ? "error" : "warning",
    webhooks: same.map(({ id, url }) => ({ id, url })),
    matches: same.reduce((sum, { matches }) => sum + matches, 0),
    sinceMs: since.length === 0 ? undefined : Math.min(...since),
  }
}
