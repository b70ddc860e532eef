/** Why a rule does not match a post: each of its clauses, whether it holds, and which of them decided. */

import { printRule } from "../language/print-rule.ts"
import type { Rule } from "../language/rule.ts"
import type { RuleSources, SourceRange } from "../language/rule-sources.ts"
import type { PostFacts } from "../post/post-facts.ts"
import { holds } from "./evaluate.ts"

/** A part of a rule, compared with one post. `start` and `end` are its place in the rule's text. */
export type ClauseOutcome = SourceRange & {
  readonly kind: "any" | "all" | "not" | "operator"
  /** True if the part holds of the post: for a `not`, whether what it negates does not. */
  readonly holds: boolean
  /** The operator as `printRule` prints it; empty for other parts. */
  readonly operator: string
  /** True if an odd number of negations stands around the part, so that the rule wants it not to hold. */
  readonly isUnwanted: boolean
  readonly clauses: readonly ClauseOutcome[]
}

/** How the clauses of a rule compare with one post. */
export type WhyNot = {
  /** As `evaluate` says. */
  readonly matches: boolean
  readonly clause: ClauseOutcome
  /**
   * The operators that kept the post from matching, in the order of the rule: if each of them had turned out the other
   * way, the rule would match. A failed OR gives the operators of every branch. Empty for a match.
   */
  readonly failed: readonly ClauseOutcome[]
}

/**
 * Compares every clause of a rule with the post. The rule is one that `parseLocatedRule` returned with the sources,
 * read in the mode of the post. Evaluates each operator once, whether it decides or not: at most a third of
 * `explainSteps`.
 */
export function whyNot(rule: Rule, sources: RuleSources, post: PostFacts): WhyNot {
  const clause = outcomeOf(rule, { sources, post, isUnwanted: false })
  return { matches: clause.holds, clause, failed: deciding(clause, true) }
}

type Context = { readonly sources: RuleSources; readonly post: PostFacts; readonly isUnwanted: boolean }

function outcomeOf(rule: Rule, context: Context): ClauseOutcome {
  const { sources, post, isUnwanted } = context
  const place = sources.of(rule)
  switch (rule.kind) {
    case "any":
    case "all": {
      const clauses = rule.rules.map((one) => outcomeOf(one, context))
      const isHolding = rule.kind === "any" ? clauses.some((one) => one.holds) : clauses.every((one) => one.holds)
      return { kind: rule.kind, holds: isHolding, operator: "", isUnwanted, ...place, clauses }
    }
    case "not": {
      const negated = outcomeOf(rule.rule, { ...context, isUnwanted: !isUnwanted })
      return { kind: "not", holds: !negated.holds, operator: "", isUnwanted, ...place, clauses: [negated] }
    }
    default:
      return {
        kind: "operator",
        holds: holds(rule, post),
        operator: printRule(rule),
        isUnwanted,
        ...place,
        clauses: [],
      }
  }
}

/** The operators because of which a clause is not as wanted. */
function deciding(clause: ClauseOutcome, wanted: boolean): readonly ClauseOutcome[] {
  if (clause.holds === wanted) return []
  if (clause.kind === "operator") return [clause]
  return clause.clauses.flatMap((one) => deciding(one, clause.kind === "not" ? !wanted : wanted))
}
