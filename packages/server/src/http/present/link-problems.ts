/**
 * The problems of links and webhooks now, in sentences that name the endpoint, the reason and how much waits.
 *
 * Problems that are the same, of several endpoints at one host of one app, are one problem: an endpoint of many paths that
 * is gone fills no list.
 */
import type { OverviewProblem } from "@sluice/api"
import type { LinkState } from "../../delivery/links/link-states.ts"
import type { StoredAttempt } from "../../model/attempt.ts"
import { instant } from "../../model/date-time.ts"
import type { AppId, WebhookId } from "../../model/ids.ts"

/** Age of the oldest undelivered match from which a link is said to lag. Ours: several retries of a healthy endpoint. */
const laggingMsMin = 5 * 60_000

/** Most paths that a problem of several endpoints names. */
const pathsMax = 3

/** A link, and what its state does not say. */
export interface LinkFacts {
  readonly state: LinkState
  readonly url: string
  /** Absent when no attempt is kept, or nobody asked for it. */
  readonly newestAttempt: Pick<StoredAttempt, "outcome" | "status"> | undefined
}

/** A webhook that is invalid and has no link. */
export interface UnlinkedInvalid {
  readonly id: WebhookId
  readonly appId: AppId
  readonly url: string
}

type Kind = "endpoint_down" | "webhook_invalid" | "gaps" | "dead_letters" | "lagging"

/** A problem of one webhook, before those that are the same become one. */
interface Found {
  readonly kind: Kind
  readonly isLinked: boolean
  readonly appId: AppId
  readonly webhookId: WebhookId
  readonly url: string
  /** A sentence; empty where the kind says it all. */
  readonly reason: string
  /** Matches that wait, were missed or were given up. */
  readonly matches: number
  readonly sinceMs: number | undefined
}

/** Problems of links and of webhooks without one. Same ones of a host of an app stand together. */
export function linkProblems(
  links: readonly LinkFacts[],
  unlinkedInvalid: readonly UnlinkedInvalid[],
  nowMs: number,
): readonly OverviewProblem[] {
  const found = [
    ...links.flatMap((link) => problemsOf(link, nowMs)),
    ...unlinkedInvalid.map(({ id, appId, url }): Found => {
      return {
        kind: "webhook_invalid",
        isLinked: false,
        appId,
        webhookId: id,
        url,
        reason: "",
        matches: 0,
        sinceMs: undefined,
      }
    }),
  ]
  const same = Map.groupBy(found, ({ kind, isLinked, appId, url, reason }) =>
    JSON.stringify([kind, isLinked, appId, hostOf(url), reason]),
  )
  return Array.from(same.values(), present)
}

/** Whether the reason of a link's problem is in its newest attempt. */
export function needsNewestAttempt(state: LinkState, nowMs: number): boolean {
  return state.valid && (state.isDown || isLagging(state, nowMs))
}

function isLagging({ oldestUndeliveredAtMs }: LinkState, nowMs: number): boolean {
  return oldestUndeliveredAtMs !== undefined && nowMs - oldestUndeliveredAtMs > laggingMsMin
}

function problemsOf({ state, url, newestAttempt }: LinkFacts, nowMs: number): readonly Found[] {
  const { appId, webhookId, tally } = state
  const waiting = Math.max(0, state.head - state.position)
  const at = { isLinked: true, appId, webhookId, url }
  const without = { reason: "", sinceMs: undefined }
  const found: Found[] = []
  if (!state.valid) {
    const reason = state.invalidReason === undefined ? "" : `: it ${state.invalidReason}`
    found.push({ kind: "webhook_invalid", ...at, reason, matches: waiting, sinceMs: undefined })
  } else if (state.isDown) {
    const reason = failureSentence(newestAttempt)
    found.push({ kind: "endpoint_down", ...at, reason, matches: waiting, sinceMs: state.failingSinceMs })
  } else if (isLagging(state, nowMs)) {
    const reason = failureSentence(newestAttempt)
    found.push({ kind: "lagging", ...at, reason, matches: waiting, sinceMs: state.oldestUndeliveredAtMs })
  }
  if ((tally?.missed ?? 0) > 0) found.push({ kind: "gaps", ...at, ...without, matches: tally?.missed ?? 0 })
  if ((tally?.deadLetters ?? 0) > 0) {
    found.push({ kind: "dead_letters", ...at, ...without, matches: tally?.deadLetters ?? 0 })
  }
  return found
}

