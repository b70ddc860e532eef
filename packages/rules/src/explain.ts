/** Why a rule matched a post: which of its operators held, and where. */

import { evaluate, holds } from "./evaluate.ts"
import { nearAt } from "./near.ts"
import { phraseAt } from "./phrase.ts"
import type { Key, Passage, PostFacts, Where } from "./post-facts.ts"
import { printRule } from "./print-rule.ts"
import { zones } from "./rule.ts"
import type { CountName, KeyName, Operator, Rule } from "./rule.ts"

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
  /**
   * Of the operators that hold and are not negated, in the rule's order; of each at most the first 20, and 100 in all.
   * Empty without a match.
   */
  readonly spans: readonly Span[]
}

/**
 * Places of one operator that are told, and spans of one post. Ours: rules and posts come from strangers, and a word
 * may stand half a million times in a post, for each of hundreds of operators that look for it.
 */
const placesMax = 20
const spansMax = 100

/** Explains a match. Costs a few evaluations: for people, not for the stream. */
export function explain(rule: Rule, post: PostFacts): Explanation {
  const spans = evaluate(rule, post) ? spansOf(rule, post) : undefined
  return spans === undefined
    ? { matches: false, spans: [] }
    : { matches: true, spans: spans.slice(0, spansMax) }
}

/** Undefined when the rule does not hold. Asks every operator once, however deep it stands. */
function spansOf(rule: Rule, post: PostFacts): readonly Span[] | undefined {
  switch (rule.kind) {
    case "any": {
      const found = rule.rules.flatMap((one) => {
        const spans = spansOf(one, post)
        return spans === undefined ? [] : [spans]
      })
      return found.length === 0 ? undefined : found.flat()
    }
    case "all": {
      const found: Span[] = []
      for (const one of rule.rules) {
        const spans = spansOf(one, post)
        if (spans === undefined) return undefined
        found.push(...spans)
      }
      return found
    }
    case "not":
      return evaluate(rule.rule, post) ? undefined : []
    default: {
      if (!holds(rule, post)) return undefined
      const operator = printRule(rule)
      return placesOf(rule, post)
        .slice(0, placesMax)
        .map((place) => ({ operator, ...place }))
    }
  }
}

type Place = Omit<Span, "operator">

/** Where an operator that holds does so. */
function placesOf(operator: Operator, post: PostFacts): readonly Place[] {
  switch (operator.kind) {
    case "words":
      return distinct(
        post.passages(zones[operator.name]).flatMap((passage) =>
          stretchesIn(passage, (from) => {
            const at = phraseAt(passage.tokens, operator.words, from)
            return at < 0 ? undefined : { from: at, to: at + operator.words.length }
          }),
        ),
      )
    case "near":
      return distinct(
        post
          .passages("text")
          .flatMap((passage) =>
            stretchesIn(passage, (from) => nearAt(passage.tokens, operator.words, operator.distance, from)),
          ),
      )
    case "key":
      return distinct(keysFound(operator.name, operator.key, post).map(placeOf))
    case "contains":
      return [{ where: "url" }]
    case "count":
      return [{ where: placeOfCount[operator.name] }]
    case "area":
      return [{ where: "place" }]
    case "sample":
      return [{ where: "post" }]
    case "embedding":
      return [{ where: "text" }]
  }
}

/** The keys that an operator found; of `has:hashtags` and its like, the marks themselves. */
function keysFound(name: KeyName, key: string, post: PostFacts): readonly Key[] {
  const mark = name === "has" && Object.hasOwn(markNames, key) ? markNames[key] : undefined
  return mark === undefined ? post.keys(name).filter((one) => one.key === key) : post.keys(mark)
}

const markNames: Readonly<Record<string, KeyName>> = {
  hashtags: "hashtag",
  mentions: "mention",
  cashtags: "cashtag",
}

const placeOfCount: Readonly<Record<CountName, Where>> = {
  followers_count: "author",
  following_count: "author",
  tweets_count: "author",
  listed_count: "author",
  min_likes: "post",
  min_replies: "post",
  min_reposts: "post",
  min_quotes: "post",
}

/** Links and pages have several texts, so a place in one of them would name none. */
function stretchesIn(
  { where, tokens }: Passage,
  next: (from: number) => { readonly from: number; readonly to: number } | undefined,
): readonly Place[] {
  const places: Place[] = []
  for (let found = next(0); found && places.length < placesMax; found = next(found.to)) {
    if (where === "url" || where === "url_title" || where === "url_description") return [{ where }]
    places.push({ where, start: tokens[found.from]?.start ?? 0, end: tokens[found.to - 1]?.end ?? 0 })
  }
  return places
}

/** An operator that holds in two links, or of two media, says so once. */
function distinct(places: readonly Place[]): readonly Place[] {
  return Array.from(new Map(places.map((place) => [JSON.stringify(place), place])).values())
}

function placeOf({ where, start, end }: Key): Place {
  return start === undefined || end === undefined ? { where } : { where, start, end }
}
