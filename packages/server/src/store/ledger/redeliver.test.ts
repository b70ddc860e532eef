import { expect, test } from "vitest"
import type { LinkId, MatchSeq } from "../../model/ids.ts"
import { seqs } from "../contract/fixtures.ts"
import { redeliverDead, redeliverMatches } from "./redeliver.ts"
import { RetryRoom } from "./retry-room.ts"

const link = {
  firstPosition: 2 as MatchSeq,
  position: 6 as MatchSeq,
  head: 8,
  trimmedTo: 3,
  delivered: 2,
}

function again(seq: number, epoch?: string) {
  return { linkId: "31" as LinkId, seq: seq as MatchSeq, ...(epoch !== undefined && { epoch }) }
}

function found(seq: number, more: { failures?: number; isDead?: boolean; epoch?: string; bytes?: number } = {}) {
  return { seq: seq as MatchSeq, epoch: null, failures: null, isDead: false, bytes: 1, ...more }
}

function outcomesOf(named: readonly number[], of: Partial<typeof link> = {}, room = new RetryRoom(0, 0)) {
  const all = named.map((seq) => found(seq))
  return redeliverMatches(
    { ...link, ...of },
    all,
    room,
    named.map((seq) => again(seq)),
  ).outcomes
}

test("a match is unknown before the link and after the log, waits beyond the cursor, and is gone once it is trimmed", () => {
  expect(outcomesOf([2, 9, 7, 3, 4])).toEqual(["unknown", "unknown", "waiting", "gone", "redelivered"])
})

test("a match of another epoch is unknown", () => {
  const named = [again(4), again(5, "a"), again(6, "b")]
  const all = [found(4, { epoch: "a" }), found(5, { epoch: "a" }), found(6, { epoch: "a" })]
  expect(redeliverMatches(link, all, new RetryRoom(0, 0), named).outcomes).toEqual([
    "unknown",
    "redelivered",
    "unknown",
  ])
})

test("a link redelivers at most as many matches as it counts as delivered, in one request and over several", () => {
  expect(outcomesOf([4, 5, 6])).toEqual(["redelivered", "redelivered", "gone"])
  expect(outcomesOf([4], { delivered: 0 })).toEqual(["gone"])
})

test("a match that is named twice is sent again once", () => {
  const named = [again(4), again(4)]
  const { outcomes, change } = redeliverMatches(link, [found(4)], new RetryRoom(999, 0), named)
  expect(outcomes).toEqual(["redelivered", "redelivered"])
  expect(change).toMatchObject({ retriesBy: 1, delivered: -1, retries: [{ seq: 4, failures: 0, dueAtMs: 0 }] })
})

test("a retry is due at once, needs no room and keeps its failures", () => {
  const named = [again(4), again(5)]
  const all = [found(4, { failures: 7 }), found(5, { isDead: true })]
  const { outcomes, change } = redeliverMatches(link, all, new RetryRoom(1_000, 0), named)
  expect(outcomes).toEqual(["redelivered", "no-room"])
  expect(change).toMatchObject({ retries: [{ seq: 4, failures: 7, dueAtMs: 0 }], retriesBy: 0, redeliveries: 1 })
})

test("a link that sends nothing again is unchanged", () => {
  const { change } = redeliverMatches(link, [found(3)], new RetryRoom(0, 0), [again(3)])
  expect(change).toMatchObject({ position: 6, retries: [], delivered: 0, redeliveries: 0 })
})

test("dead letters become retries, each counted once", () => {
  expect(redeliverDead(link, seqs(4, 6))).toMatchObject({
    deadGone: [4, 6],
    retriesBy: 2,
    deadLettersBy: -2,
    delivered: 0,
    freed: [],
    redeliveries: 1,
  })
})
