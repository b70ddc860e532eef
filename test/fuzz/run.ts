/**
 * `npm run test:fuzz -- [--seconds 60] [--executions N] [--seed N] [--target parser|matching|walk] [--unguided]`
 *
 * Searches for rules, posts and lines of bytes that break an invariant, guided by the blocks of the rule package that
 * they reach. Exits 0 when it finds none, 1 with the first one, minimised, as a line of JSON, 2 for invalid options.
 *
 * The targets share the time equally. The same seed and executions give nearly the same run again.
 */
import { parseArgs } from "node:util"
import { BlockCoverage } from "./block-coverage.ts"
import { guidedRun, type Outcome, type Target } from "./guided-run.ts"
import type { Json } from "./simpler-json.ts"

const usage = `usage: npm run test:fuzz -- [options]
  --seconds N       of all targets together (60)
  --executions N    of each target; ends it before its time, if need be
  --seed N          of all that is drawn (the clock's)
  --target NAME     parser, matching or walk (all)
  --unguided        random changes of the seeds only: many more of them in the same time`

const options = readOptions()
if (options === undefined) {
  process.stderr.write(`${usage}\n`)
  process.exitCode = 2
} else {
  const { seconds, executions, seed, name, isUnguided } = options
  // Coverage begins before the program is loaded: code compiled earlier has no counters.
  using coverage = isUnguided
    ? undefined
    : new BlockCoverage((url) => /\/packages\/rules\/src\/(?!.*\.(?:test|testing)\.ts)/.test(url))
  const { Draw } = await import("../../packages/rules/src/testing/draw.testing.ts")
  const { unguidedRun } = await import("./unguided-run.ts")
  const { parserTarget, matchingTarget, walkTarget } = await import("./rule-targets.ts")
  const all = [parserTarget, matchingTarget, walkTarget] as readonly unknown[] as readonly Target<Json>[]
  const targets = all.filter((target) => name === undefined || target.name === name)
  for (const [index, target] of targets.entries()) {
    const startedAtMs = performance.now()
    const endsAtMs = startedAtMs + (seconds * 1000) / targets.length
    const isOver = (done: number): boolean => done >= executions || performance.now() >= endsAtMs
    const outcome: Partial<Outcome<Json>> =
      coverage === undefined
        ? unguidedRun(target, { seed, isOver })
        : guidedRun(target, { coverage, draw: new Draw(seed, index), isOver })
    const reached = outcome.blocks
      ? `, ${outcome.blocks.covered} of ${outcome.blocks.known} blocks covered (${outcome.blocks.seeds} by the seeds), ` +
        `corpus of ${outcome.corpusSize}`
      : ""
    process.stdout.write(
      `${target.name}: seed ${seed}, ${outcome.executions} executions in ` +
        `${((performance.now() - startedAtMs) / 1000).toFixed(1)} s${reached}\n`,
    )
    const { failure } = outcome
    if (failure === undefined) continue
    process.stdout.write(
      `${target.name}: does not hold: ${failure.fault.invariant}: ${failure.fault.detail}\n` +
        `${JSON.stringify(failure.input)}\n`,
    )
    process.exitCode = 1
    break
  }
}

/** Parses the options; undefined for invalid ones. */
function readOptions():
  | { seconds: number; executions: number; seed: number; name: string | undefined; isUnguided: boolean }
  | undefined {
  try {
    const { values } = parseArgs({
      options: {
        seconds: { type: "string", default: "60" },
        executions: { type: "string", default: "Infinity" },
        seed: { type: "string", default: String(Date.now() % 2 ** 31) },
        target: { type: "string" },
        unguided: { type: "boolean", default: false },
      },
    })
    const [seconds, executions, seed] = [Number(values.seconds), Number(values.executions), Number(values.seed)]
    const isRight =
      seconds > 0 &&
      executions > 0 &&
      Number.isSafeInteger(seed) &&
      (values.target === undefined || ["parser", "matching", "walk"].includes(values.target))
    return isRight ? { seconds, executions, seed, name: values.target, isUnguided: values.unguided } : undefined
  } catch {
    return undefined
  }
}
