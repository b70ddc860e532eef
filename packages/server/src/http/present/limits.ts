/** Usage and limits of an app as response bodies. */
import { usageFields, type AppLimitsBody, type OwnLimits, type UsageBody } from "@sluice/api"
import { allRequestWindows, limitsOf, type ServerLimits } from "../../control/limits/app-limits.ts"
import { beginOfDay, type AppUsage } from "../../control/limits/usage.ts"
import type { App } from "../../model/app.ts"
import { instant } from "../../model/date-time.ts"

type UsageField = (typeof usageFields)[number]

/** The fields that X shows without `usage.fields`. Source: docs.x.com, "Usage", of 2023. */
const defaultUsageFields: readonly UsageField[] = ["cap_reset_day", "project_cap", "project_id", "project_usage"]

/** Usage: an app is its own project. Numbers are text, but for the day and the number of days, as X has them. */
export function presentUsage(
  { days, month }: AppUsage,
  app: Pick<App, "id" | "limits">,
  {
    limits,
    fields = defaultUsageFields,
  }: { readonly limits: ServerLimits; readonly fields?: readonly UsageField[] | undefined },
): UsageBody {
  const { postsPerMonthMax, capResetDay } = limitsOf(limits, app)
  const usage = days.map(({ day, posts }) => ({ date: instant(beginOfDay(day)), usage: String(posts) }))
  const counted = usage.length === 0 ? {} : { usage }
  const all: Required<UsageBody["data"]> = {
    cap_reset_day: capResetDay,
    daily_client_app_usage: [{ client_app_id: app.id, ...counted, usage_result_count: usage.length }],
    daily_project_usage: { project_id: app.id, ...counted },
    project_cap: String(postsPerMonthMax ?? ""),
    project_id: app.id,
    project_usage: String(month),
  }
  const shown = usageFields.filter((name) => fields.includes(name) && all[name] !== "")
  return { data: Object.fromEntries(shown.map((name) => [name, all[name]])) }
}

/** The limits of an app. */
export function presentLimits(app: Pick<App, "id" | "limits">, limits: ServerLimits): AppLimitsBody {
  const {
    rulesMax,
    ruleCharactersMax,
    connectionsMax,
    postsPerSecondMax,
    postsPerMonthMax,
    capResetDay,
    hasCredits,
    hasComplianceStreams,
  } = limitsOf(limits, app)
  const own: OwnLimits = app.limits ?? {}
  return {
    data: {
      application_id: app.id,
      profile: limits.profile,
      own,
      requests: allRequestWindows(limits, app).map(({ endpoint, per, max, windowMs }) => ({
        endpoint,
        per,
        limit: max,
        window_seconds: windowMs / 1000,
      })),
      rules: rulesMax,
      rule_characters: ruleCharactersMax,
      connections: connectionsMax,
      ...(postsPerSecondMax !== undefined && { posts_per_second: postsPerSecondMax }),
      ...(postsPerMonthMax !== undefined && { posts_per_month: postsPerMonthMax }),
      cap_reset_day: capResetDay,
      has_credits: hasCredits,
      compliance_streams: hasComplianceStreams,
    },
  }
}
