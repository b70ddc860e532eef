/** The problems of links and webhooks, in sentences that name the endpoint, the reason and how much waits. */
import type { OverviewProblem } from "@sluice/api"
import type { Failure, LinkProblem } from "../../control/problems/link-problems.ts"
import { instant } from "../../model/date-time.ts"

/** Most paths that a problem of several endpoints names. */
const pathsMax = 3

/** A problem of one webhook, or of several at one host, without its kind and severity. */
export function presentLinkProblem(problem: LinkProblem): Omit<OverviewProblem, "kind" | "severity"> {
  const { appId, webhooks, sinceMs } = problem
  const only = webhooks.length === 1 ? webhooks[0] : undefined
  const { title, detail } = sentences(problem, only)
  return {
    title,
    detail: only === undefined ? `${detail} ${pathsText(webhooks)}` : detail,
    application_id: appId,
    ...(sinceMs !== undefined && { since: instant(sinceMs) }),
    ...(only === undefined ? { webhook_count: webhooks.length } : { webhook_id: only.id }),
    console_path: only === undefined ? "/webhooks" : `/webhooks/${only.id}`,
  }
}

function sentences(
  problem: LinkProblem,
  only: LinkProblem["webhooks"][number] | undefined,
): Pick<OverviewProblem, "title" | "detail"> {
  const { kind, host, webhooks, matches } = problem
  const endpoint =
    only === undefined ? `${count(webhooks.length, "endpoint", "endpoints")} at ${host}` : placeOf(only.url)
  const is = only === undefined ? "are" : "is"
  const waiting = `${count(matches, "match waits", "matches wait")}.`
  switch (kind) {
    case "webhook_invalid": {
      const reason = problem.reason === undefined ? "" : `: it ${problem.reason}`
      const state = problem.isLinked
        ? `Nothing is delivered${reason}. ${waiting}`
        : "It failed its challenge and cannot be linked."
      return { title: `${endpoint} ${is} invalid`, detail: `${state} Fix the endpoint, then challenge it again.` }
    }
    case "paused": {
      const { deletedFromMs } = problem
      const deleted = deletedFromMs === undefined ? "" : ` Retention deletes them from ${instant(deletedFromMs)} on.`
      return {
        title: `Deliveries to ${endpoint} are paused`,
        detail: `${waiting}${deleted} Resume the link to send them.`,
      }
    }
    case "endpoint_down":
      return {
        title: `${endpoint} ${is} down`,
        detail: `${failureText(problem.reason)}${waiting} One match at a time probes it.`,
      }
    case "lagging":
      return {
        title: `${endpoint} ${only === undefined ? "lag" : "lags"} behind`,
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

const failureTexts: Readonly<Record<Exclude<Failure, number>, string>> = {
  dns: "Its name has no public address.",
  blocked_address: "Nothing may be sent to its address.",
  connect: "It refuses connections.",
  tls: "Its TLS certificate is not trusted, or it speaks no TLS.",
  timeout: "It does not respond in time.",
  invalid_response: "Its response is not HTTP, or breaks off.",
  too_large: "Its response is too large.",
  local_error: "This server could not send the match.",
}

/** A sentence and a space; empty without a failure. */
function failureText(failure: Failure | undefined): string {
  if (failure === undefined) return ""
  return `${typeof failure === "number" ? `It responds with ${failure}.` : failureTexts[failure]} `
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
