/**
 * The states of a match of a link, and what each event makes of them: ARCHITECTURE, "Delivery states", as a value.
 *
 * In flight is no state of the store: a cursor passes a match that is in flight only as a retry. So a match is `waiting`
 * until the cursor passes it, and a link's counters say how many are in each of the other states.
 */

/** The state of a match on a link. */
export type DeliveryState = "waiting" | "delivered" | "retry" | "dead-letter" | "expired" | "missed" | "withdrawn"

/**
 * An event in the delivery of a match.
 *
 * - `deliver`: its endpoint accepts it
 * - `retry`: it is tried again later, or the cursor passes it in flight
 * - `dead-letter`: the link gives it up
 * - `redeliver`: a caller sends it again
 * - `expire`: its dead letter has been kept for its time
 * - `overtake`: retention passes the cursor, and takes what is beyond it
 * - `withdraw`: its post was deleted, so it is not sent
 */
export type DeliveryEvent = "deliver" | "retry" | "dead-letter" | "redeliver" | "expire" | "overtake" | "withdraw"

type AfterEvents = Readonly<Record<DeliveryEvent, DeliveryState | "refused">>

const refusals: AfterEvents = {
  deliver: "refused",
  retry: "refused",
  "dead-letter": "refused",
  redeliver: "refused",
  expire: "refused",
  overtake: "refused",
  withdraw: "refused",
}

/** The state after an event; `refused` where the event changes nothing. */
export const nextState: Readonly<Record<DeliveryState, AfterEvents>> = {
  waiting: {
    ...refusals,
    deliver: "delivered",
    retry: "retry",
    "dead-letter": "dead-letter",
    overtake: "missed",
    withdraw: "withdrawn",
  },
  // Progress that is saved late names it as it was before. Only a redelivery changes it.
  delivered: { ...refusals, redeliver: "retry" },
  retry: {
    ...refusals,
    deliver: "delivered",
    retry: "retry",
    "dead-letter": "dead-letter",
    redeliver: "retry",
    withdraw: "withdrawn",
  },
  // A second dead letter of a match takes the place of the first.
  "dead-letter": {
    ...refusals,
    "dead-letter": "dead-letter",
    redeliver: "retry",
    expire: "expired",
    withdraw: "withdrawn",
  },
  expired: refusals,
  // It may arrive after all; it counts as missed all the same.
  missed: refusals,
  withdrawn: refusals,
}
