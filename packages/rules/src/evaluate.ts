/**
 * What a rule means: the definition that the matcher is held to.
 *
 * Slow and obvious on purpose. It looks at the whole post for every operator and shares nothing
 * with the matcher's index but the facts and the meaning of a single operator.
 */

import { holdsPoint, meetsBox } from "./area.ts"
import type { Area } from "./area.ts"
import { hasNear } from "./near.ts"
import { hasPhrase } from "./phrase.ts"
import type { Ground, PostFacts } from "./post-facts.ts"
import { zones } from "./rule.ts"
import type { Operator, Rule } from "./rule.ts"
import { isSampled } from "./sample.ts"

/** Whether the rule holds of the post. Both were read in the same mode. */
export function evaluate(rule: Rule, post: PostFacts): boolean {
  switch (rule.kind) {
    case "any":
      return rule.rules.some((one) => evaluate(one, post))
    case "all":
      return rule.rules.every((one) => evaluate(one, post))
    case "not":
      return !evaluate(rule.rule, post)
    default:
      return holds(rule, post)
  }
}

/** Whether one operator holds of the post. */
export function holds(operator: Operator, post: PostFacts): boolean {
  switch (operator.kind) {
    case "words":
      return post.passages(zones[operator.name]).some(({ tokens }) => hasPhrase(tokens, operator.words))
    case "near":
      return post.passages("text").some(({ tokens }) => hasNear(tokens, operator.words, operator.distance))
    case "key":
      return post.keys(operator.name).some(({ key }) => key === operator.key)
    case "contains":
      return post.linkTexts().some((link) => link.includes(operator.text))
    case "count": {
      const count = post.count(operator.name)
      return count !== undefined && count >= operator.least && count <= (operator.most ?? Infinity)
    }
    case "area": {
      const ground = post.ground()
      return ground !== undefined && meets(operator.area, ground)
    }
    case "sample":
      return isSampled(post.id, operator.percent)
    case "embedding":
      return (post.similarity(operator.value) ?? -Infinity) >= operator.threshold
  }
}

function meets(area: Area, { point, box }: Ground): boolean {
  if (point) return holdsPoint(area, point)
  return box !== undefined && meetsBox(area, box)
}
