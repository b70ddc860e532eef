/** The overview: activity and problems. Ours: X has none. */
import { Type, type Static } from "typebox"
import { Id, Instant } from "./common.ts"

const rates = Type.Array(Type.Number({ minimum: 0 }))

/** Kinds of problems. */
const problemKinds = [
  "not_ready",
  "disk_full",
  "clock_ahead",
  "endpoint_down",
  "webhook_invalid",
  "gaps",
  "dead_letters",
  "lagging",
  "rules_skipped",
  "paused",
] as const

/** A present problem. */
export const OverviewProblem = Type.Object({
  kind: Type.String({ enum: [...problemKinds] }),
  severity: Type.String({
    enum: ["error", "warning", "info"],
    description: "`info`: nothing is wrong, such as a link that its app has paused.",
  }),
  title: Type.String(),
  detail: Type.String(),
  application_id: Type.Optional(Id),
  application_name: Type.Optional(Type.String()),
  webhook_id: Type.Optional(Id),
  webhook_count: Type.Optional(
    Type.Integer({ description: "Number of webhooks at one host that have this problem, if several have it." }),
  ),
  since: Type.Optional(Type.String({ format: "date-time" })),
  console_path: Type.Optional(
    Type.String({ description: "Page of the console, below /console, that shows the problem." }),
  ),
})
export type OverviewProblem = Static<typeof OverviewProblem>

/** Activity and problems of a server, for one app or for all. */
export const OverviewBody = Type.Object({
  data: Type.Object({
    activity: Type.Object(
      {
        step_seconds: Type.Integer(),
        until: Instant,
        posts_per_second: rates,
        matches_per_second: rates,
        deliveries_per_second: rates,
        failures_per_second: rates,
        lag: rates,
        oldest_undelivered_seconds: rates,
      },
      {
        description:
          "Values for each step of up to an hour, oldest first; the last step ended at `until`. Posts count for all apps.",
      },
    ),
    counts: Type.Object({
      apps: Type.Optional(Type.Integer()),
      rules: Type.Integer(),
      webhooks: Type.Integer(),
      links: Type.Integer(),
      has_posts: Type.Boolean(),
    }),
    problems: Type.Array(OverviewProblem, {
      description: "Present problems, errors first, then warnings; at most a hundred.",
    }),
    problem_count: Type.Integer(),
  }),
})
export type OverviewBody = Static<typeof OverviewBody>