/** Why the newest attempt failed; empty when none is kept, or when it succeeded. */
function failureSentence(attempt: LinkFacts["newestAttempt"]): string {
  if (attempt === undefined) return ""
  const { outcome, status } = attempt
  switch (outcome) {
    case "delivered":
      return ""
    case "dns":
      return "Its name has no public address. "
    case "blocked_address":
      return "Nothing may be sent to its address. "
    case "connect":
      return "It refuses connections. "
    case "tls":
      return "Its TLS certificate is not trusted, or it speaks no TLS. "
    case "timeout":
      return "It does not respond in time. "
    case "invalid_response":
      return "Its response is not HTTP, or breaks off. "
    case "too_large":
      return "Its response is too large. "
    case "local_error":
    case "damaged":
      return "This server could not send the match. "
    case "redirect":
    case "rejected":
    case "gone":
    case "server_error":
      return status === undefined ? "" : `It responds with ${status}. `
  }
}

function present(same: readonly Found[]): OverviewProblem {
  const [first] = same
  if (first === undefined) throw new Error("a group of problems is empty")
  const { kind, isLinked, appId, webhookId, url } = first
  const isOne = same.length === 1
  const matches = same.reduce((sum, one) => sum + one.matches, 0)
  const since = same.flatMap(({ sinceMs }) => (sinceMs === undefined ? [] : [sinceMs]))
  const endpoint = isOne ? placeOf(url) : `${count(same.length, "endpoint", "endpoints")} at ${hostOf(url)}`
  const { title, detail } = sentences(first, { endpoint, isOne, matches })
  return {
    kind,
    severity: isLinked && (kind === "endpoint_down" || kind === "webhook_invalid") ? "error" : "warning",
    title,
    detail: isOne ? detail : `${detail} ${pathsText(same)}`,
    application_id: appId,
    ...(since.length > 0 && { since: instant(Math.min(...since)) }),
    ...(isOne && { webhook_id: webhookId }),
    ...(!isOne && { webhook_count: same.length }),
    console_path: isOne ? `/webhooks/${webhookId}` : "/webhooks",
  }
}

function sentences(
  { kind, isLinked, reason }: Found,
  { endpoint, isOne, matches }: { readonly endpoint: string; readonly isOne: boolean; readonly matches: number },
): { readonly title: string; readonly detail: string } {
  const is = isOne ? "is" : "are"
  const waiting = `${count(matches, "match waits", "matches wait")}.`
  switch (kind) {
    case "webhook_invalid":
      return isLinked
        ? {
            title: `${endpoint} ${is} invalid`,
            detail: `Nothing is delivered${reason}. ${waiting} Mend the endpoint, then challenge it again.`,
          }
        : {
            title: `${endpoint} ${is} invalid`,
            detail: "It failed its challenge and cannot be linked. Mend the endpoint, then challenge it again.",
          }
    case "endpoint_down":
      return { title: `${endpoint} ${is} down`, detail: `${reason}${waiting} One match at a time probes it.` }
    case "lagging":
      return {
        title: `${endpoint} ${isOne ? "lags" : "lag"} behind`,
        detail: `${reason}${waiting} The endpoint is slow, or some matches fail.`,
      }
    case "gaps":
      return {
        title: `Matches for ${endpoint} were deleted before they were delivered`,
        detail: `Retention took ${count(matches, "match", "matches")} that the link had not read.`,
      }
    case "dead_letters":
      return {
        title: `Matches for ${endpoint} were given up`,
        detail:
          `${count(matches, "dead letter is", "dead letters are")} kept. ` +
          "Send them again once the endpoint takes them.",
      }
  }
}

function pathsText(same: readonly Found[]): string {
  const paths = same.slice(0, pathsMax).map(({ url }) => URL.parse(url)?.pathname ?? url)
  const more = same.length - paths.length
  return `Paths: ${paths.join(", ")}${more > 0 ? ` and ${more.toLocaleString("en")} more` : ""}.`
}

/** Host and path: what follows may be a secret. */
function placeOf(url: string): string {
  const parsed = URL.parse(url)
  return parsed === null ? url : parsed.host + parsed.pathname
}

function hostOf(url: string): string {
  return URL.parse(url)?.host ?? url
}

function count(number: number, one: string, many: string): string {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`
}
