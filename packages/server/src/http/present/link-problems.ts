/** The problems of links and webhooks, in sentences that name the endpoint, the reason and how much waits. */
import type { OverviewProblem } from "@sluice/api"
import { hostOf, type Failure, type LinkProblem } from "../../control/problems/link-problems.ts"
import { instant } from "../../model/date-time.ts"

/** Most paths that a problem of several endpoints names. */
const pathsMax = 3

/** A problem of one webhook, or of several at one host. */
export function presentLinkProblem(problem: LinkProblem): OverviewProblem {
  const { kind, severity, appId, webhooks, sinceMs } = problem
  const [first = { id: "", url: "" }] = webhooks
  const isOne = webhooks.length === 1
  const { title, detail } = sentences(problem)
  return {
    kind,
    severity,
    title,
    detail: isOne ? detail : `${detail} ${pathsText(webhooks)}`,
    application_id: appId,
    ...(sinceMs !== undefined && { since: instant(sinceMs) }),
    ...(isOne ? { webhook_id: first.id } : { webhook_count: webhooks.length }),
    console_path: isOne ? `/webhooks/${first.id}` : "/webhooks",
  }
}

function sentences(problem: LinkProblem): { readonly title: string; readonly detail: string } {
  const { kind, webhooks, matches } = problem
  const [first = { url: "" }] = webhooks
  const isOne = webhooks.length === 1
  const endpoint = isOne
    ? placeOf(first.url)
    : `${count(webhooks.length, "endpoint", "endpoints")} at ${hostOf(first.url)}`
  const is = isOne ? "is" : "are"
  const waiting = `${count(matches, "match waits", "matches wait")}.`
  switch (kind) {
    case "webhook_invalid": {
      const reason = problem.reason === undefined ? "" : `: it ${problem.reason}`
      const state = problem.isLinked
        ? `Nothing is delivered${reason}. ${waiting}`
        : "It failed its challenge and cannot be linked."
      return { title: `${endpoint} ${is} invalid`, detail: `${state} Fix the endpoint, then challenge it again.` }
    }
    case "endpoint_down":
      return {
        title: `${endpoint} ${is} down`,
        detail: `${failureText(problem.reason)}${waiting} One match at a time probes it.`,
      }
    case "lagging":
      return {
        title: `${endpoint} ${isOne ? "lags" : "lag"} behind`,
        detail: `${failureText(problem.reason)}${waiting} The endpoint is slow, or some matches fail.`,
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
          "Send them again once the endpoint accepts them.",
      }
  }
}

/** A sentence and a space; empty without a failure. */
function failureText(failure: Failure | undefined): string {
  switch (failure) {
    case undefined:
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
      return "This server could not send the match. "
    default:
      return `It responds with ${failure.status}. `
  }
}

function pathsText(webhooks: LinkProblem["webhooks"]): string {
  const paths = webhooks.slice(0, pathsMax).map(({ url }) => URL.parse(url)?.pathname ?? url)
  const more = webhooks.length - paths.length
  return `Paths: ${paths.join(", ")}${more > 0 ? ` and ${more.toLocaleString("en")} more` : ""}.`
}

/** Host and path: what follows may be a secret. */
function placeOf(url: string): string {
  const parsed = URL.parse(url)
  return parsed === null ? url : parsed.host + parsed.pathname
}

function count(number: number, one: string, many: string): string {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`
}
