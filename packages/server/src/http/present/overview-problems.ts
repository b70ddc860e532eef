/** What is wrong now, in sentences, each with the page of the console where it can be mended. */
import type { OverviewProblem } from "@sluice/api"
import type { LinkState } from "../../delivery/links/link-states.ts"
import { instant } from "../../model/date-time.ts"
import type { AppId, WebhookId } from "../../model/ids.ts"

/** Most problems that an overview lists. The list is for people. */
const problemsMax = 100

/** Age of the oldest undelivered match from which a link is said to lag. Ours: several retries of a healthy endpoint. */
const laggingMsMin = 5 * 60_000

/** Free room below which the disk counts as nearly full, and as full: then nothing can be written. Ours. */
const freeBytesLow = 1_073_741_824
const freeBytesNone = 52_428_800

/** What an overview is made of. */
export interface OverviewFacts {
  readonly nowMs: number
  readonly links: readonly LinkState[]
  /** Invalid webhooks without a link, which no link shows. */
  readonly unlinkedInvalid: readonly { readonly id: WebhookId; readonly appId: AppId; readonly url: string }[]
  /** Apps of which rules were skipped within the last hour. */
  readonly skippingApps: readonly AppId[]
  /** Why the server is not ready. */
  readonly notReady: string | undefined
  /** Room on the data directory's disk; absent when it is not known, or is none of the caller's business. */
  readonly freeBytes: number | undefined
}

/** All of them, errors first, and how many there are beyond those listed. */
export function overviewProblems(facts: OverviewFacts): {
  readonly problems: OverviewProblem[]
  readonly problemCount: number
} {
  const found = [
    ...serverProblems(facts),
    ...facts.links.flatMap((link) => linkProblems(link, facts.nowMs)),
    ...facts.unlinkedInvalid.map(({ id, appId, url }): OverviewProblem => {
      const detail = `${url} failed its challenge and cannot be linked. Mend the endpoint, then challenge it again.`
      return {
        kind: "webhook_invalid",
        severity: "warning",
        title: "A webhook is invalid",
        detail,
        ...ofLink(appId, id),
      }
    }),
    ...facts.skippingApps.map((appId): OverviewProblem => ({
      kind: "rules_skipped",
      severity: "warning",
      title: "Rules were skipped",
      detail:
        "In the last hour posts were not compared with all rules of the app: they cost more steps than a post has.",
      application_id: appId,
      console_path: "/rules",
    })),
  ]
  const sorted = found.toSorted((a, b) => Number(a.severity === "warning") - Number(b.severity === "warning"))
  return { problems: sorted.slice(0, problemsMax), problemCount: found.length }
}

function serverProblems({ notReady, freeBytes }: OverviewFacts): OverviewProblem[] {
  const problems: OverviewProblem[] = []
  if (notReady !== undefined) {
    problems.push({ kind: "not_ready", severity: "error", title: "The server is not ready", detail: notReady })
  }
  if (freeBytes !== undefined && freeBytes < freeBytesLow) {
    const isFull = freeBytes < freeBytesNone
    problems.push({
      kind: "disk_full",
      severity: isFull ? "error" : "warning",
      title: isFull ? "The disk is full" : "The disk is nearly full",
      detail:
        `${Math.floor(freeBytes / 1_048_576).toLocaleString("en")} MiB are free where the data is. ` +
        "A full disk refuses posts and changes until it has room; reads go on.",
    })
  }
  return problems
}

function linkProblems(link: LinkState, nowMs: number): OverviewProblem[] {
  const { appId, webhookId, tally, oldestUndeliveredAtMs } = link
  const missed = tally?.missed ?? 0
  const deadLetters = tally?.deadLetters ?? 0
  const at = ofLink(appId, webhookId)
  const lag = Math.max(0, link.head - link.position)
  const problems: OverviewProblem[] = []
  if (!link.valid) {
    problems.push({
      kind: "webhook_invalid",
      severity: "error",
      title: "A linked webhook is invalid",
      detail:
        `Nothing is delivered to it${link.invalidReason === undefined ? "" : `: it ${link.invalidReason}`}. ` +
        `${count(lag, "match waits", "matches wait")}. Mend the endpoint, then challenge it again.`,
      ...at,
    })
  } else if (link.isDown) {
    problems.push({
      kind: "endpoint_down",
      severity: "error",
      title: "An endpoint is down",
      detail: `Its deliveries fail in a row; one match probes it. ${count(lag, "match waits", "matches wait")}.`,
      ...(link.failingSinceMs !== undefined && { since: instant(link.failingSinceMs) }),
      ...at,
    })
  } else if (oldestUndeliveredAtMs !== undefined && nowMs - oldestUndeliveredAtMs > laggingMsMin) {
    problems.push({
      kind: "lagging",
      severity: "warning",
      title: "A link lags behind",
      detail: `${count(lag, "match is", "matches are")} not delivered yet. The endpoint is slow, or some matches fail.`,
      since: instant(oldestUndeliveredAtMs),
      ...at,
    })
  }
  if (missed > 0) {
    problems.push({
      kind: "gaps",
      severity: "warning",
      title: "Matches were deleted before they were delivered",
      detail: `Retention took ${count(missed, "match", "matches")} that the link had not read.`,
      ...at,
    })
  }
  if (deadLetters > 0) {
    problems.push({
      kind: "dead_letters",
      severity: "warning",
      title: "Matches were given up",
      detail: `${count(deadLetters, "dead letter is", "dead letters are")} kept. Send them again once the endpoint takes them.`,
      ...at,
    })
  }
  return problems
}

function ofLink(appId: AppId, webhookId: WebhookId) {
  return { application_id: appId, webhook_id: webhookId, console_path: `/webhooks/${webhookId}` }
}

function count(number: number, one: string, many: string): string {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`
}
