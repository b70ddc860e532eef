/** Why a rule matched a post: which of its operators held, and where. */

import { printRule } from "../language/print-rule.ts"
import { zones, type KeyName, type Operator, type Rule } from "../language/rule.ts"
import type { FieldSource, Key, Passage } from "../post/field-values.ts"
import type { PostFacts } from "../post/post-facts.ts"
import { nearAt } from "../text/near.ts"
import { phraseAt } from "../text/phrase.ts"
import { evaluate, holds } from "./evaluate.ts"

/** One occurrence of an operator that held. */
export type Span = {
  /** As `printRule` prints it. */
  readonly operator: string
  readonly where: FieldSource
  /** Code points in the text that `where` names, end exclusive; absent if there is no such text. */
  readonly start?: number
  readonly end?: number
}

/** True if a rule matches, and which of its operators held. */
type Explanation = {
  readonly matches: boolean
  /**
   * Spans of the operators that hold and are not negated, in the order of the rule: the first 20 of each operator, and
   * 100 in all. Empty without a match.
   */
  readonly spans: readonly Span[]
}

/**
 * Most occurrences of one operator, and most spans of one post. Ours: rules and posts are untrusted, and a word may
 * occur half a million times in a post for each of hundreds of operators.
 */
const occurrencesMax = 20
const spansMax = 100

/** Explains a match. Costs several evaluations, so it is for people and not for the stream. */
export function explain(rule: Rule, post: PostFacts): Explanation {
  const spans = evaluate(rule, post) ? spansOf(rule, post) : undefined
  return spans === undefined ? { matches: false, spans: [] } : { matches: true, spans: spans.slice(0, spansMax) }
}

/** Undefined if the rule does not hold. Evaluates every operator once, at any depth. */
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
      return occurrencesOf(rule, post)
        .slice(0, occurrencesMax)
        .map((occurrence) => ({ operator, ...occurrence }))
    }
  }
}

type Occurrence = Omit<Span, "operator">

/** The occurrences of an operator that holds. */
function occurrencesOf(operator: Operator, post: PostFacts): readonly Occurrence[] {
  switch (operator.kind) {
    case "words":
      return distinct(
        post.passages(zones[operator.name]).flatMap((passage) =>
          occurrencesIn(passage, (from) => {
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
            occurrencesIn(passage, (from) => nearAt(passage.tokens, operator.words, operator.distance, from)),
          ),
      )
    case "key":
      return distinct(keysFound(operator.name, operator.key, post).map(occurrenceOfKey))
    case "contains":
      return [{ where: "url" }]
    case "count":
      return [{ where: operator.name.startsWith("min_") ? "post" : "author" }]
    case "area":
      return [{ where: "place" }]
    case "sample":
      return [{ where: "post" }]
    case "embedding":
      return [{ where: "text" }]
  }
}

/** The keys that an operator found. For `has:hashtags`, `has:mentions` and `has:cashtags`, the marks themselves. */
function keysFound(name: KeyName, key: string, post: PostFacts): readonly Key[] {
  const mark = name === "has" && Object.hasOwn(markNames, key) ? markNames[key] : undefined
  const marks = mark === undefined ? [] : post.keys(mark)
  return marks.length > 0 ? marks : post.keys(name).filter((one) => one.key === key)
}

const markNames: Readonly<Record<string, KeyName>> = {
  hashtags: "hashtag",
  mentions: "mention",
  cashtags: "cashtag",
}

/** Links and linked pages have several texts, so offsets would not say in which of them. */
function occurrencesIn(
  { where, tokens }: Passage,
  next: (from: number) => { readonly from: number; readonly to: number } | undefined,
): readonly Occurrence[] {
  const occurrences: Occurrence[] = []
  for (let found = next(0); found && occurrences.length < occurrencesMax; found = next(found.to)) {
    if (where === "url" || where === "url_title" || where === "url_description") return [{ where }]
    occurrences.push({
      where,
      start: tokens[found.from]?.start ?? 0,
      end: tokens[found.to - 1]?.end ?? 0,
    })
  }
  return occurrences
}

/** An operator that holds of two links or two media gives one occurrence. */
function distinct(occurrences: readonly Occurrence[]): readonly Occurrence[] {
  return Array.from(new Map(occurrences.map((one) => [JSON.stringify(one), one])).values())
}

function occurrenceOfKey({ where, start, end }: Key): Occurrence {
  return start === undefined || end === undefined ? { where } : { where, start, end }
}
