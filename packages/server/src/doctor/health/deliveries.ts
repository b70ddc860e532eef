/** Undelivered matches of links. */
import { deletedSoon, isLagging, type ProblemTimes } from "../../control/problems/link-problems.ts"
import { instant } from "../../model/date-time.ts"
import type { MatchSeq } from "../../model/ids.ts"
import type { GapMarker, LinkTally, Retry } from "../../model/link.ts"
import { counted, good, warning, type Finding } from "../finding.ts"
import { duration } from "./quantities.ts"

/** Adds a warning. */
type Warn = (text: string, advice: string) => void

/** The delivery status of a link. */
export interface LinkStanding {
  readonly tally: LinkTally
  readonly head: MatchSeq
  /** Since when its app has paused it. */
  readonly pausedAtMs?: number | undefined
  /** Oldest first. */
  readonly gaps: readonly GapMarker[]
  readonly retries: readonly Retry[]
  /** When the oldest match was appended that is retried or ahead of the cursor; absent when there is none. */
  readonly oldestAtMs?: number
}

/** Gap markers that are named one by one. */
const namedGapsMax = 3

/** Findings about the undelivered matches of links, of apps that are not revoked. */
export function deliveryFindings(
  links: readonly LinkStanding[],
  { deadLetterRetentionDays, ...times }: ProblemTimes & { readonly deadLetterRetentionDays: number },
): readonly Finding[] {
  const found: Finding[] = []
  const warn: Warn = (text, advice) => void found.push(warning("deliveries", text, advice))
  const delivering = links.filter(({ pausedAtMs }) => pausedAtMs === undefined)
  for (const link of links) {
    if (link.pausedAtMs === undefined) warnOfLag(link, times.nowMs, warn)
    else warnOfRetention(link, times, warn)
    warnOfDeadLetters(link, deadLetterRetentionDays, warn)
    warnOfGaps(link, warn)
  }
  const paused = links.flatMap(pausedNote)
  if (found.length > 0 || (links.length > 0 && delivering.length === 0)) return [...paused, ...found]
  return [
    ...paused,
    good(
      "deliveries",
      links.length === 0
        ? "There are no links, so nothing is to be delivered."
        : `${counted(delivering.length, "link")}: nothing waits, nothing is given up, nothing was missed.`,
    ),
  ]
}

/** Information, not a warning: the app has asked for it. */
function pausedNote({ tally, head, pausedAtMs }: LinkStanding): readonly Finding[] {
  if (pausedAtMs === undefined) return []
  const waiting = head - tally.position + tally.retries
  return [
    good(
      "deliveries",
      `The link to webhook ${tally.webhookId} is paused since ${instant(pausedAtMs)}: ` +
        `${counted(waiting, "match waits", "matches wait")}.`,
    ),
  ]
}

/** A paused link waits for its app, and retention does not. */
function warnOfRetention({ tally, oldestAtMs }: LinkStanding, times: ProblemTimes, warn: Warn): void {
  const deletedFromMs = deletedSoon(oldestAtMs, times)
  if (deletedFromMs === undefined) return
  warn(
    `Retention deletes the matches of the paused link to webhook ${tally.webhookId} from ${instant(deletedFromMs)} on.`,
    `Send them: sluice links resume ${tally.webhookId}; undeliveredRetentionHours says how long matches wait.`,
  )
}

function warnOfLag({ tally, head, retries, oldestAtMs }: LinkStanding, nowMs: number, warn: Warn): void {
  const lag = head - tally.position
  const failing = retries.filter(({ failures }) => failures > 0)
  if (lag > 0 && oldestAtMs !== undefined && isLagging(oldestAtMs, nowMs)) {
    warn(
      `The link to webhook ${tally.webhookId} is ${counted(lag, "match", "matches")} behind.` +
        ` The oldest that is not delivered has waited for ${duration(nowMs - oldestAtMs)}.`,
      "Is the server running? `sluice links status` shows why, " +
        `\`sluice links attempts ${tally.webhookId}\` the endpoint's responses.`,
    )
  }
  if (failing.length > 0) {
    const most = failing.reduce((max, { failures }) => Math.max(max, failures), 0)
    warn(
      `${counted(failing.length, "match", "matches")} of webhook ${tally.webhookId} failed and ` +
        `${failing.length === 1 ? "is" : "are"} tried again; at most ${counted(most, "failure")} so far.`,
      `\`sluice links attempts ${tally.webhookId}\` shows what went wrong.`,
    )
  }
}

function warnOfDeadLetters({ tally }: LinkStanding, retentionDays: number, warn: Warn): void {
  const { webhookId, deadLetters, expired } = tally
  if (deadLetters > 0) {
    warn(
      `${counted(deadLetters, "dead letter")} of webhook ${webhookId}.`,
      `See them: sluice dead-letters list --webhook ${webhookId}; ` +
        `send them again: sluice dead-letters redeliver --all --webhook ${webhookId}`,
    )
  }
  if (expired > 0) {
    warn(
      `${counted(expired, "dead letter")} of webhook ${webhookId} ${expired === 1 ? "was" : "were"} never sent again ` +
        `and ${expired === 1 ? "is" : "are"} gone.`,
      `deadLetterRetentionDays, now ${retentionDays}, says how long they are kept.`,
    )
  }
}

function warnOfGaps({ tally, gaps }: LinkStanding, warn: Warn): void {
  if (tally.missed === 0) return
  const named = gaps.slice(-namedGapsMax).map(({ from, to }) => (from === to ? `${from}` : `${from} to ${to}`))
  const more = gaps.length > named.length ? `, and ${gaps.length - named.length} gaps before` : ""
  warn(
    `Retention took ${counted(tally.missed, "match", "matches")} of webhook ${tally.webhookId} ` +
      `before they were sent: ${named.join(", ")}${more}.`,
    "They cannot be sent any more. undeliveredRetentionHours says how long matches wait for an endpoint.",
  )
}
