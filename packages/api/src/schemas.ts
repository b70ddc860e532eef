/**
 * Bodies of the dialect as JSON Schema, each with the type that it describes. Fastify compiles them to
 * validation and serialisation, and `/openapi.json` shows them: one source for all three.
 */
import { Type, type Static } from "typebox"
import {
  expansionAliases,
  expansions,
  mediaFields,
  placeFields,
  pollFields,
  postFieldAliases,
  postFields,
  userFields,
} from "./fields.ts"
import { attemptOutcomes } from "./attempts.ts"
import { backfillMinutesMax, pageSizes } from "./limits.ts"

/** Page sizes of lists that X does not have. */
export const ownPageSizes = {
  attempts: { min: 1, max: 1000, default: 100 },
  deadLetters: { min: 1, max: 100, default: 100 },
} as const

/** What an id looks like. Source: X's OpenAPI document 2.167. */
export const idPattern = "^[0-9]{1,19}$"

/** Ids of everything: a snowflake, digits as X writes them. */
export const Id = Type.String({ pattern: idPattern, description: "Decimal digits, 1 to 19." })

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
/** The key under which a webhook's Standard Webhooks signature is made, as that standard writes it. */
export const SigningKeyBody = Type.Object({
  data: Type.Object({
    signing_key: Type.String({ pattern: "^whsec_" }),
    previous_valid_until: Type.Optional(
      Type.String({
        format: "date-time",
        description: "Until then deliveries are signed under the key before as well.",
      }),
    ),
  }),
})
/** Body of `POST /2/webhooks/replay`. Dates are minutes in UTC, yyyymmddhhmm, and belong to the window. */
export const CreateReplayBody = Type.Object(
  {
    webhook_id: Id,
    from_date: Type.String({ description: "yyyymmddhhmm in UTC, inclusive." }),
    to_date: Type.String({ description: "yyyymmddhhmm in UTC, inclusive." }),
  },
  { additionalProperties: false },
)
export type CreateReplayBody = Static<typeof CreateReplayBody>

export const ReplayCreatedBody = Type.Object({ data: Type.Object({ job_id: Id, created_at: Instant }) })
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
  data: Type.Array(Rule),
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
  { additionalProperties: false, "x-optional": true, description: "Not needed with delete_all." },
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

/** Answer of `POST /sluice/v1/posts`, and of each batch of it. `rejected` holds the first hundred. */
export const IngestedBody = Type.Object({
  lines: Type.Integer({ description: "Lines that this answer is about." }),
  done: Type.Optional(Type.Boolean({ description: "With ack=batch: true on the last line of the answer." })),
  accepted: Type.Integer(),
  duplicates: Type.Integer(),
  rejected: Type.Array(Type.Object({ line: Type.Integer(), title: Type.String(), detail: Type.String() })),
  rejected_count: Type.Integer(),
})
export type IngestedBody = Static<typeof IngestedBody>

/** A stretch of the log that retention took away before a link had read it; both ends belong to it. */
export const GapMarker = Type.Object({ from: Type.Integer(), to: Type.Integer(), at: Instant })

/** State of a link's delivery, for its owner to watch. Positions count matches of the app from 1. */
export const LinkState = Type.Object({
  webhook_id: Id,
  application_id: Id,
  valid: Type.Boolean(),
  invalid_reason: Type.Optional(Type.String({ description: "Why the webhook is not valid." })),
  ordered: Type.Boolean({ description: "Strictly one after the other, in the order of the log." }),
  down: Type.Boolean({ description: "The endpoint is down, as far as deliveries tell; it is probed." }),
  position: Type.Integer({ description: "Everything up to here is delivered, or accounted for." }),
  head: Type.Integer({ description: "Position of the newest match." }),
  lag: Type.Integer({ description: "head - position" }),
  in_flight: Type.Integer(),
  oldest_undelivered_at: Type.Optional(Instant),
  failing_since: Type.Optional(Instant),
  next_attempt_at: Type.Optional(Instant),
  delivered: Type.Integer({ description: "Deliveries since this process started." }),
  failed: Type.Integer({ description: "Failed attempts since this process started." }),
  total: Type.Object(
    {
      delivered: Type.Integer(),
      retrying: Type.Integer(),
      dead_letters: Type.Integer(),
      expired: Type.Integer({ description: "Dead letters that were kept for their time and are gone." }),
      missed: Type.Integer({ description: "Matches within gaps." }),
    },
    { description: "Where the link's matches went, since it was made." },
  ),
  gaps: Type.Array(GapMarker, {
    description:
      "What retention took away before it was read, oldest first: the newest 100. `total.missed` counts all.",
  }),
})
export type LinkState = Static<typeof LinkState>

export const LinkStatesBody = Type.Object({ data: Type.Array(LinkState) })
export const LinkStateBody = Type.Object({ data: LinkState })

/** Body of `PATCH /sluice/v1/links/:webhook_id`. */
export const ChangeLinkBody = Type.Object({ ordered: Type.Boolean() }, { additionalProperties: false })

