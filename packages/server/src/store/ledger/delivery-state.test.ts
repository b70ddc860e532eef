/** Every event on a match in every state, through the functions that the stores call. */
import { describe, expect, test } from "vitest"
import type { LinkId, MatchSeq } from "../../model/ids.ts"
import { aDeadMatch, aRetry, progress } from "../contract/fixtures.ts"
import { nextState, type DeliveryEvent, type DeliveryState } from "./delivery-state.ts"
import { LinkLedger, type LinkBefore, type LinkChange } from "./link-change.ts"
import { overtake } from "./overtake.ts"
import { progressChange } from "./progress.ts"
import { expire, redeliverMatches } from "./redeliver.ts"
import { RetryRoom } from "./retry-room.ts"

/** The state after an event; `refused` where it changes nothing, `impossible` where no store applies it. */
type Cell = DeliveryState | "refused" | "impossible"

const table: Readonly<Record<DeliveryState, Readonly<Record<DeliveryEvent, Cell>>>> = {
  waiting: {
    deliver: "delivered",
    retry: "retry",
    "dead-letter": "dead-letter",
    redeliver: "refused",
    expire: "impossible",
    overtake: "missed",
    withdraw: "withdrawn",
  },
  delivered: {
    deliver: "refused",
    retry: "refused",
    "dead-letter": "refused",
    redeliver: "retry",
    expire: "impossible",
    overtake: "impossible",
    withdraw: "refused",
  },
  retry: {
    deliver: "delivered",
    retry: "retry",
    "dead-letter": "dead-letter",
    redeliver: "retry",
    expire: "impossible",
    overtake: "impossible",
    withdraw: "withdrawn",
  },
  "dead-letter": {
    deliver: "refused",
    retry: "refused",
    "dead-letter": "dead-letter",
    redeliver: "retry",
    expire: "expired",
    overtake: "impossible",
    withdraw: "withdrawn",
  },
  expired: {
    deliver: "refused",
    retry: "refused",
    "dead-letter": "refused",
    redeliver: "refused",
    expire: "impossible",
    overtake: "impossible",
    withdraw: "refused",
  },
  missed: {
    deliver: "refused",
    retry: "refused",
    "dead-letter": "refused",
    redeliver: "refused",
    expire: "impossible",
    overtake: "impossible",
    withdraw: "refused",
  },
  withdrawn: {
    deliver: "refused",
    retry: "refused",
    "dead-letter": "refused",
    redeliver: "refused",
    expire: "impossible",
    overtake: "impossible",
    withdraw: "refused",
  },
}

const seq = 5 as MatchSeq

/** A link on which match 5 is in a state, with a log that retention has passed unless the match is in it. */
function linkWith(state: DeliveryState): LinkBefore & { firstPosition: MatchSeq; delivered: number; head: number } {
  return {
    firstPosition: 0 as MatchSeq,
    position: (state === "waiting" ? seq - 1 : seq) as MatchSeq,
    head: seq,
    trimmedTo: state === "waiting" || state === "delivered" ? 0 : seq,
    delivered: state === "delivered" ? 1 : 0,
    outstanding: state === "retry" || state === "dead-letter" ? [{ seq, isDead: state === "dead-letter" }] : [],
  }
}

/** A dead letter is withdrawn by the deletion of its post, any other match by the progress of its sender. */
function withdrawn(state: DeliveryState): LinkChange {
  if (state !== "dead-letter") return progressChange(linkWith(state), [progress(seq, { withdrawn: 1, settled: [seq] })])
  const link = new LinkLedger(linkWith(state))
  link.withdrawDead(seq)
  return link.change()
}

/** Applies an event to a link whose match 5 is in the given state. */
const apply: Readonly<Record<DeliveryEvent, (state: DeliveryState) => LinkChange | { readonly missed: number }>> = {
  deliver: (state) => progressChange(linkWith(state), [progress(seq, { delivered: 1, settled: [seq] })]),
  retry: (state) => progressChange(linkWith(state), [progress(seq, { retries: [aRetry(seq)] })]),
  "dead-letter": (state) => progressChange(linkWith(state), [progress(seq, { dead: [aDeadMatch(seq)] })]),
  redeliver: (state) => {
    const match = {
      seq,
      epoch: null,
      failures: state === "retry" ? 1 : null,
      isDead: state === "dead-letter",
      bytes: 1,
    }
    return redeliverMatches(linkWith(state), [match], new RetryRoom(0, 0), [{ linkId: "31" as LinkId, seq }]).change
  },
  expire: (state) => expire(linkWith(state), [seq]),
  withdraw: withdrawn,
  overtake: (state) => overtake({ position: linkWith(state).position, newest: undefined }, seq, 1),
}

/** The state that a change leaves match 5 in, by what becomes of its row and of the counters. */
function stateAfter(change: LinkChange | { readonly missed: number }): Cell {
  if ("missed" in change) return change.missed === 1 ? "missed" : "refused"
  if (change.dead.length > 0) return "dead-letter"
  if (change.retries.length > 0) return "retry"
  if (change.expired > 0) return "expired"
  if (change.withdrawn > 0) return "withdrawn"
  if (change.delivered > 0) return "delivered"
  return "refused"
}

const cells = Object.entries(table).flatMap(([state, events]) =>
  Object.entries(events).map(([event, cell]) => [state, event, cell] as [DeliveryState, DeliveryEvent, Cell]),
)

describe("a match that is", () => {
  test.each(cells)("%s: %s → %s", (state, event, cell) => {
    expect(nextState[state][event]).toBe(cell === "impossible" ? "refused" : cell)
    if (cell === "impossible") return
    const change = apply[event](state)
    expect(stateAfter(change)).toBe(cell)
    if ("missed" in change) return
    const { position, delivered, retriesBy, deadLettersBy, expired, withdrawn: gone } = change
    const passed = position - linkWith(state).position
    expect(delivered + retriesBy + deadLettersBy + expired + gone, "each match is in one state").toBe(
      cell === "refused" && state === "waiting" ? 0 : passed,
    )
  })
})

test("a dead letter does not expire before its match", () => {
  const link = { ...linkWith("dead-letter"), trimmedTo: seq - 1 }
  expect(expire(link, [seq])).toMatchObject({ expired: 0, deadGone: [], freed: [] })
})

test("a match that retention has passed and the link no longer needs is freed, and no other", () => {
  const settled = progress(seq, { settled: [seq], delivered: 1 })
  expect(progressChange(linkWith("retry"), [settled]).freed).toEqual([seq])
  expect(progressChange({ ...linkWith("retry"), trimmedTo: seq - 1 }, [settled]).freed).toEqual([])
  expect(progressChange(linkWith("retry"), [progress(seq, { dead: [aDeadMatch(seq)] })]).freed).toEqual([])
})

test("a second dead letter replaces the first", () => {
  const again = progressChange(linkWith("dead-letter"), [progress(seq, { dead: [aDeadMatch(seq, 70)] })])
  expect(again).toMatchObject({ deadGone: [seq], dead: [{ deadLetteredAtMs: 70 }], deadLettersBy: 0 })
})
