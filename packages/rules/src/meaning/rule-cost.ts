/**
 * The maximum cost of a rule in the matcher, computed before the rule is used.
 *
 * The unit is a step: reading one word of a post or one part of a rule. `ruleCost` is the maximum number of steps of a
 * rule for a post in which none of its words occurs more than 16 times and whose links have at most 1,024 characters in
 * total. The sum over an app's rules bounds their cost for any such post, and a limit on that sum keeps one app from
 * delaying all others. For other posts the steps are counted and bounded while matching.
 *
 *     cat dog            7    one for each word, one for the AND, and the four of every rule
 *     "hot dog"         41    for each word: is it present, how often, and up to 16 comparisons
 *     "hot dog"~6      389
 */

import type { PostFacts } from "../post/post-facts.ts"
import { zones, type Operator, type Rule, type Zone } from "../language/rule.ts"

/** Steps to reach a rule. */
export const rootSteps = 4

/** Maximum occurrences of a word in a post for which `ruleCost` is the bound. */
export const costRepetitions = 16

/** Maximum characters of the links of such a post, in all their forms. */
export const costLinkCharacters = 1024

/** Characters that a substring search passes in one step. */
export const charactersPerStep = 4

/** Steps for a word of a phrase: whether it is present, at how many positions, and a comparison at each of them. */
const phraseWordSteps = 2 + costRepetitions

/**
 * Steps for a word of a proximity. Its position is searched for again for each position of the other words: at most 7
 * times the number of occurrences of the rarest word.
 */
const nearWordSteps = 12 * costRepetitions

/** Steps of an operator that does not search for words, for any post. The steps for the links of `contains` are added to it. */
export function operatorSteps(operator: Operator): number {
  switch (operator.kind) {
    case "sample":
    case "count":
    case "contains":
      return 8
    case "area":
      return 64
    case "embedding":
      // The product of two vectors of about a thousand numbers.
      return 512
    default:
      return 1
  }
}

/** Maximum steps of the rule for a post as described above. At least 5. */
export function ruleCost(rule: Rule): number {
  return rootSteps + partCost(rule)
}

function partCost(rule: Rule): number {
  switch (rule.kind) {
    case "any":
    case "all":
      return rule.rules.reduce((sum, one) => sum + partCost(one), 1)
    case "not":
      return 1 + partCost(rule.rule)
    case "words":
      return rule.words.length === 1 ? 1 : 1 + rule.words.length * phraseWordSteps
    case "near":
      return 1 + rule.words.length * nearWordSteps
    case "contains":
      return 1 + operatorSteps(rule) + costLinkCharacters / charactersPerStep
    case "key":
      return 1
    default:
      return 1 + operatorSteps(rule)
  }
}

/**
 * Maximum steps of `explain` for the rule and the post. It compares each word of the rule with each word of the post, to
 * decide whether the rule holds and again to find where.
 */
export function explainSteps(rule: Rule, post: PostFacts): number {
  switch (rule.kind) {
    case "any":
    case "all":
      return rule.rules.reduce((sum, one) => sum + explainSteps(one, post), 1)
    case "not":
      return 1 + explainSteps(rule.rule, post)
    case "words":
      return 3 * tokensIn(post, zones[rule.name]) * Math.min(rule.words.length, comparedWordsMax)
    case "near":
      return 3 * tokensIn(post, "text") * rule.words.length * (rule.distance + 1)
    case "contains":
      return 3 * post.linkTexts().reduce((sum, text) => sum + text.length, 1)
    case "key":
      return 3 * post.keys(rule.name).length + 1
    default:
      return 3 * operatorSteps(rule)
  }
}

/** Maximum words of a phrase that are compared one by one; a longer one is found by bits (`phrase.ts`). */
const comparedWordsMax = 32

function tokensIn(post: PostFacts, zone: Zone): number {
  return post.passages(zone).reduce((sum, { tokens }) => sum + tokens.length + 1, 0)
}
