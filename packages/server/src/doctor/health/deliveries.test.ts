import { expect, test } from "vitest"
import type { AppId, LinkId, MatchSeq, WebhookId } from "../../model/ids.ts"
import type { LinkTally, Retry } from "../../model/link.ts"
import { deliveryFindings, type LinkStanding } from "./deliveries.ts"
import { lines } from "./lines.testing.ts"

const nowMs = Date.UTC(2026, 2, 14, 12)
const minuteMs = 60_000
const settings = { nowMs, undeliveredRetentionMs: 72 * 60 * minuteMs, deadLetterRetentionDays: 30 }
const seq = (value: number): MatchSeq => value as MatchSeq
const webhookId = "12" as WebhookId

type Change = Partial<Omit<LinkTally, "retries">> & Partial<Omit<LinkStanding, "tally">>

function standing(change: Change = {}): LinkStanding {
  const { head = seq(9), gaps = [], retries = [], oldestAtMs, pausedAtMs, ...counts } = change
  return {
    tally: {
      linkId: "7" as LinkId,
      appId: "5" as AppId,
      webhookId,
      firstPosition: seq(0),
      position: seq(9),
      delivered: 9,
      retries: retries.length,
      deadLetters: 0,
      expired: 0,
      missed: 0,
      withdrawn: 0,
      ...counts,
    },
    head,
    gaps,
    retries,
    ...(oldestAtMs !== undefined && { oldestAtMs }),
    pausedAtMs,
  }
}

function delivered(...links: readonly LinkStanding[]): readonly string[] {
  return lines(deliveryFindings(links, settings))
}

test("links without a backlog are healthy, and so is a store without links", () => {
  expect(delivered()).toEqual(["ok: There are no links, so nothing is to be delivered."])
  expect(delivered(standing(), standing())).toEqual([
    "ok: 2 links: nothing waits, nothing is given up, nothing was missed.",
  ])
})

test("a delivery in flight is no warning, and one that waits for longer than five minutes is", () => {
  const behind = { position: seq(4), oldestAtMs: nowMs - 5 * minuteMs }
  expect(delivered(standing(behind))[0]).toMatch(/^ok: /)
  expect(delivered(standing({ ...behind, oldestAtMs: nowMs - 5 * minuteMs - 1 }))).toEqual([
    "warning: The link to webhook 12 is 5 matches behind. The oldest that is not delivered has waited for 5 min.",
  ])
})

test("a paused link is information and no warning until retention is near", () => {
  const retries = [{ seq: seq(3), failures: 2, dueAtMs: nowMs }]
  const waitsSince = (oldestAtMs: number) => standing({ position: seq(5), oldestAtMs, pausedAtMs: nowMs, retries })
  const paused = waitsSince(nowMs - 54 * 60 * minuteMs)
  const note = "ok: The link to webhook 12 is paused since 2026-03-14T12:00:00.000Z: 5 matches wait."
  expect(delivered(paused)).toEqual([note])
  expect(delivered(paused, standing())).toEqual([
    note,
    "ok: 1 link: nothing waits, nothing is given up, nothing was missed.",
  ])
  expect(delivered(paused, standing({ deadLetters: 1 }))).toEqual([note, "warning: 1 dead letter of webhook 12."])
  expect(delivered(waitsSince(nowMs - 55 * 60 * minuteMs))).toEqual([
    note,
    "warning: Retention deletes the matches of the paused link to webhook 12 from 2026-03-15T05:00:00.000Z on.",
  ])
})

test("retries that have failed are counted, and deliveries that were only in flight are not", () => {
  const retry = (at: number, failures: number): Retry => ({ seq: seq(at), failures, dueAtMs: nowMs })
  expect(delivered(standing({ retries: [retry(3, 0)] }))[0]).toMatch(/^ok: /)
  expect(delivered(standing({ retries: [retry(3, 0), retry(4, 2), retry(5, 7)] }))).toEqual([
    "warning: 2 matches of webhook 12 failed and are tried again; at most 7 failures so far.",
  ])
})

test("dead letters are reported with the commands that list and redeliver them", () => {
  const [finding] = deliveryFindings([standing({ deadLetters: 3 })], settings)
  expect(finding).toEqual({
    level: "warning",
    subject: "deliveries",
    text: "3 dead letters of webhook 12.",
    advice:
      "See them: sluice dead-letters list --webhook 12; " +
      "send them again: sluice dead-letters redeliver --all --webhook 12",
  })
  expect(delivered(standing({ expired: 1 }))).toEqual([
    "warning: 1 dead letter of webhook 12 was never sent again and is gone.",
  ])
})

test("gaps are named, the newest ones when there are many", () => {
  const gap = (from: number, to: number) => ({ from: seq(from), to: seq(to), atMs: nowMs })
  expect(delivered(standing({ missed: 1, gaps: [gap(4, 4)] }))).toEqual([
    "warning: Retention took 1 match of webhook 12 before they were sent: 4.",
  ])
  const gaps = [gap(1, 2), gap(4, 5), gap(7, 8), gap(10, 11), gap(13, 14)]
  expect(delivered(standing({ missed: 10, gaps }))).toEqual([
    "warning: Retention took 10 matches of webhook 12 before they were sent: " +
      "7 to 8, 10 to 11, 13 to 14, and 2 gaps before.",
  ])
})
