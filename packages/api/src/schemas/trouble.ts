/** Trouble on demand: faults that a server for development makes when it is asked to. */
import { Type, type Static } from "typebox"
import { webhookAnswerMsMax } from "../limits.ts"
import { disconnectTypes } from "../problems.ts"
import { exactly, Id, Instant } from "./common.ts"

/**
 * What is made to go wrong. Ours.
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
 * What a troubled delivery or challenge meets. The first four stand in place of the endpoint, which is not asked;
 * `slow` and `cut` are for deliveries that the endpoint does receive: its response is late, or lost. Ours.
 */
const troubledResponses = ["429", "500", "503", "wrong_token", "slow", "cut"] as const

/** One of these responses. */
export type TroubledResponse = (typeof troubledResponses)[number]

/** Most deliveries, challenges or tokens that one trouble is for. Ours. */
const troubleNextMax = 1_000

const kind = Type.String({ enum: [...troubleKinds], description: "What is made to go wrong." })
const response = Type.String({
  enum: [...troubledResponses],
  description:
    "For `responses`: 429, 500 and 503 in place of the endpoint's, which is not asked; slow: the endpoint's own, late; " +
    "cut: the endpoint receives the delivery and its response is lost. " +
    "For `challenges`: wrong_token (else), 500, 503 or cut, and the endpoint is not asked.",
})
const latency = Type.Integer({
  minimum: 1,
  maximum: webhookAnswerMsMax,
  description: `Of a slow response, milliseconds; 3000 when absent. ${String(webhookAnswerMsMax)} is a timeout.`,
})
const retryAfter = Type.Integer({
  minimum: 0,
  maximum: 3_600,
  description: "The `Retry-After` of a 429 or 503, seconds. Absent: none is sent.",
})
const percent = Type.Integer({ minimum: 1, maximum: 100, description: "Chance of each response, until cleared." })
const webhookId = Type.String({ ...Id, description: "The webhook that it is for; absent: all of the app." })

/** Body of `POST /sluice/v1/trouble`. */
export const AddTroubleBody = exactly({
  kind,
  webhook_id: Type.Optional(webhookId),
  response: Type.Optional(response),
  latency_ms: Type.Optional(latency),
  retry_after_seconds: Type.Optional(retryAfter),
  next: Type.Optional(
    Type.Integer({ minimum: 1, maximum: troubleNextMax, description: "How many it is for. 1 when absent." }),
  ),
  percent: Type.Optional(percent),
})
export type AddTroubleBody = Static<typeof AddTroubleBody>

/** A trouble that waits for its time. */
export const Trouble = Type.Object({
  id: Id,
  kind,
  webhook_id: Type.Optional(webhookId),
  response: Type.Optional(response),
  latency_ms: Type.Optional(latency),
  retry_after_seconds: Type.Optional(retryAfter),
  remaining: Type.Optional(Type.Integer({ description: "How many more it is for." })),
  percent: Type.Optional(percent),
  issued_until: Type.Optional(
    Type.String({ ...Instant, description: "Page tokens that were issued up to then count as expired." }),
  ),
  applied: Type.Integer({ description: "How often it was applied." }),
  created_at: Instant,
})
export type Trouble = Static<typeof Trouble>

/** One trouble. */
export const TroubleBody = Type.Object({ data: Trouble })
export type TroubleBody = Static<typeof TroubleBody>

/** What waits for its time, oldest first: the order in which it is applied. */
export const TroublesBody = Type.Object({
  data: Type.Array(Trouble),
  meta: Type.Object({ result_count: Type.Integer() }),
})
export type TroublesBody = Static<typeof TroublesBody>

/** How many troubles were cleared. */
export const TroublesClearedBody = Type.Object({ data: Type.Object({ cleared: Type.Integer() }) })
export type TroublesClearedBody = Static<typeof TroublesClearedBody>

/** Path parameters of routes about one trouble. */
export const TroubleParams = exactly({ trouble_id: Id })

/** Body of `POST /sluice/v1/trouble/disconnect`. */
export const DisconnectStreamsBody = exactly({
  disconnect_type: Type.String({
    enum: [...disconnectTypes, "none"],
    description: "The last message of each connection; none: it is cut without one.",
  }),
})
export type DisconnectStreamsBody = Static<typeof DisconnectStreamsBody>

/** How many stream connections were ended. */
export const StreamsDisconnectedBody = Type.Object({ data: Type.Object({ disconnected: Type.Integer() }) })
export type StreamsDisconnectedBody = Static<typeof StreamsDisconnectedBody>
