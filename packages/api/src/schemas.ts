/**
 * Bodies of the dialect as JSON Schema, each with the type that it describes. Fastify compiles them to
 * validation and serialisation, and `/openapi.json` shows them: one source for all three.
 */
import { Type, type Static } from "typebox"

/** Ids of everything: a snowflake, digits as X writes them. */
export const Id = Type.String({ pattern: "^[0-9]{1,19}$", description: "Decimal digits, 1 to 19." })

const Instant = Type.String({
  format: "date-time",
  description: "RFC 3339 in UTC with milliseconds and Z.",
})

/** An error, in the `errors` of a body and at the top level of a 4xx or 5xx one. */
export const ErrorBody = Type.Object(
  {
    title: Type.String(),
    type: Type.String(),
    detail: Type.String(),
    status: Type.Integer(),
  },
  { additionalProperties: true },
)

const Errors = Type.Optional(Type.Array(ErrorBody))

/** An answer of status 4xx or 5xx: the error, and the same in `errors`. */
export const ProblemBody = Type.Object(
  { ...ErrorBody.properties, errors: Type.Array(ErrorBody) },
  { additionalProperties: true },
)

/** Pagination meta of a list. */
export const PageMeta = Type.Object({
  result_count: Type.Integer(),
  newest_id: Type.Optional(Type.String()),
  oldest_id: Type.Optional(Type.String()),
  next_token: Type.Optional(Type.String()),
  previous_token: Type.Optional(Type.String()),
})
export type PageMeta = Static<typeof PageMeta>

/** A webhook link of an app's filtered stream. */
export const Link = Type.Object({
  application_id: Id,
  business_user_id: Id,
  created_at: Instant,
  fields: Type.Array(Type.String()),
  instance_id: Id,
  webhook_id: Id,
})
export type Link = Static<typeof Link>

export const LinksBody = Type.Object({
  data: Type.Object({ links: Type.Array(Link) }),
  meta: Type.Optional(PageMeta),
})

export const ProvisionedBody = Type.Object({ data: Type.Object({ provisioned: Type.Boolean() }) })
export const DeletedBody = Type.Object({ data: Type.Object({ deleted: Type.Boolean() }) })

/** A webhook of an app. */
export const Webhook = Type.Object({
  created_at: Instant,
  id: Id,
  url: Type.String(),
  valid: Type.Boolean(),
})
export type Webhook = Static<typeof Webhook>

export const CreateWebhookBody = Type.Object({ url: Type.String() }, { additionalProperties: false })
export const WebhookBody = Type.Object({ data: Webhook })
export const WebhookValidBody = Type.Object({ data: Type.Object({ valid: Type.Boolean() }) })
export const WebhooksBody = Type.Object({
  data: Type.Array(Webhook),
  meta: Type.Object({ result_count: Type.Integer() }),
})

/** A rule of an app. */
export const Rule = Type.Object({
  id: Id,
  value: Type.String(),
  tag: Type.Optional(Type.String()),
})
export type Rule = Static<typeof Rule>

export const RulesBody = Type.Object({
  data: Type.Optional(Type.Array(Rule)),
  meta: Type.Object({
    sent: Instant,
    result_count: Type.Integer(),
    next_token: Type.Optional(Type.String()),
    previous_token: Type.Optional(Type.String()),
  }),
  errors: Errors,
})

/** Body of `POST …/rules`: exactly one of `add` and `delete`. */
export const ChangeRulesBody = Type.Object(
  {
    add: Type.Optional(
      Type.Array(
        Type.Object(
          { value: Type.String(), tag: Type.Optional(Type.String()) },
          { additionalProperties: false },
        ),
        { minItems: 1 },
      ),
    ),
    delete: Type.Optional(
      Type.Object(
        { ids: Type.Optional(Type.Array(Id)), values: Type.Optional(Type.Array(Type.String())) },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
)
export type ChangeRulesBody = Static<typeof ChangeRulesBody>

export const RulesChangedBody = Type.Object({
  data: Type.Optional(Type.Array(Rule)),
  meta: Type.Object({
    sent: Instant,
    summary: Type.Record(Type.String(), Type.Integer()),
  }),
  errors: Errors,
})

export const RuleCountsBody = Type.Object({
  data: Type.Object({
    all_project_client_apps: Type.Array(Type.Object({ client_app_id: Id, rule_count: Type.Integer() })),
    cap_per_client_app: Type.String(),
    cap_per_project: Type.String(),
    client_app_rules_count: Type.Object({ client_app_id: Id, rule_count: Type.Integer() }),
    project_rules_count: Type.String(),
  }),
})

/** A page of posts. `data` is spliced from stored bytes, so its items are not checked on the way out. */
export const PostsBody = Type.Object({
  data: Type.Optional(
    Type.Array(Type.Object({ id: Id, text: Type.String() }, { additionalProperties: true })),
  ),
  includes: Type.Optional(Type.Object({}, { additionalProperties: true })),
  meta: Type.Optional(PageMeta),
  errors: Errors,
})

export const TokenBody = Type.Object({ token_type: Type.String(), access_token: Type.String() })

/** Answer of `POST /sluice/v1/posts`. `rejected` holds the first hundred. */
export const IngestedBody = Type.Object({
  accepted: Type.Integer(),
  duplicates: Type.Integer(),
  rejected: Type.Array(
    Type.Object({ line: Type.Integer(), title: Type.String(), detail: Type.String() }),
  ),
  rejected_count: Type.Integer(),
})
export type IngestedBody = Static<typeof IngestedBody>

/** State of a link's delivery, for its owner to watch. Positions count matches of the app from 1. */
export const LinkState = Type.Object({
  webhook_id: Id,
  application_id: Id,
  valid: Type.Boolean(),
  position: Type.Integer({ description: "Everything up to here is delivered." }),
  head: Type.Integer({ description: "Position of the newest match." }),
  lag: Type.Integer({ description: "head - position" }),
  in_flight: Type.Integer(),
  oldest_undelivered_at: Type.Optional(Instant),
  failing_since: Type.Optional(Instant),
  next_attempt_at: Type.Optional(Instant),
  delivered: Type.Integer({ description: "Deliveries since this process started." }),
  failed: Type.Integer({ description: "Failed attempts since this process started." }),
})
export type LinkState = Static<typeof LinkState>

export const LinkStatesBody = Type.Object({ data: Type.Array(LinkState) })
