import { expect, test } from "vitest"
import type { AppId, WebhookId } from "../../model/ids.ts"
import { diskFill } from "./disk-room.ts"
import { findProblems, problemsMax } from "./find-problems.ts"

const facts = {
  nowMs: Date.UTC(2026, 2, 14, 12),
  undeliveredRetentionMs: 72 * 3_600_000,
  links: [],
  unlinkedInvalid: [],
  skippingApps: [],
  notReady: undefined,
  disk: undefined,
  clockAheadMs: 0,
}
const mebibyte = 1_048_576

test.each([
  [64, 1_024, "nearly-full"],
  [63.9, 1_024, "full"],
  [1_024, 10_240, "roomy"],
  [1_023.9, 10_239, "nearly-full"],
  [1_024, 10_241, "nearly-full"],
])("a disk with %d MiB free out of %d is %s", (free, total, fill) => {
  expect(diskFill({ freeBytes: free * mebibyte, totalBytes: total * mebibyte })).toBe(fill)
})

test("a full disk is an error, a nearly full one a warning, and one with room no problem", () => {
  const severities = [1, 512, 4_096].map((free) => {
    const disk = { freeBytes: free * mebibyte, totalBytes: 8_192 * mebibyte }
    return findProblems({ ...facts, disk }).problems.map(({ severity }) => severity)
  })
  expect(severities).toEqual([["error"], ["warning"], []])
})

test("errors come before warnings, and a hundred problems are listed of however many there are", () => {
  const skippingApps = Array.from({ length: problemsMax + 5 }, (_, at) => String(at + 1) as AppId)
  const { problems, problemCount } = findProblems({ ...facts, skippingApps, clockAheadMs: 1, notReady: "Closing." })
  expect(problems.slice(0, 2).map(({ kind }) => kind)).toEqual(["not_ready", "clock_ahead"])
  expect(problems).toHaveLength(problemsMax)
  expect(problemCount).toBe(problemsMax + 7)
})

test("information comes after warnings", () => {
  const state = {
    webhookId: "7" as WebhookId,
    appId: "1" as AppId,
    valid: true,
    invalidReason: undefined,
    pausedAtMs: facts.nowMs,
    isDown: false,
    position: 4,
    head: 4,
    oldestUndeliveredAtMs: undefined,
    failingSinceMs: undefined,
    tally: { missed: 2, deadLetters: 0 },
  }
  const links = [{ state, url: "https://a.example/", newestAttempt: undefined }]
  const { problems } = findProblems({ ...facts, links, skippingApps: ["1" as AppId], notReady: "Closing." })
  expect(problems.map(({ kind }) => kind)).toEqual(["not_ready", "gaps", "rules_skipped", "paused"])
})
