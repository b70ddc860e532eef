/** What is wrong now, in sentences, each with the page of the console where it can be mended. */
import type { OverviewProblem } from "@sluice/api"
import { instant } from "../../model/date-time.ts"
import type { AppId } from "../../model/ids.ts"
import { linkProblems, type LinkFacts, type UnlinkedInvalid } from "./link-problems.ts"

/** Most problems that an overview lists. The list is for people. */
export const problemsMax = 100

/** Free room below which the disk counts as nearly full, and as full: then nothing can be written. Ours. */
const freeBytesLow = 1_073_741_824
const freeBytesNone = 52_428_800

/** What an overview is made of. */
export interface OverviewFacts {
  readonly nowMs: number
  readonly links: readonly LinkFacts[]
  /** Invalid webhooks without a link, which no link shows. */
  readonly unlinkedInvalid: readonly UnlinkedInvalid[]
  /** Names of apps. */
  readonly appNames: ReadonlyMap<AppId, string>
  /** Apps of which rules were skipped within the last hour. */
  readonly skippingApps: readonly AppId[]
  /** Why the server is not ready. */
  readonly notReady: string | undefined
  /** Room on the data directory's disk; absent when it is not known, or is none of the caller's business. */
  readonly freeBytes: number | undefined
  /** How far the clock is ahead of the time by which retention deletes; 0 when retention goes by it. */
  readonly clockAheadMs: number
}

/** All of them, errors first, and how many there are beyond those listed. */
export function overviewProblems(facts: OverviewFacts): {
  readonly problems: OverviewProblem[]
  readonly problemCount: number
} {
  const found = [
    ...serverProblems(facts),
    ...linkProblems(facts.links, facts.unlinkedInvalid, facts.nowMs),
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
  const problems = sorted.slice(0, problemsMax).map((problem) => {
    const name = facts.appNames.get(problem.application_id as AppId)
    return name === undefined ? problem : { ...problem, application_name: name }
  })
  return { problems, problemCount: found.length }
}

function serverProblems({ notReady, freeBytes, clockAheadMs, nowMs }: OverviewFacts): OverviewProblem[] {
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
  if (clockAheadMs > 0) {
    problems.push({
      kind: "clock_ahead",
      severity: "warning",
      title: "The clock has jumped ahead",
      detail:
        `The clock says ${instant(nowMs)}; retention goes on from the time before, ${instant(nowMs - clockAheadMs)}, ` +
        "until the clock has been steady for long enough. If it is right, nothing has to be done.",
    })
  }
  return problems
}
