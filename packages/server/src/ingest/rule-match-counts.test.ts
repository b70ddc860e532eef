import { expect, test } from "vitest"
import type { AppId } from "../model/ids.ts"
import type { RuleMatches } from "../model/rule.ts"
import { systemClock } from "../runtime/clock.ts"
import { RuleMatchCounts } from "./rule-match-counts.ts"

const matchOf = (...ids: readonly string[]) => [{ appId: "1" as AppId, rules: ids.map((id) => ({ id, tag: "" })) }]

test("matches of many posts are one row for each rule, and closing saves them", async () => {
  const saved: (readonly RuleMatches[])[] = []
  const counts = new RuleMatchCounts({
    store: { countRuleMatches: async (rows) => void saved.push(rows) },
    clock: systemClock,
  })
  for (let at = 1; at <= 100; at += 1) counts.note(matchOf("1", "2"), at)
  counts.note(matchOf("2"), 101)
  expect(saved).toEqual([])
  await counts.close()
  expect(saved).toEqual([
    [
      { ruleId: "1", matched: 100, lastMatchedAtMs: 100 },
      { ruleId: "2", matched: 101, lastMatchedAtMs: 101 },
    ],
  ])
})

test("counts that could not be saved are saved with later ones, and one save is bounded", async () => {
  const saved: (readonly RuleMatches[])[] = []
  let isFull = true
  const wakes: (() => void)[] = []
  const clock = { ...systemClock, sleep: () => new Promise<void>((resolve) => wakes.push(resolve)) }
  const counts = new RuleMatchCounts({
    store: {
      async countRuleMatches(rows) {
        if (isFull) throw new Error("full")
        saved.push(rows)
      },
    },
    clock,
  })
  counts.note(matchOf("1"), 5)
  wakes.shift()?.()
  await expect.poll(() => wakes.length).toBe(1)
  isFull = false
  counts.note(matchOf("1"), 9)
  wakes.shift()?.()
  await expect.poll(() => saved).toEqual([[{ ruleId: "1", matched: 2, lastMatchedAtMs: 9 }]])
  const many = Array.from({ length: 10_001 }, (_, at) => String(at))
  counts.note(matchOf(...many), 10)
  await expect.poll(() => wakes.length).toBe(1)
  const closing = counts.close()
  wakes.shift()?.()
  await closing
  expect(saved.slice(1).map((rows) => rows.length)).toEqual([10_000, 1])
})