/** How an attempt that is not a delivery ended, and whose fault that was. */
const failing = {
  outcome: Type.String({ enum: [...attemptOutcomes] }),
  fault: Type.Optional(Type.String({ enum: ["endpoint", "server"] })),
  status: Type.Optional(Type.Integer({ description: "Of the answer, when one came." })),
  error: Type.Optional(Type.String({ description: "What went wrong, in words." })),
}

/** An attempt to deliver. */
export const LinkAttempt = Type.Object({
  at: Instant,
  duration_ms: Type.Integer(),
  ...failing,
  event_id: Type.String({ description: "The `webhook-id` that was sent." }),
  bytes: Type.Integer({ description: "Of the body that was sent." }),
})
export type LinkAttempt = Static<typeof LinkAttempt>

export const LinkAttemptsBody = Type.Object({
  data: Type.Array(LinkAttempt, { description: "Newest first." }),
  meta: Type.Object({ result_count: Type.Integer() }),
})

/** A match that was given up, until it is sent again or has been kept for its time. */
export const DeadLetter = Type.Object({
  id: Id,
  webhook_id: Id,
  application_id: Id,
  event_id: Type.String(),
  post_id: Id,
  failures: Type.Integer({ description: "Attempts that have failed." }),
  ...failing,
  matched_at: Instant,
  died_at: Instant,
})
export type DeadLetter = Static<typeof DeadLetter>

export const DeadLettersBody = Type.Object({ data: Type.Array(DeadLetter), meta: PageMeta })

/** Body of `POST /sluice/v1/dead-letters/redeliver`: either `ids`, or `all` with or without bounds. */
export const RedeliverBody = Type.Object(
  {
    ids: Type.Optional(Type.Array(Id, { minItems: 1, maxItems: 1000 })),
    all: Type.Optional(Type.Boolean({ description: "Only true means anything." })),
    webhook_id: Type.Optional(Id),
    since: Type.Optional(
      Type.String({ format: "date-time", description: "Only those that died then or later. RFC 3339." }),
    ),
  },
  { additionalProperties: false },
)
export type RedeliverBody = Static<typeof RedeliverBody>

export const RedeliveredBody = Type.Object({
  data: Type.Object({
    redelivered: Type.Integer({
      description:
        "How many are on their way again. A link has room for 1,000 retries or 16 MiB of posts, whichever comes " +
        "first, but always for one; a request takes at most 10,000, those that died first of each link. The others " +
        "stay, to be asked for again.",
    }),
  }),
})

/** A replay and how far it has come. Positions count matches of the app from 1. */
export const ReplayState = Type.Object({
  job_id: Id,
  webhook_id: Id,
  application_id: Id,
  from_date: Type.String({ description: "yyyymmddhhmm in UTC, inclusive." }),
  to_date: Type.String({ description: "yyyymmddhhmm in UTC, inclusive." }),
  state: Type.String({ enum: ["running", "complete", "incomplete"] }),
  position: Type.Integer({ description: "Everything up to here was sent or has failed." }),
  end: Type.Integer({ description: "Position of the last match to send." }),
  delivered: Type.Integer(),
  failed: Type.Integer({ description: "Matches that were not delivered, those that are gone included." }),
  created_at: Instant,
  ended_at: Type.Optional(Instant),
})
export type ReplayState = Static<typeof ReplayState>

export const ReplaysBody = Type.Object({
  data: Type.Array(ReplayState, { description: "Newest first." }),
  meta: Type.Object({ result_count: Type.Integer() }),
})

/**
 * Parameters of a query string: lists are comma-separated. `x-ordered` names pairs of which the first must not
 * come after the second.
 */
const query = { additionalProperties: false, style: "form", explode: false } as const

const listOf = (names: readonly string[]) =>
  Type.Optional(
    Type.Array(Type.String({ enum: [...names] }), {
      minItems: 1,
      uniqueItems: true,
      description: "Comma-separated.",
    }),
  )

const postFieldNames = [...postFields, ...Object.keys(postFieldAliases)].toSorted()

/** Which fields and related objects to show, wherever posts are shown. */
const selection = {
  "tweet.fields": listOf(postFieldNames),
  "post.fields": listOf(postFieldNames),
  "user.fields": listOf(userFields),
  "media.fields": listOf(mediaFields),
  "place.fields": listOf(placeFields),
  "poll.fields": listOf(pollFields),
  expansions: listOf([...expansions, ...Object.keys(expansionAliases)].toSorted()),
}

const PaginationToken = Type.Optional(
  Type.String({ minLength: 1, description: "A next_token or previous_token of an earlier answer." }),
)

const pageSize = ({ min, max, default: size }: { min: number; max: number; default: number }) =>
  Type.Optional(Type.Integer({ minimum: min, maximum: max, default: size }))

/** Of routes that take no parameters. */
export const NoQuery = Type.Object({}, query)

export const WebhookParams = Type.Object({ webhook_id: Id }, { additionalProperties: false })
export const UserParams = Type.Object({ id: Id }, { additionalProperties: false })

