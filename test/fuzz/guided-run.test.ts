import { expect, test } from "vitest"
import { Draw } from "../../packages/rules/src/draw.testing.ts"
import { mutated } from "../../packages/rules/src/hostile-rules.testing.ts"
import { BlockCoverage } from "./block-coverage.ts"
import { guidedRun, type Target } from "./guided-run.ts"

// Before the program: what is compiled earlier has no counters.
const coverage = new BlockCoverage((url) => /\/packages\/rules\/src\/(?!.*\.(?:test|testing)\.ts)/.test(url))
const { parseRule } = await import("../../packages/rules/src/parse-rule.ts")

/** The parser with a fault planted in it, that no seed shows: a rule with two negated groups. */
const planted: Target<string> = {
  name: "planted",
  seeds: ["cat", "cat dog", "(cat OR dog) -fish", "cat -(dog OR fish)"],
  mutate: (text, other, draw) => mutated(text, other, draw).slice(0, 200),
  fault(text) {
    const isPlanted = parseRule(text).ok && text.split("-(").length > 2
    return isPlanted ? { invariant: "at most one negated group", detail: text } : undefined
  },
}

test("a planted fault is found and made small", { timeout: 120_000 }, () => {
  const outcome = guidedRun(planted, { coverage, draw: new Draw(1), isOver: (done) => done >= 200_000 })
  expect(outcome.failure?.fault.invariant).toBe("at most one negated group")
  expect(outcome.failure?.input.length).toBeLessThan(30)
  expect(outcome.executions).toBeGreaterThan(planted.seeds.length)
})

test("a run reaches further than its seeds, and without a fault says so", { timeout: 120_000 }, () => {
  const sound: Target<string> = { ...planted, fault: (text) => void parseRule(text) }
  const isOver = (done: number): boolean => done >= 1500
  const outcome = guidedRun(sound, { coverage, draw: new Draw(7), isOver })
  expect(outcome.failure).toBeUndefined()
  expect(outcome.executions).toBeGreaterThanOrEqual(1500)
  expect(outcome.blocks.covered).toBeGreaterThan(outcome.blocksBySeeds.covered)
  expect(outcome.corpusSize).toBeGreaterThan(planted.seeds.length)
})
