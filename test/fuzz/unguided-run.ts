/**
 * Random changes of the seeds, without coverage. It checks a hundred times as many inputs as `guidedRun` in the same
 * time, since counters slow the program down: for targets on which guided runs find nothing new.
 */
import { Draw } from "../../packages/rules/src/testing/draw.testing.ts"
import type { Fault } from "../../packages/rules/src/testing/rule-invariants.testing.ts"
import type { Target } from "./guided-run.ts"
import { minimised, type Json } from "./simpler-json.ts"

/** Most changes of a seed. */
const changesMax = 6

/** Inputs between two calls of `isOver`. */
const batchSize = 1024

/** Runs until it finds a fault or `isOver` returns true. The same seed gives the same inputs. */
export function unguidedRun<Input extends Json>(
  target: Target<Input>,
  { seed, isOver }: { readonly seed: number; readonly isOver: (executions: number) => boolean },
): { readonly executions: number; readonly failure?: { readonly input: Input; readonly fault: Fault } } {
  for (let executions = 0; ; executions++) {
    if (executions % batchSize === 0 && isOver(executions)) return { executions }
    const draw = new Draw(seed, executions)
    let input = draw.oneOf(target.seeds)
    for (let change = draw.below(changesMax); change >= 0; change--)
      input = target.mutate(input, draw.oneOf(target.seeds), draw)
    const fault = target.fault(input)
    if (fault === undefined) continue
    const isSame = (one: Input): boolean => target.fault(one)?.invariant === fault.invariant
    const smallest = minimised(input, isSame)
    return { executions, failure: { input: smallest, fault: target.fault(smallest) ?? fault } }
  }
}
