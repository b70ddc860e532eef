/** Attempts to deliver, dead letters and replays. */
import { Type, type Static } from "typebox"
import { ownPageSizes } from "../limits.ts"
import { attemptOutcomes } from "../attempts.ts"
import { exactly, Id, Instant, optionalInstant, PageMeta, pageSize, PaginationToken, queryOf } from "./common.ts"

/** How a failed attempt ended, and which side was at fault. */
const failing = {
  outcome: Type.String({ enum: [...attemptOutcomes] }),
  fault: Type.Optional(Type.String({ enum: ["endpoint", "server"] })),
  status: Type.Optional(Type.Integer({ description: "Status of the response, if one came." })),
  error: Type.Optional(Type.String({ description: "The failure, in words." })),
}

const attempt = {
  at: Instant,
  duration_ms: Type.Integer(),
  ...failing,
  event_id: Type.String({ description: "The `webhook-id` header that was sent." }),
  bytes: Type.Integer({ description: "Size of the body that was sent." }),
}

/** An attempt to deliver. */
export const LinkAttempt = Type.Object({
  id: Type.String({ description: "Number of the attempt over this link, from 1." }),
  ...attempt,
})
export type LinkAttempt = Static<typeof LinkAttempt>

/** Header names in lower case, and their values. */
const Headers = Type.Unsafe<Record<string, string>>({ type: "object", additionalProperties: { type: "string" } })

const response = Type.Optional(
  Type.Object(
    {
      status: Type.Integer(),
      headers: Headers,
      body: Type.String({ description: "The beginning of the body, as UTF-8." }),
      bytes: Type.Integer({ description: "Size of the body that came." }),
    },
    { description: "The part of the response that is kept. Absent without a response, or when none is kept." },
  ),
)

/** The result of a test of a webhook: one attempt, which is not in the log. */
export const TestDeliveryBody = Type.Object({ data: Type.Object({ ...attempt, response }) })
export type TestDeliveryBody = Static<typeof TestDeliveryBody>

/** An attempt with its request and its response. */
export const LinkAttemptBody = Type.Object({
  data: Type.Object({
    ...LinkAttempt.properties,
    request: Type.Optional(
      Type.Object(
        {
          method: Type.String(),
          url: Type.String(),
          headers: Headers,
          body: Type.Optional(Type.String({ description: "The body, exactly as it was sent." })),
          body_unavailable: Type.Optional(
            Type.String({
              enum: ["gone", "damaged", "deleted"],
              description:
                "Why the body is not shown: retention has deleted the match, the stored post is damaged, or it has been deleted.",
            }),
          ),
        },
        { description: "Absent when nothing was sent." },
      ),
    ),
    response,
  }),
})
export type LinkAttemptBody = Static<typeof LinkAttemptBody>

/** The newest attempts of a link. */
export const LinkAttemptsBody = Type.Object({
  data: Type.Array(LinkAttempt, { description: "Newest first." }),
  meta: Type.Object({ result_count: Type.Integer() }),
})
export type LinkAttemptsBody = Static<typeof LinkAttemptsBody>

/** A match whose retries are spent. It is kept until it is sent again or its retention time is over. */
export const DeadLetter = Type.Object({
  id: Id,
  webhook_id: Id,
  application_id: Id,
  event_id: Type.String(),
  post_id: Id,
  failures: Type.Integer({ description: "Attempts that have failed." }),
  ...failing,
  matched_at: Instant,
  dead_lettered_at: Instant,
})
export type DeadLetter = Static<typeof DeadLetter>

/** A page of dead letters, newest first. */
export const DeadLettersBody = Type.Object({ data: Type.Array(DeadLetter), meta: PageMeta })
export type DeadLettersBody = Static<typeof DeadLettersBody>

/** Body of `POST /sluice/v1/dead-letters/redeliver`: either `ids`, or `all` with or without bounds. */
export const RedeliverBody = exactly({
  ids: Type.Optional(Type.Array(Id, { minItems: 1, maxItems: 1000 })),
  all: Type.Optional(Type.Boolean({ description: "True: all dead letters within the bounds. False is refused." })),
  webhook_id: Type.Optional(Id),
  since: optionalInstant("Only dead letters from this instant on. RFC 3339."),
})
export type RedeliverBody = Static<typeof RedeliverBody>

/** The number of dead letters that are sent again. */
export const RedeliveredBody = Type.Object({
  data: Type.Object({
    redelivered: Type.Integer({
      description:
        "Dead letters that are sent again. A link has room for 1,000 retries or 16 MiB of posts, whichever comes " +
        "first, but always for one; a request takes at most 10,000, of each link the oldest. The others stay dead " +
        "letters; request them again later.",
    }),
  }),
})
export type RedeliveredBody = Static<typeof RedeliveredBody>

/** Path parameters of one attempt. */
export const AttemptParams = exactly({ webhook_id: Id, attempt_id: Id })

