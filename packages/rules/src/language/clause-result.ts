/**
 * The properties of a part of a rule while it is parsed.
 *
 * A rule must select: every branch of every OR needs a positive clause that stands alone, or the rule would match half
 * of all posts. So each part carries its violations, the problems that X would report if the part were the whole rule.
 * In an AND one clause without violations is enough. In an OR every branch must be without violations.
 */

import type { Selectivity } from "./operators.ts"
import { isSampling, notStandalone, onlyNegation, onlyStopwords, type Part, type RuleProblem } from "./rule-problem.ts"
import type { Rule } from "./rule.ts"

/** Why a part cannot be a rule by itself. */
export type Violation = {
  readonly kind: "stopword" | "sampling" | "conjunction" | "negation"
  readonly problem: RuleProblem
}

/** A parsed clause, group or branch. Without a rule it is invalid, and reported. */
export type ClauseResult = {
  readonly rule?: Rule
  /** Empty if the part could be a rule by itself. */
  readonly violations: readonly Violation[]
  /** True if it contains an operator that is not negated. */
  readonly isPositive: boolean
  readonly position: number
  /** The value of an `embedding_threshold:`, which belongs to the `embedding:` next to it and is no rule. */
  readonly threshold?: { readonly value: number; readonly part: Part }
  /** Could not be read. Nothing else is reported about it. */
  readonly isBroken?: true
}

/** A part that could not be read. */
export function broken(position: number): ClauseResult {
  return { violations: [], isPositive: true, position, isBroken: true }
}

/** The violations of one operator. */
export function violationsOf(selectivity: Selectivity, part: Part): readonly Violation[] {
  if (selectivity === "conjunction") {
    return [{ kind: isSampling(part.text) ? "sampling" : "conjunction", problem: notStandalone(part) }]
  }
  return selectivity === "stopword" ? [{ kind: "stopword", problem: onlyStopwords(part) }] : []
}

/** The result behind so many dashes. Only whether their number is odd matters; an even number is kept as two. */
export function negated(result: ClauseResult, { dashes, dashAt }: { dashes: number; dashAt: number }): ClauseResult {
  if (dashes === 0 || result.isBroken) return result
  const violations: readonly Violation[] = [
    { kind: "negation", problem: onlyNegation({ text: "-", position: dashAt }) },
  ]
  const outer = { violations, isPositive: false, position: dashAt }
  if (!result.rule) return outer
  const once: Rule = { kind: "not", rule: result.rule }
  return { ...outer, rule: dashes % 2 === 1 ? once : { kind: "not", rule: once } }
}

/** The violation to report for an AND without a standalone clause. */
export function mostSpecific(violations: readonly Violation[]): readonly Violation[] {
  for (const kind of ["stopword", "sampling", "conjunction", "negation"] as const) {
    const some = violations.find((violation) => violation.kind === kind)
    if (some) return [some]
  }
  return []
}

/** The results joined by AND or OR. */
export function joined(
  kind: "any" | "all",
  results: readonly ClauseResult[],
  violations: readonly Violation[],
): ClauseResult {
  const outer = {
    violations,
    isPositive: results.some((result) => result.isPositive),
    position: results[0]?.position ?? 1,
  }
  const rules = results.flatMap((result) => (result.rule ? [result.rule] : []))
  return rules.length === results.length ? { ...outer, rule: { kind, rules } } : outer
}
