import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { expect, test } from "vitest"
import { Draw } from "../../packages/rules/src/testing/draw.testing.ts"
import { mutated } from "../../packages/rules/src/testing/hostile-rules.testing.ts"
import { BlockCoverage } from "./block-coverage.ts"
import { guidedRun, type Outcome, type Target } from "./guided-run.ts"

// Created before the program is loaded: code compiled earlier has no counters.
const coverage = new BlockCoverage((url) => /\/packages\/rules\/src\/(?!.*\.(?:test|testing)\.ts)/.test(url))
const { parseRule, printRule } = await import("../../packages/rules/src/index.ts")

/** A rule that negates three times is a fault. */
const planted: Target<string> = {
  name: "planted",
  seeds: ["cat", "cat dog", "(cat OR dog) -fish"],
  mutate: (text, other, draw) => mutated(text, other, draw).slice(0, 200),
  fault(text) {
    const parsed = parseRule(text)
    const isPlanted = parsed.ok && (printRule(parsed.rule).match(/(?<![a-z])-/g) ?? []).length >= 2
    return isPlanted ? { invariant: "no rule negates twice", detail: text } : undefined
  },
}

/** Runs a few seeds, as one seed may be unlucky. */
function firstFailing(limit: number, target: Target<string>): Outcome<string> | undefined {
  for (let seed = 1; seed <= 8; seed++) {
    const outcome = guidedRun(target, { coverage, draw: new Draw(seed), isOver: (done) => done >= limit })
    if (outcome.failure) return outcome
  }
  return undefined
}

test("a run finds a planted fault and minimises its input", { timeout: 120_000 }, () => {
  const outcome = firstFailing(20_000, planted)
  expect(outcome?.failure?.fault.invariant).toBe("no rule negates twice")
  // No simpler input fails, apart from spaces: `a -b -c`, in one of its many forms.
  expect(outcome?.failure?.input.length).toBeLessThan(25)
})

test("a run reaches further than its seeds", () => {
  const sound: Target<string> = { ...planted, fault: (text) => void parseRule(text) }
  const { executions, blocks, corpusSize } = guidedRun(sound, {
    coverage,
    draw: new Draw(7),
    isOver: (done) => done >= 2000,
  })
  expect(executions).toBeGreaterThanOrEqual(2000)
  expect(blocks.seeds).toBeGreaterThan(100)
  expect(blocks.covered).toBeGreaterThan(1.5 * blocks.seeds)
  expect(blocks.covered).toBeLessThanOrEqual(blocks.known)
  expect(corpusSize).toBeGreaterThan(50)
})

test("a run finds an input on which a check hangs, and ends the check", () => {
  const hanging: Target<string> = {
    ...planted,
    fault(text) {
      while (text.includes("-(")) void text
      return undefined
    },
  }
  const { failure } = guidedRun(hanging, {
    coverage,
    draw: new Draw(3),
    isOver: (done) => done >= 5000,
    // The whole test process may pause for a while, which is not a fault of the input.
    inputMsMax: 1_000,
  })
  expect(failure?.fault.invariant).toBe("a check ends")
  expect(failure?.input).toContain("-(")
})

test("the command prints its coverage, and that nothing failed", { timeout: 60_000 }, async () => {
  const script = fileURLToPath(new URL("run.ts", import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [script, "--executions", "300", "--seed", "1"])
  expect(stdout).toMatch(
    /^parser: seed 1, \d+ executions in [\d.]+ s, \d+ of \d+ blocks covered \(\d+ by the seeds\), corpus of \d+\nmatching: /,
  )
  expect(await exitCodeOf([script, "--seconds", "never"])).toBe(2)
})

async function exitCodeOf(command: readonly string[]): Promise<unknown> {
  return promisify(execFile)(process.execPath, command).then(
    () => 0,
    (error: { code: unknown }) => error.code,
  )
}
