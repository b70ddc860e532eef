/**
 * A rule as a query over stored posts.
 *
 *     index   each post under its terms (`termsOf`)
 *     query   the plan of a rule (`planSearch`): terms that every match must have
 *     then    `evaluate`, of what the query found
 *
 * The plan leaves out what an index of terms cannot answer: the order of words, numbers, areas, negations. So it
 * finds every match and some other posts.
 */

import type { PostFacts } from "./post-facts.ts"
import { keyNames, zones } from "./rule.ts"
import type { Rule, Zone } from "./rule.ts"
import { keyTerm, wordTerm } from "./terms.ts"

/** What a post must be indexed under. */
export type SearchPlan =
  | { readonly kind: "term"; readonly term: string }
  /** Two or more, none of them `every` and none of the same kind. */
  | { readonly kind: "any" | "all"; readonly plans: readonly SearchPlan[] }
  /** The terms say nothing: every post has to be looked at. */
  | { readonly kind: "every" }

const every: SearchPlan = { kind: "every" }

/** The terms that a post needs for the rule to hold of it. */
export function planSearch(rule: Rule): SearchPlan {
  switch (rule.kind) {
    case "any":
      return joined("any", rule.rules.map(planSearch))
    case "all":
      return joined("all", rule.rules.map(planSearch))
    case "words": {
      const zone = zones[rule.name]
      return joined(
        "all",
        rule.words.map(({ text }) => ({ kind: "term", term: wordTerm(zone, text) })),
      )
    }
    case "near":
      return joined(
        "all",
        rule.words.map(({ text }) => ({ kind: "term", term: wordTerm("text", text) })),
      )
    case "key":
      return { kind: "term", term: keyTerm(rule.name, rule.key) }
    case "not":
    case "contains":
    case "count":
    case "area":
    case "sample":
    case "embedding":
      return every
  }
}

function joined(kind: "any" | "all", plans: readonly SearchPlan[]): SearchPlan {
  const hasEvery = plans.some((plan) => plan.kind === "every")
  if (kind === "any" && (hasEvery || plans.length === 0)) return every
  const flat = plans.flatMap((plan) => (plan.kind === kind ? plan.plans : plan))
  const known = flat.filter((plan) => plan.kind !== "every")
  const distinct = Array.from(new Map(known.map((plan) => [JSON.stringify(plan), plan])).values())
  const [only] = distinct
  if (only === undefined) return every
  return distinct.length === 1 ? only : { kind, plans: distinct }
}

/** Whether a post with these terms may match. */
export function mayMatch(plan: SearchPlan, terms: ReadonlySet<string>): boolean {
  switch (plan.kind) {
    case "every":
      return true
    case "term":
      return terms.has(plan.term)
    case "any":
      return plan.plans.some((one) => mayMatch(one, terms))
    case "all":
      return plan.plans.every((one) => mayMatch(one, terms))
  }
}

const zoneNames: readonly Zone[] = [...new Set(Object.values(zones))]

/** The terms of a post, each once, in no particular order. */
export function termsOf(post: PostFacts): ReadonlySet<string> {
  const terms = new Set<string>()
  for (const zone of zoneNames) {
    for (const { tokens } of post.passages(zone)) {
      for (const { text, toneless } of tokens) {
        if (text !== "") terms.add(wordTerm(zone, text))
        if (toneless !== undefined) terms.add(wordTerm(zone, toneless))
      }
    }
  }
  for (const name of keyNames) for (const { key } of post.keys(name)) terms.add(keyTerm(name, key))
  return terms
}
