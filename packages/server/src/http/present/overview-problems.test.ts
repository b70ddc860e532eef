import { expect, test } from "vitest"
import { overviewProblems } from "./overview-problems.ts"

const facts = {
  nowMs: Date.UTC(2026, 2, 14, 12),
  links: [],
  unlinkedInvalid: [],
  skippingApps: [],
  appNames: new Map(),
  notReady: undefined,
  freeBytes: undefined,
  clockAheadMs: 0,
}

test("a clock that has jumped ahead is a problem, with the time by which retention deletes", () => {
  expect(overviewProblems(facts).problems).toEqual([])
  const { problems } = overviewProblems({ ...facts, clockAheadMs: 2 * 86_400_000 })
  expect(problems).toMatchObject([{ kind: "clock_ahead", severity: "warning" }])
  expect(problems[0]?.detail).toContain("2026-03-14T12:00:00.000Z")
  expect(problems[0]?.detail).toContain("2026-03-12T12:00:00.000Z")
})
