import type { RuleTestedBody } from "@sluice/api"
import { expect, test } from "vitest"
import { sumOfRuleTests } from "./rule-test-sum.ts"

function response(meta: Partial<RuleTestedBody["meta"]>, warning?: string): RuleTestedBody {
  return {
    data: [],
    meta: { tested: 0, matched: 0, share: 0, cost: 5, ...meta },
    warnings: warning === undefined ? [] : [{ message: warning, part: "cat" }],
  }
}

test("the responses of a test add up, with the rate over the whole time", () => {
  const newer = response(
    { tested: 20_000, matched: 30, from: "2026-03-13T12:00:00.000Z", to: "2026-03-14T00:00:00.000Z" },
    "narrow it down",
  )
  const older = response({
    tested: 10_000,
    matched: 0,
    from: "2026-03-12T00:00:00.000Z",
    to: "2026-03-13T11:59:00.000Z",
  })
  expect(sumOfRuleTests([newer, older])).toEqual({
    tested: 30_000,
    matched: 30,
    share: 0.001,
    matchesPerDay: 15,
    cost: 5,
    times: { fromMs: Date.UTC(2026, 2, 12), toMs: Date.UTC(2026, 2, 14) },
    warnings: ["narrow it down"],
  })
})

test("posts of one moment have no rate, and no posts have no time", () => {
  const moment = "2026-03-14T00:00:00.000Z"
  const one = sumOfRuleTests([response({ tested: 1, matched: 1, from: moment, to: moment })])
  expect(one).toMatchObject({ share: 1, times: { fromMs: Date.parse(moment), toMs: Date.parse(moment) } })
  expect(one).not.toHaveProperty("matchesPerDay")
  expect(sumOfRuleTests([response({})])).toEqual({ tested: 0, matched: 0, share: 0, cost: 5, warnings: [] })
})
