import { expect, test } from "vitest"
import { findProblems } from "../../control/problems/find-problems.ts"
import { presentProblem } from "./overview.ts"

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

test("a clock that has jumped ahead is a problem, with the time by which retention deletes", () => {
  expect(findProblems(facts).problems).toEqual([])
  const problems = findProblems({ ...facts, clockAheadMs: 2 * 86_400_000 }).problems.map(presentProblem)
  expect(problems).toMatchObject([{ kind: "clock_ahead", severity: "warning" }])
  expect(problems[0]?.detail).toContain("2026-03-14T12:00:00.000Z")
  expect(problems[0]?.detail).toContain("2026-03-12T12:00:00.000Z")
})
