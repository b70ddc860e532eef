/** Trouble on demand: faults that a server for development makes when it is asked to. */
import { Type, type Static } from "typebox"
import { webhookResponseMsMax } from "../limits.ts"
import { disconnectTypes } from "../problems.ts"
import { exactly, Id, Instant } from "./common.ts"

/**
 * Kinds of trouble. Ours.
 *
 * | Kind          | Means                                                             |
 * | ------------- | ----------------------------------------------------------------- |
 * | `responses`   | deliveries get another response than the endpoint's               |
 * | `repeats`     | deliveries that were received are sent a second time              |
 * | `challenges`  | challenges fail                                                   |
 * | `page_tokens` | page tokens count as expired: all that were issued, or the next n |
 */
const troubleKinds = ["responses", "repeats", "challenges", "page_tokens"] as const

/**
 * Responses to a troubled delivery or challenge. The first four replace the endpoint's, which gets no request;
 * with `slow` and `cut` the endpoint gets the delivery, and its response is late or lost. Ours.
 */
const troubledResponses = ["429", "500", "503", "wrong_token", "slow", "cut"] as const

/** One of these responses. */
export type TroubledResponse = (typeof troubledResponses)[number]

/** Most deliveries, challenges or tokens that one trouble applies to. Ours. */
const troubleNextMax = 1_000

const kind = Type.String({ enum: [...troubleKinds], description: "Kind of trouble." })
const response = Type.String({
  enum: [...troubledResponses],
  description:
    "For `responses`: 429, 500 and 503 replace the endpoint's response, and it gets no request; slow: its own, late; " +
    "cut: the endpoint receives the delivery and its response is lost. " +
    "For `challenges`: wrong_token (the default), 500, 503 or cut; the endpoint gets no request.",
})
const latency = Type.Integer({
  minimum: 1,
  maximum: webhookResponseMsMax,
  description: `Delay of a slow response, in milliseconds; 3000 by default. ${String(webhookResponseMsMax)} causes a timeout.`,
})
const retryAfter = Type.Integer({
  minimum: 0,
  maximum: 3_600,
  description: "The `Retry-After` header of a 429 or 503, in seconds. Absent: no header.",
})
const percent = Type.Integer({ minimum: 1, maximum: 100, description: "Probability for each response, until cleared." })
const webhookId = Type.String({ ...Id, description: "The webhook to trouble; absent: all webhooks of the app." })

/** Body of `POST /sluice/v1/trouble`. */
export const AddTroubleBody = exactly({
  kind,
  webhook_id: Type.Optional(webhookId),
  response: Type.Optional(response),
  latency_ms: Type.Optional(latency),
  retry_after_seconds: Type.Optional(retryAfter),
  next: Type.Optional(
    Type.Integer({ minimum: 1, maximum: troubleNextMax, description: "Number of times to apply it; 1 by default." }),
  ),
  percent: Type.Optional(percent),
})
export type AddTroubleBody = Static<typeof AddTroubleBody>

/** A trouble that is not used up. */
export const Trouble = Type.Object({
  id: Id,
  kind,
  webhook_id: Type.Optional(webhookId),
  response: Type.Optional(response),
  latency_ms: Type.Optional(latency),
  retry_after_seconds: Type.Optional(retryAfter),
  remaining: Type.Optional(Type.Integer({ description: "Number of times that it still applies." })),
  percent: Type.Optional(percent),
  issued_until: Type.Optional(
    Type.String({ ...Instant, description: "Page tokens issued up to this instant count as expired." }),
  ),
  applied: Type.Integer({ description: "Number of times that it was applied." }),
  created_at: Instant,
})
export type Trouble = Static<typeof Trouble>

/** One trouble. */
export const TroubleBody = Type.Object({ data: Trouble })
export type TroubleBody = Static<typeof TroubleBody>

/** Troubles that are not used up, oldest first: the order in which they apply. */
export const TroublesBody = Type.Object({
  data: Type.Array(Trouble),
  meta: Type.Object({ result_count: Type.Integer() }),
})
export type TroublesBody = Static<typeof TroublesBody>

/** The number of troubles that were cleared. */
export const TroublesClearedBody = Type.Object({ data: Type.Object({ cleared: Type.Integer() }) })
export type TroublesClearedBody = Static<typeof TroublesClearedBody>

/** Path parameters of routes about one trouble. */
export const TroubleParams = exactly({ trouble_id: Id })

/** Body of `POST /sluice/v1/trouble/disconnect`. */
export const DisconnectStreamsBody = exactly({
  disconnect_type: Type.String({
    enum: [...disconnectTypes, "none"],
    description: "Disconnect message of each connection; none: the connection is cut without a message.",
  }),
})
export type DisconnectStreamsBody = Static<typeof DisconnectStreamsBody>

/** The number of stream connections that were ended. */
export const StreamsDisconnectedBody = Type.Object({ data: Type.Object({ disconnected: Type.Integer() }) })
export type StreamsDisconnectedBody = Static<typeof StreamsDisconnectedBody>
