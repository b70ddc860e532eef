/**
 * What a rule means: the definition that the matcher is held to.
 *
 * Slow and obvious on purpose. It looks at the whole post for every operator and shares nothing
 * with the matcher's index but the facts.
 */

import { fold } from "./fold.ts"
import { languageKey } from "./languages.ts"
import type { PostFacts, UserNames } from "./post-facts.ts"
import type { Operator, Rule } from "./rule.ts"
import { hasPhrase } from "./phrase.ts"

/** Whether the rule holds of the post. */
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

function holds(operator: Operator, post: PostFacts): boolean {
  switch (operator.kind) {
    case "keyword":
    case "phrase":
      return post.passages.some((passage) => hasPhrase(passage.tokens, operator.words))
    case "url":
      return post.links.some((link) => hasPhrase(link.tokens, operator.words))
    case "hashtag":
      return post.hashtags.some((tag) => tag.key === fold(operator.value))
    case "mention":
      return post.mentions.some((mention) => mention.key === fold(operator.value))
    case "cashtag":
      return post.cashtags.some((tag) => tag.key === fold(operator.value))
    case "from":
      return isUser(post.author, operator.value)
    case "to":
      return isUser(post.repliedTo, operator.value)
    case "retweets_of":
      return isUser(post.repostedFrom, operator.value)
    case "conversation_id":
      return post.conversationId === operator.value
    case "lang":
      return post.lang === languageKey(operator.value)
    case "is":
      return post.is.has(operator.value)
    case "has":
      return post.has.has(operator.value)
  }
}

function isUser(user: UserNames, value: string): boolean {
  const name = fold(value)
  return user.id === name || user.username === name
}
