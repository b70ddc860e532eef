/** Why a rule matched a post: which of its operators held, and where. */

import { evaluate } from "./evaluate.ts"
import { fold } from "./fold.ts"
import { phraseAt } from "./phrase.ts"
import type { Entity } from "./entities.ts"
import type { Passage, PostFacts, Where } from "./post-facts.ts"
import { printRule } from "./rule.ts"
import type { Operator, Rule, Word } from "./rule.ts"

/** An operator that held, at one place. */
export type Span = {
  /** As `printRule` prints it. */
  readonly operator: string
  readonly where: Where
  /** Code points in the text that `where` names, end exclusive; absent where there is no such text. */
  readonly start?: number
  readonly end?: number
}

/** Whether a rule matches, and what of it. */
export type Explanation = {
  readonly matches: boolean
  /** Of the operators that hold and are not negated, in the rule's order; empty without a match. */
  readonly spans: readonly Span[]
}

/** Explains a match. Costs a few evaluations: for people, not for the stream. */
export function explain(rule: Rule, post: PostFacts): Explanation {
  return evaluate(rule, post) ? { matches: true, spans: spansOf(rule, post) } : { matches: false, spans: [] }
}

function spansOf(rule: Rule, post: PostFacts): readonly Span[] {
  switch (rule.kind) {
    case "any":
    case "all":
      return rule.rules.filter((one) => evaluate(one, post)).flatMap((one) => spansOf(one, post))
    case "not":
      return []
    default:
      return placesOf(rule, post).map((place) => ({ operator: printRule(rule), ...place }))
  }
}

type Place = Omit<Span, "operator">

/** Where an operator that holds does so. */
function placesOf(operator: Operator, post: PostFacts): readonly Place[] {
  switch (operator.kind) {
    case "keyword":
    case "phrase":
      return post.passages.flatMap((passage) => placesIn(passage, operator.words))
    case "url":
      return [{ where: "url" }]
    case "hashtag":
      return marksOf(post.hashtags, operator.value)
    case "mention":
      return marksOf(post.mentions, operator.value)
    case "cashtag":
      return marksOf(post.cashtags, operator.value)
    case "from":
      return [{ where: "author" }]
    case "to":
      return [{ where: "reply" }]
    case "retweets_of":
      return [{ where: "original" }]
    case "conversation_id":
    case "lang":
      return [{ where: "post" }]
    case "is":
      return [
        { where: operator.value === "verified" ? "author" : operator.value === "reply" ? "reply" : "post" },
      ]
    case "has":
      return flagPlaces(operator.value, post)
  }
}

function flagPlaces(
  value: "hashtags" | "mentions" | "cashtags" | "links" | "media" | "images",
  post: PostFacts,
): readonly Place[] {
  switch (value) {
    case "hashtags":
    case "mentions":
    case "cashtags":
      return post[value].map(placeOf)
    case "links":
      return [{ where: "url" }]
    case "media":
    case "images":
      return [{ where: "media" }]
  }
}

/** Links have several texts, so a place in one of them would name none. */
function placesIn({ where, tokens }: Passage, words: readonly Word[]): readonly Place[] {
  const places: Place[] = []
  for (let at = phraseAt(tokens, words, 0); at >= 0; at = phraseAt(tokens, words, at + words.length)) {
    if (where === "url") return [{ where }]
    places.push({ where, start: tokens[at]?.start ?? 0, end: tokens[at + words.length - 1]?.end ?? 0 })
  }
  return places
}

function marksOf(marks: readonly Entity[], value: string): readonly Place[] {
  return marks.filter((mark) => mark.key === fold(value)).map(placeOf)
}

function placeOf({ where, start, end }: Entity): Place {
  return start === undefined || end === undefined ? { where } : { where, start, end }
}
