/** The overview as API body: activity in numbers, problems in sentences. */
import type { OverviewBody, OverviewProblem } from "@sluice/api"
import type { ActivitySeries } from "../../control/activity.ts"
import type { FoundProblem } from "../../control/problems/find-problems.ts"
import type { Overview } from "../../control/problems/overview.ts"
import type { AppId } from "../../model/ids.ts"
import { instant } from "../../model/date-time.ts"
import { presentLinkProblem } from "./link-problems.ts"

/** Activity, counts and problems. */
export function presentOverview(overview: Overview): OverviewBody {
  const { activity, counts, hasPosts, problems, problemCount, appNames } = overview
  return {
    data: {
      activity: presentActivity(activity),
      counts: { ...counts, has_posts: hasPosts },
      problems: problems.map((problem) => named(presentProblem(problem), appNames)),
      problem_count: problemCount,
    },
  }
}

/** A problem in sentences, with the page of the console where it can be solved. */
export function presentProblem(problem: FoundProblem): OverviewProblem {
  return { kind: problem.kind, severity: problem.severity, ...sentences(problem) }
}

function sentences(problem: FoundProblem): Omit<OverviewProblem, "kind" | "severity"> {
  switch (problem.kind) {
    case "not_ready":
      return { title: "The server is not ready", detail: problem.reason }
    case "disk_full":
      return {
        title: problem.severity === "error" ? "The disk is full" : "The disk is nearly full",
        detail:
          `${Math.floor(problem.freeBytes / 1_048_576).toLocaleString("en")} MiB are free where the data is. ` +
          "A full disk refuses posts and changes until it has room; reads go on.",
      }
    case "clock_ahead": {
      const { nowMs, aheadMs } = problem
      return {
        title: "The clock has jumped ahead",
        detail:
          `The clock says ${instant(nowMs)}; retention goes on from the time before, ${instant(nowMs - aheadMs)}, ` +
          "until the clock has been steady for long enough. If the clock is right, there is nothing to do.",
      }
    }
    case "rules_skipped":
      return {
        title: "Rules were skipped",
        detail:
          "In the last hour posts were not compared with all rules of the app: they cost more steps than a post has.",
        application_id: problem.appId,
        console_path: "/rules",
      }
    default:
      return presentLinkProblem(problem)
  }
}

function named(problem: OverviewProblem, appNames: Overview["appNames"]): OverviewProblem {
  const name = appNames.get(problem.application_id as AppId)
  return name === undefined ? problem : { ...problem, application_name: name }
}

function presentActivity(series: ActivitySeries): OverviewBody["data"]["activity"] {
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