/** Body of `POST /sluice/v1/deliveries/redeliver`: either `event_ids`, or `webhook_id` with `failed`. */
export const RedeliverMatchesBody = exactly({
  event_ids: Type.Optional(
    Type.Array(Type.String(), {
      minItems: 1,
      maxItems: 1000,
      description: "The `webhook-id` of any match that is still kept, delivered or not.",
    }),
  ),
  webhook_id: Type.Optional(Id),
  failed: Type.Optional(
    Type.Boolean({
      description:
        "True: every match that the webhook's link has failed to deliver, dead letters included. False is refused.",
    }),
  ),
})
export type RedeliverMatchesBody = Static<typeof RedeliverMatchesBody>

/** The matches that are sent again, and the reasons why others are not. */
export const RedeliveredMatchesBody = Type.Object({
  data: Type.Object({
    redelivered: Type.Integer({ description: "Matches that are sent again." }),
    refused: Type.Array(
      Type.Object({
        event_id: Type.String(),
        reason: Type.String({
          enum: ["unknown", "waiting", "gone", "no-room"],
          description:
            "`unknown`: no match of yours has this id. `waiting`: not sent yet, so it will be. `gone`: retention has deleted it. " +
            "`no-room`: the link has 1,000 retries or 16 MiB of them; try again later.",
        }),
      }),
      { description: "The requested matches that are not sent again." },
    ),
  }),
})
export type RedeliveredMatchesBody = Static<typeof RedeliveredMatchesBody>

/** Query of a list of attempts. */
export const AttemptsQuery = queryOf({ max_results: pageSize(ownPageSizes.attempts) })
export type AttemptsQuery = Static<typeof AttemptsQuery>

/** Query of a list of dead letters. */
export const DeadLettersQuery = queryOf({
  webhook_id: Type.Optional(Id),
  max_results: pageSize(ownPageSizes.deadLetters),
  pagination_token: PaginationToken,
})
export type DeadLettersQuery = Static<typeof DeadLettersQuery>

/** Body of `POST /2/webhooks/replay`. Dates are minutes in UTC, yyyymmddhhmm, and belong to the window. */
export const CreateReplayBody = exactly({
  webhook_id: Id,
  from_date: Type.String({ description: "yyyymmddhhmm in UTC, inclusive." }),
  to_date: Type.String({ description: "yyyymmddhhmm in UTC, inclusive." }),
})
export type CreateReplayBody = Static<typeof CreateReplayBody>

/** The response to a new replay. */
export const ReplayCreatedBody = Type.Object({ data: Type.Object({ job_id: Id, created_at: Instant }) })
export type ReplayCreatedBody = Static<typeof ReplayCreatedBody>

/** A replay and its progress. Positions count the matches of the app, from 1. */
export const ReplayState = Type.Object({
  job_id: Id,
  webhook_id: Id,
  application_id: Id,
  from_date: Type.String({ description: "yyyymmddhhmm in UTC, inclusive." }),
  to_date: Type.String({ description: "yyyymmddhhmm in UTC, inclusive." }),
  state: Type.String({
    enum: ["searching", "running", "complete", "incomplete", "cancelled"],
    description: "`searching`: a backfill looks for its matches, and sends them afterwards.",
  }),
  position: Type.Integer({ description: "Position up to which every match was sent or has failed." }),
  end: Type.Integer({ description: "Position of the last match to send." }),
  delivered: Type.Integer(),
  failed: Type.Integer({ description: "Matches that were not delivered, deleted ones included." }),
  created_at: Instant,
  ended_at: Type.Optional(Instant),
  rules: Type.Optional(
    Type.Array(Type.Object({ id: Id, value: Type.String(), tag: Type.String() }), {
      description: "Of a backfill: its rules, as they were when it was created.",
    }),
  ),
  searched_to: Type.Optional(
    Type.Unsafe<string>({
      ...Instant,
      description: "Of a backfill: posts made up to then were compared with the rules.",
    }),
  ),
})
export type ReplayState = Static<typeof ReplayState>

/** Body of `POST /sluice/v1/replays`: the stored posts since a time that came before rules and match them. */
export const CreateBackfillBody = exactly({
  webhook_id: Id,
  rule_ids: Type.Array(Id, { minItems: 1, maxItems: 25, uniqueItems: true }),
  since: Type.Unsafe<string>({ ...Instant, description: "Posts made before this time are left out." }),
})
export type CreateBackfillBody = Static<typeof CreateBackfillBody>

/** Path parameters of routes about one replay. */
export const ReplayParams = exactly({ job_id: Id })

/** A replay, as it is now. */
export const ReplayBody = Type.Object({ data: ReplayState })
export type ReplayBody = Static<typeof ReplayBody>

/** The replays of an app. */
export const ReplaysBody = Type.Object({
  data: Type.Array(ReplayState, { description: "Newest first." }),
  meta: Type.Object({ result_count: Type.Integer() }),
})
export type ReplaysBody = Static<typeof ReplaysBody>
