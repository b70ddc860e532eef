/**
 * `npm run test:fuzz -- [--seconds 60] [--executions N] [--seed N] [--target parser|matching]`
 *
 * Looks for rules and posts that break an invariant, led by the blocks of the rule package that they reach. Exits 0
 * when none was found, 1 with the first one, minimised, as a line of JSON, 2 when it was started wrongly.
 *
 * Time is shared by the targets equally. The same seed and executions make nearly the same run again.
 */
import { parseArgs } from "node:util"
import { BlockCoverage } from "./block-coverage.ts"
import { guidedRun, type Target } from "./guided-run.ts"
import type { Json } from "./simpler-json.ts"

const usage = `usage: npm run test:fuzz -- [options]
  --seconds N       of all targets together (60)
  --executions N    of each target; ends it before its time, if need be
  --seed N          of all that is drawn (the clock's)
  --target NAME     parser or matching (both)`

const options = readOptions()
if (options === undefined) {
  process.stderr.write(`${usage}\n`)
  process.exitCode = 2
} else {
  // The coverage before the program: what is compiled earlier has no counters.
  using coverage = new BlockCoverage((url) => /\/packages\/rules\/src\/(?!.*\.(?:test|testing)\.ts)/.test(url))
  const { Draw } = await import("../../packages/rules/src/testing/draw.testing.ts")
  const { parserTarget, matchingTarget } = await import("./rule-targets.ts")
  const { seconds, executions, seed, name } = options
  const all = [parserTarget, matchingTarget] as readonly unknown[] as readonly Target<Json>[]
  const targets = all.filter((target) => name === undefined || target.name === name)
  for (const [index, target] of targets.entries()) {
    const startedAtMs = performance.now()
    const endsAtMs = startedAtMs + (seconds * 1000) / targets.length
    const outcome = guidedRun(target, {
      coverage,
      draw: new Draw(seed, index),
      isOver: (done) => done >= executions || performance.now() >= endsAtMs,
    })
    const { blocks, corpusSize, failure } = outcome
    process.stdout.write(
      `${target.name}: seed ${seed}, ${outcome.executions} executions in ` +
        `${((performance.now() - startedAtMs) / 1000).toFixed(1)} s, ` +
        `${blocks.covered} of ${blocks.known} blocks covered (${blocks.seeds} by the seeds), ` +
        `corpus of ${corpusSize}\n`,
    )
    if (failure === undefined) continue
    process.stdout.write(
      `${target.name}: does not hold: ${failure.fault.invariant}: ${failure.fault.detail}\n` +
        `${JSON.stringify(failure.input)}\n`,
    )
    process.exitCode = 1
    break
  }
}

/** Undefined when they make no sense. */
function readOptions(): { seconds: number; executions: number; seed: number; name: string | undefined } | undefined {
  try {
    const { values } = parseArgs({
      options: {
        seconds: { type: "string", default: "60" },
        executions: { type: "string", default: "Infinity" },
        seed: { type: "string", default: String(Date.now() % 2 ** 31) },
        target: { type: "string" },
      },
    })
    const [seconds, executions, seed] = [Number(values.seconds), Number(values.executions), Number(values.seed)]
    const isRight =
      seconds > 0 &&
      executions > 0 &&
      Number.isSafeInteger(seed) &&
      (values.target === undefined || ["parser", "matching"].includes(values.target))
    return isRight ? { seconds, executions, seed, name: values.target } : undefined
  } catch {
    return undefined
  }
}