export const RulesQuery = Type.Object(
  {
    ids: Type.Optional(
      Type.Array(Id, { minItems: 1, maxItems: 1000, description: "Comma-separated. Only these rules." }),
    ),
    max_results: pageSize(pageSizes.rules),
    pagination_token: PaginationToken,
  },
  query,
)

export const ChangeRulesQuery = Type.Object(
  {
    dry_run: Type.Optional(Type.Boolean({ description: "Answer as if it were done, and keep nothing." })),
    delete_all: Type.Optional(Type.Boolean({ description: "Delete every rule of the app." })),
  },
  query,
)

/** Without parameters every link comes in one answer; with any, a page. */
export const LinksQuery = Type.Object(
  {
    max_results: Type.Optional(Type.Integer({ minimum: pageSizes.links.min, maximum: pageSizes.links.max })),
    pagination_token: PaginationToken,
  },
  query,
)

export const AttemptsQuery = Type.Object({ max_results: pageSize(ownPageSizes.attempts) }, query)

export const DeadLettersQuery = Type.Object(
  {
    webhook_id: Type.Optional(Id),
    max_results: pageSize(ownPageSizes.deadLetters),
    pagination_token: PaginationToken,
  },
  query,
)

/** What the deliveries of a link show. */
export const CreateLinkQuery = Type.Object(selection, query)

export const StreamQuery = Type.Object(
  {
    backfill_minutes: Type.Optional(Type.Integer({ minimum: 0, maximum: backfillMinutesMax, default: 0 })),
    start_time: Type.Optional(
      Type.String({
        format: "date-time",
        description:
          "RFC 3339, within the last 24 hours, inclusive. The stream holds the matches made from then on until end_time, and ends.",
      }),
    ),
    end_time: Type.Optional(
      Type.String({
        format: "date-time",
        description: "RFC 3339, exclusive; now without it. Only with start_time.",
      }),
    ),
    ...selection,
  },
  { ...query, "x-ordered": [["start_time", "end_time"]] },
)

export const UserPostsQuery = Type.Object(
  {
    max_results: pageSize(pageSizes.userPosts),
    pagination_token: PaginationToken,
    since_id: Type.Optional(Id),
    until_id: Type.Optional(Id),
    start_time: Type.Optional(Type.String({ format: "date-time", description: "RFC 3339. Inclusive." })),
    end_time: Type.Optional(Type.String({ format: "date-time", description: "RFC 3339. Exclusive." })),
    exclude: listOf(["replies", "retweets"]),
    ...selection,
  },
  {
    ...query,
    "x-ordered": [
      ["since_id", "until_id"],
      ["start_time", "end_time"],
    ],
  },
)

export const IngestQuery = Type.Object(
  {
    ack: Type.Optional(
      Type.String({ enum: ["batch"], description: "One line of answer for each durable batch." }),
    ),
  },
  query,
)

/** Body of `POST /oauth2/token`, as a form. */
export const TokenForm = Type.Object({ grant_type: Type.String({ enum: ["client_credentials"] }) })

/** Body of `POST /sluice/v1/rules/test`: a rule, and either posts of one's own or a number of recent ones. */
export const TestRuleBody = Type.Object(
  {
    value: Type.String(),
    posts: Type.Optional(
      Type.Array(
        Type.Object(
          { data: Type.Object({ id: Id, text: Type.String() }, { additionalProperties: true }) },
          { additionalProperties: true },
        ),
        { maxItems: 1000 },
      ),
    ),
    recent: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
    mode: Type.Optional(
      Type.String({
        enum: ["stream", "search"],
        description: "What the rule is for: the stream (the default), or a search of stored posts.",
      }),
    ),
  },
  { additionalProperties: false },
)
export type TestRuleBody = Static<typeof TestRuleBody>

/** An operator of a rule that held of a post: where, in code points of the text that `where` names, `end` exclusive. */
const Span = Type.Object({
  operator: Type.String(),
  where: Type.String(),
  start: Type.Optional(Type.Integer()),
  end: Type.Optional(Type.Integer()),
})

/** Which posts a rule matches, and why. */
export const RuleTestedBody = Type.Object({
  data: Type.Array(
    Type.Object({
      id: Id,
      spans: Type.Array(Span, { description: "At most 20 of an operator, and 100 of a post." }),
    }),
  ),
  meta: Type.Object({
    tested: Type.Integer(),
    matched: Type.Integer(),
    share: Type.Number({ description: "matched / tested, 0 to 1; 0 when nothing was tested." }),
    estimated_per_day: Type.Optional(
      Type.Number({ description: "Matches a day, if posts come as the recent ones did. Three digits." }),
    ),
  }),
  warnings: Type.Array(
    Type.Object({
      message: Type.String(),
      part: Type.String({ description: "The part of the rule that it is about." }),
    }),
    { description: "What is allowed, and probably not meant. Mostly empty." },
  ),
})

/** Body of `POST /sluice/v1/posts`: one envelope a line. */
export const NdjsonBody = Type.String({
  description: 'Lines of JSON, each an envelope {"data":post,"includes":{…}}.',
})

export const StatusBody = Type.Object({ status: Type.String() })
