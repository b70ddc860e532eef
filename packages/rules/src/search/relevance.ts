/** How well a post fits a rule, for searches in order of relevancy. X does not publish its order, so this one is ours. */

import { identityOf } from "../language/operator-identity.ts"
import type { Operator, Rule } from "../language/rule.ts"
import { holds } from "../meaning/evaluate.ts"
import type { Facts } from "../post/post-facts.ts"

/**
 * Counts the distinct operators of the rule that hold of a post and are not negated: 2 for `cat OR dog -cow` and a post
 * with cat and dog. Operators with the same meaning, such as `cat` and `CAT`, count once. A post that the rule does not
 * match may have some, too.
 */
export function relevanceOf(rule: Rule): (post: Facts) => number {
  const found = new Map<string, Operator>()
  addPositive(rule, false, found)
  const operators = Array.from(found.values())
  return (post) => operators.filter((operator) => holds(operator, post)).length
}

function addPositive(rule: Rule, isNegated: boolean, found: Map<string, Operator>): void {
  switch (rule.kind) {
    case "any":
    case "all":
      for (const one of rule.rules) addPositive(one, isNegated, found)
      break
    case "not":
      addPositive(rule.rule, !isNegated, found)
      break
    default:
      if (!isNegated) found.set(identityOf(rule), rule)
  }
}
