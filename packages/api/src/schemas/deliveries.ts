/** Attempts to deliver, dead letters and replays. */
import { Type, type Static } from "typebox"
import { ownPageSizes } from "../limits.ts"
import { attemptOutcomes } from "../attempts.ts"
import { exactly, Id, Instant, optionalInstant, PageMeta, pageSize, PaginationToken, queryOf } from "./common.ts"

/** How an attempt that is not a delivery ended, and whose fault that was. */
const failing = {
  outcome: Type.String({ enum: [...attemptOutcomes] }),
  fault: Type.Optional(Type.String({ enum: ["endpoint", "server"] })),
  status: Type.Optional(Type.Integer({ description: "Of the answer, when one came." })),
  error: Type.Optional(Type.String({ description: "What went wrong, in words." })),
}

/** An attempt to deliver. */
export const LinkAttempt = Type.Object({
  id: Type.String({ description: "Counts the attempts of the link, from 1." }),
  at: Instant,
  duration_ms: Type.Integer(),
  ...failing,
  event_id: Type.String({ description: "The `webhook-id` that was sent." }),
  bytes: Type.Integer({ description: "Of the body that was sent." }),
})
export type LinkAttempt = Static<typeof LinkAttempt>

/** Header names in lower case, and their values. */
const Headers = Type.Unsafe<Record<string, string>>({ type: "object", additionalProperties: { type: "string" } })

/** An attempt with what was sent and what came back. */
export const LinkAttemptBody = Type.Object({
  data: Type.Object({
    ...LinkAttempt.properties,
    request: Type.Optional(
      Type.Object(
        {
          method: Type.String(),
          url: Type.String(),
          headers: Headers,
          body: Type.Optional(Type.String({ description: "As it was sent." })),
          body_unavailable: Type.Optional(
            Type.String({
              enum: ["gone", "damaged"],
              description: "Why there is no body: retention has deleted the match, or the stored post is damaged.",
            }),
          ),
        },
        { description: "Absent when nothing was sent." },
      ),
    ),
    response: Type.Optional(
      Type.Object(
        {
          status: Type.Integer(),
          headers: Headers,
          body: Type.String({ description: "Its beginning, as UTF-8." }),
          bytes: Type.Integer({ description: "Of the body that came." }),
        },
        { description: "What is kept of the response. Absent when none began, or none is kept." },
      ),
    ),
  }),
})
export type LinkAttemptBody = Static<typeof LinkAttemptBody>

/** The newest attempts of a link. */
export const LinkAttemptsBody = Type.Object({
  data: Type.Array(LinkAttempt, { description: "Newest first." }),
  meta: Type.Object({ result_count: Type.Integer() }),
})
export type LinkAttemptsBody = Static<typeof LinkAttemptsBody>

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
  dead_lettered_at: Instant,
})
export type DeadLetter = Static<typeof DeadLetter>

/** A page of dead letters, newest first. */
export const DeadLettersBody = Type.Object({ data: Type.Array(DeadLetter), meta: PageMeta })
export type DeadLettersBody = Static<typeof DeadLettersBody>

/** Body of `POST /sluice/v1/dead-letters/redeliver`: either `ids`, or `all` with or without bounds. */
export const RedeliverBody = exactly({
  ids: Type.Optional(Type.Array(Id, { minItems: 1, maxItems: 1000 })),
  all: Type.Optional(Type.Boolean({ description: "Only true means anything." })),
  webhook_id: Type.Optional(Id),
  since: optionalInstant("Only those that died then or later. RFC 3339."),
})
export type RedeliverBody = Static<typeof RedeliverBody>

/** How many dead letters are sent again. */
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
export type RedeliveredBody = Static<typeof RedeliveredBody>

/** Path parameters of one attempt. */
export const AttemptParams = exactly({ webhook_id: Id, attempt_id: Id })

/** Body of `POST /sluice/v1/deliveries/redeliver`: either `event_ids`, or `webhook_id` with `failed`. */
export const RedeliverMatchesBody = exactly({
  event_ids: Type.Optional(
    Type.Array(Type.String(), {
      minItems: 1,
      maxItems: 1000,
      description: "The `webhook-id` of any match that is kept, delivered or not.",
    }),
  ),
  webhook_id: Type.Optional(Id),
  failed: Type.Optional(
    Type.Boolean({
      description: "All that the webhook's link has failed to deliver, dead letters included. Only true.",
    }),
  ),
})
export type RedeliverMatchesBody = Static<typeof RedeliverMatchesBody>

/** Matches that are sent again, and why others are not. */
export const RedeliveredMatchesBody = Type.Object({
  data: Type.Object({
    redelivered: Type.Integer({ description: "How many are on their way." }),
    refused: Type.Array(
      Type.Object({
        event_id: Type.String(),
        reason: Type.String({
          enum: ["unknown", "waiting", "gone", "no-room"],
          description:
            "`unknown`: none of yours. `waiting`: not sent yet, so it will be. `gone`: retention has deleted it. " +
            "`no-room`: the link has 1,000 retries or 16 MiB of them; ask again later.",
        }),
      }),
      { description: "The named ones that are not." },
    ),
  }),
})
export type RedeliveredMatchesBody = Static<typeof RedeliveredMatchesBody>

/** How many attempts to return. */
export const AttemptsQuery = queryOf({ max_results: pageSize(ownPageSizes.attempts) })

/** Which dead letters to return. */
export const DeadLettersQuery = queryOf({
  webhook_id: Type.Optional(Id),
  max_results: pageSize(ownPageSizes.deadLetters),
  pagination_token: PaginationToken,
})

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

/** The replays of an app. */
export const ReplaysBody = Type.Object({
  data: Type.Array(ReplayState, { description: "Newest first." }),
  meta: Type.Object({ result_count: Type.Integer() }),
})
export type ReplaysBody = Static<typeof ReplaysBody>
