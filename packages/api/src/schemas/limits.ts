/** Usage, as X shows it, and the limits of an app, which are ours: X has a portal for them. */
import { Type, type Static } from "typebox"
import { usageFields } from "../fields.ts"
import { limitedEndpoints, limitProfiles, usageDays, type LimitedEndpoint } from "../limits.ts"
import { exactly, Errors, Id, listOf, queryOf } from "./common.ts"

/** Query of `GET /2/usage/tweets`. */
export const UsageQuery = queryOf({
  days: Type.Optional(Type.Integer({ minimum: usageDays.min, maximum: usageDays.max, default: usageDays.default })),
  "usage.fields": listOf(usageFields),
})
export type UsageQuery = Static<typeof UsageQuery>

const dailyUsage = Type.Array(
  Type.Object({
    date: Type.String({ format: "date-time", description: "The beginning of the day, in UTC." }),
    usage: Type.String({ description: "Number of posts, as text." }),
  }),
  { description: "The days on which the app got posts, oldest first." },
)

/** Usage: the members that `usage.fields` names. An app is its own project. */
export const UsageBody = Type.Object({
  data: Type.Object({
    cap_reset_day: Type.Optional(
      Type.Integer({ description: "Day of the month on which the month of the cap begins." }),
    ),
    daily_client_app_usage: Type.Optional(
      Type.Array(
        Type.Object({
          client_app_id: Id,
          usage: Type.Optional(dailyUsage),
          usage_result_count: Type.Integer({ description: "Number of days in `usage`." }),
        }),
      ),
    ),
    daily_project_usage: Type.Optional(Type.Object({ project_id: Id, usage: Type.Optional(dailyUsage) })),
    project_cap: Type.Optional(Type.String({ description: "Most posts in a month, as text; absent without a cap." })),
    project_id: Type.Optional(Id),
    project_usage: Type.Optional(Type.String({ description: "Posts of this month, as text." })),
  }),
  errors: Errors,
})
export type UsageBody = Static<typeof UsageBody>

/** Greatest figure of a limit. Ours. */
const figureMax = 1_000_000_000

const bound = (description: string, minimum = 1) =>
  Type.Optional(Type.Integer({ minimum, maximum: figureMax, description }))

const requestFigures = exactly({
  app: bound("Most requests of the app in a window; 0: no bound.", 0),
  user: bound("Most requests of one of its users in a window; 0: no bound.", 0),
})

const requests = exactly(
  Object.fromEntries(limitedEndpoints.map((name) => [name, Type.Optional(requestFigures)])) as {
    readonly [Endpoint in LimitedEndpoint]: ReturnType<typeof Type.Optional<typeof requestFigures>>
  },
)

/** The limits that an operator has set for one app, in place of the server's. */
export const OwnLimits = exactly({
  requests: Type.Optional(requests),
  rules: bound("Most rules."),
  rule_characters: bound("Most characters of a rule."),
  connections: bound("Most stream connections."),
  posts_per_second: bound("Most posts a second on a stream connection; 0: no bound.", 0),
  posts_per_month: bound("Most posts in a month, as usage counts them; 0: no bound.", 0),
  has_credits: Type.Optional(
    Type.Boolean({ description: "False: requests get 402, as on X when the credit is gone." }),
  ),
  compliance_streams: Type.Optional(
    Type.Boolean({ description: "True: the app may read the compliance streams, which say what was deleted." }),
  ),
})
export type OwnLimits = Static<typeof OwnLimits>

const shown = (description: string) => Type.Optional(Type.Integer({ description }))

/** The limits of an app: those that hold, and of these what was set for it. */
export const AppLimitsBody = Type.Object({
  data: Type.Object({
    application_id: Id,
    profile: Type.String({ enum: [...limitProfiles], description: "The server's." }),
    own: OwnLimits,
    requests: Type.Array(
      Type.Object({
        endpoint: Type.String(),
        per: Type.String({ enum: ["app", "user"] }),
        limit: Type.Integer(),
        window_seconds: Type.Integer(),
      }),
      { description: "Windows of endpoints; those without a bound are left out." },
    ),
    rules: Type.Integer(),
    rule_characters: Type.Integer(),
    connections: Type.Integer(),
    posts_per_second: shown("Absent: no bound."),
    posts_per_month: shown("Absent: no bound."),
    cap_reset_day: Type.Integer(),
    has_credits: Type.Boolean(),
    compliance_streams: Type.Boolean(),
  }),
})
export type AppLimitsBody = Static<typeof AppLimitsBody>
