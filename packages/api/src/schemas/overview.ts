/** The overview: what happens, and what is wrong now. Ours: X has none. */
import { Type, type Static } from "typebox"
import { Id, Instant } from "./common.ts"

const rates = Type.Array(Type.Number({ minimum: 0 }))

/** Kinds of what can be wrong. */
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
] as const

/** Something that is wrong now. */
export const OverviewProblem = Type.Object({
  kind: Type.String({ enum: [...problemKinds] }),
  severity: Type.String({ enum: ["error", "warning"] }),
  title: Type.String(),
  detail: Type.String(),
  application_id: Type.Optional(Id),
  application_name: Type.Optional(Type.String()),
  webhook_id: Type.Optional(Id),
  webhook_count: Type.Optional(
    Type.Integer({ description: "How many webhooks of one host have the same problem, when there are several." }),
  ),
  since: Type.Optional(Type.String({ format: "date-time" })),
  console_path: Type.Optional(
    Type.String({ description: "The page of the console, below /console, where it can be mended." }),
  ),
})
export type OverviewProblem = Static<typeof OverviewProblem>

/** What happens on a server, for one app or for all. */
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
          "Steps of at most an hour, the oldest first; the last one ended at `until`. Posts are of all apps.",
      },
    ),
    counts: Type.Object({
      apps: Type.Optional(Type.Integer()),
      rules: Type.Integer(),
      webhooks: Type.Integer(),
      links: Type.Integer(),
      has_posts: Type.Boolean(),
    }),
    problems: Type.Array(OverviewProblem, { description: "What is wrong now, errors first; at most a hundred." }),
    problem_count: Type.Integer(),
  }),
})
export type OverviewBody = Static<typeof OverviewBody>
