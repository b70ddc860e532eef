/**
 * Reposts in a search. X's search returns none for keywords, because the original is found as well.
 *
 * Source: docs.x.com, changelog of 2026-05-04. Ours is which rules ask for them: X's documents still list the operators.
 */

import type { KeyName, Rule } from "../language/rule.ts"

const notRepost: Rule = { kind: "not", rule: { kind: "key", name: "is", value: "retweet", key: "retweet" } }

const namesOfReposts: ReadonlySet<KeyName> = new Set(["retweets_of", "retweets_of_tweet_id"])

/**
 * The rule as a search reads it: with `-is:retweet`, unless `is:retweet`, `retweets_of:` or `retweets_of_tweet_id:`
 * stands in it and is not negated.
 */
export function withoutReposts(rule: Rule): Rule {
  return asksForReposts(rule, false) ? rule : { kind: "all", rules: [rule, notRepost] }
}

function asksForReposts(rule: Rule, isNegated: boolean): boolean {
  switch (rule.kind) {
    case "any":
    case "all":
      return rule.rules.some((one) => asksForReposts(one, isNegated))
    case "not":
      return asksForReposts(rule.rule, !isNegated)
    case "key":
      return !isNegated && (namesOfReposts.has(rule.name) || (rule.name === "is" && rule.key === "retweet"))
    default:
      return false
  }
}
