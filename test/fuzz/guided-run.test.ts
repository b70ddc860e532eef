import { expect, test } from "vitest"
import { Draw } from "../../packages/rules/src/draw.testing.ts"
import { mutated } from "../../packages/rules/src/hostile-rules.testing.ts"
import { BlockCoverage } from "./block-coverage.ts"
import { guidedRun, type Target } from "./guided-run.ts"

// Before the program: what is compiled earlier has no counters.
const coverage = new BlockCoverage((url) => /\/packages\/rules\/src\/(?!.*\.(?:test|testing)\.ts)/.test(url))
const { parseRule } = await import("../../packages/rules/src/parse-rule.ts")

/** The parser with a fault planted in it: a rule that holds both of these is one. */
const planted: Target<string> = {
  name: "planted",
  seeds: ["cat", "cat dog", "(cat OR dog) -fish"],
  mutate: (text, other, draw) => mutated(text, other, draw).slice(0, 200),
  fault(text) {
    const parsed = parseRule(text)
    const isPlanted = parsed.ok && /sample:/i.test(text) && text.includes("-(")
    return isPlanted ? { invariant: "no sample beside a negated group", detail: text } : undefined
  },
}

test("a planted fault is found and made small, and the run reaches further than its seeds", () => {
  const outcome = guidedRun(planted, { coverage, draw: new Draw(1), isOver: (done) => done >= 60_000 })
  expect(outcome.failure?.fault.invariant).toBe("no sample beside a negated group")
  expect(outcome.failure?.input.length).toBeLessThan(40)
  expect(outcome.blocks.covered).toBeGreaterThan(outcome.blocksBySeeds.covered)
  expect(outcome.corpusSize).toBeGreaterThan(planted.seeds.length)
})

test("without a fault the same draws are the same run", () => {
  const sound: Target<string> = { ...planted, fault: (text) => void parseRule(text) }
  const run = (): unknown => {
    const { executions, corpusSize, failure } = guidedRun(sound, {
      coverage,
      draw: new Draw(7),
      isOver: (done) => done >= 1500,
    })
    return { executions, corpusSize: corpusSize > 3, failure }
  }
  const first = run()
  expect(first).toMatchObject({ failure: undefined, corpusSize: true })
  expect(run()).toEqual(first)
})
