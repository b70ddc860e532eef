/** Finds problems in what was read. */
import type { AppId } from "../../model/ids.ts"
import { diskFill, type DiskRoom } from "./disk-room.ts"
import {
  linkProblems,
  type LinkFacts,
  type LinkProblem,
  type ProblemTimes,
  type UnlinkedInvalid,
} from "./link-problems.ts"

/** Most problems that are listed. The list is for people. */
export const problemsMax = 100

/** The order in which they are listed. */
const severities: readonly FoundProblem["severity"][] = ["error", "warning", "info"]

/** A present problem. */
export type FoundProblem =
  | LinkProblem
  | { readonly kind: "not_ready"; readonly severity: "error"; readonly reason: string }
  | { readonly kind: "disk_full"; readonly severity: "error" | "warning"; readonly freeBytes: number }
  | { readonly kind: "clock_ahead"; readonly severity: "warning"; readonly nowMs: number; readonly aheadMs: number }
  | { readonly kind: "rules_skipped"; readonly severity: "warning"; readonly appId: AppId }

/** The facts in which problems are found. */
export interface ProblemFacts extends ProblemTimes {
  readonly links: readonly LinkFacts[]
  /** Invalid webhooks without a link, which no link shows. */
  readonly unlinkedInvalid: readonly UnlinkedInvalid[]
  /** Apps whose rules were skipped within the last hour. */
  readonly skippingApps: readonly AppId[]
  /** Why the server is not ready. */
  readonly notReady: string | undefined
  /** The data directory's disk; absent when it is not known, or the caller may not know it. */
  readonly disk: DiskRoom | undefined
  /** Milliseconds by which the clock is ahead of retention's time; 0 when retention goes by the clock. */
  readonly clockAheadMs: number
}

/** The problems, errors first, and how many there are in all: more may be found than are listed. */
export function findProblems(facts: ProblemFacts): {
  readonly problems: readonly FoundProblem[]
  readonly problemCount: number
} {
  const found: readonly FoundProblem[] = [
    ...serverProblems(facts),
    ...linkProblems(facts.links, facts.unlinkedInvalid, facts),
    ...facts.skippingApps.map((appId) => ({ kind: "rules_skipped", severity: "warning", appId }) as const),
  ]
  const sorted = found.toSorted((a, b) => severities.indexOf(a.severity) - severities.indexOf(b.severity))
  return { problems: sorted.slice(0, problemsMax), problemCount: found.length }
}

function serverProblems({ notReady, disk, clockAheadMs: aheadMs, nowMs }: ProblemFacts): readonly FoundProblem[] {
  const problems: FoundProblem[] = []
  if (notReady !== undefined) problems.push({ kind: "not_ready", severity: "error", reason: notReady })
  const fill = disk === undefined ? "roomy" : diskFill(disk)
  if (disk !== undefined && fill !== "roomy") {
    const { freeBytes } = disk
    problems.push({ kind: "disk_full", severity: fill === "full" ? "error" : "warning", freeBytes })
  }
  if (aheadMs > 0) problems.push({ kind: "clock_ahead", severity: "warning", nowMs, aheadMs })
  return problems
}
