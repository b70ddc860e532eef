import { expect, test } from "vitest"
import { mutated } from "../../packages/rules/src/testing/hostile-rules.testing.ts"
import type { Target } from "./guided-run.ts"
import { unguidedRun } from "./unguided-run.ts"

const planted: Target<string> = {
  name: "planted",
  seeds: ["cat", "cat dog"],
  mutate: (text, other, draw) => mutated(text, other, draw).slice(0, 200),
  fault: (text) => (text.includes("(") ? { invariant: "no parenthesis", detail: text } : undefined),
}

test("a run finds a planted fault and minimises its input, and the same seed finds it again", () => {
  const run = () => unguidedRun(planted, { seed: 1, isOver: (executions) => executions >= 100_000 })
  const { executions, failure } = run()
  expect(failure).toEqual({ input: "(", fault: { invariant: "no parenthesis", detail: "(" } })
  expect(executions).toBeLessThan(100_000)
  expect(run().executions).toBe(executions)
})

test("a run ends when isOver returns true", () => {
  const sound: Target<string> = { ...planted, fault: () => undefined }
  expect(unguidedRun(sound, { seed: 1, isOver: (executions) => executions >= 2000 })).toEqual({ executions: 2048 })
})
