/**
 * The meaning of a rule, which the matcher must reproduce.
 *
 * Deliberately simple and slow: it evaluates each operator over the whole post. It shares with the matcher the reading
 * of a post and the meaning of a single operator, and nothing else.
 */

import { containsPoint } from "../language/area.ts"
import { zones, type Operator, type Rule } from "../language/rule.ts"
import type { Facts } from "../post/post-facts.ts"
import { hasNear } from "../text/near.ts"
import { hasPhrase } from "../text/phrase.ts"
import { isSampled } from "./sample.ts"

/** True if the rule holds of the post. Both must have been read in the same mode. */
export function evaluate(rule: Rule, post: Facts): boolean {
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

/** True if one operator holds of the post. */
export function holds(operator: Operator, post: Facts): boolean {
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
      const location = post.location()
      return location !== undefined && containsPoint(operator.area, location)
    }
    case "sample":
      return isSampled(post.id, operator.percent)
    case "embedding":
      return (post.similarity(operator.value) ?? -Infinity) >= operator.threshold
  }
}
