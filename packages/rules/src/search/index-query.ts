/**
 * The query of a rule over the terms of stored posts. It proposes posts, and `evaluate` decides.
 *
 *     cat (dog OR "hot fish") -cow    ──►    * OR ( t:cat  ( t:dog OR ( t:hot t:fish ) )  NOT t:cow )
 *
 * Every post that a rule matches has the terms that its query requires. Terms say nothing about the order of words,
 * about numbers and about areas: such an operator requires its words, or nothing, and makes the query inexact. Negations
 * are moved to the operators by De Morgan's laws, because the negation of what terms cannot express requires nothing.
 *
 * An index does not list the posts without a term: it subtracts the posts with the term from others. So a query has the
 * form of a subtraction: `a OR NOT b` becomes `NOT (b NOT a)`, next to what that is subtracted from.
 */

import { zones, type Operator, type Rule, type Zone } from "../language/rule.ts"
import type { Word } from "../text/words.ts"
import { cutTerm, isIndexed, isWholeInTerm, openPlaceTerm, termOf } from "./index-terms.ts"

/** A condition on the terms of a post, as `indexTerms` returns them. */
export type IndexQuery =
  | { readonly kind: "term"; readonly term: string }
  /** Two parts or more, without duplicates; none is of the same kind. A part of an `all` may be negated, not the first. */
  | { readonly kind: "all" | "any"; readonly of: readonly IndexQuery[] }
  /** Only a part of an `all`. */
  | { readonly kind: "not"; readonly of: IndexQuery }
  /** Holds of every post. Only a whole query. */
  | { readonly kind: "everything" }

/** The query of a rule. */
export type IndexedRule = {
  /** Holds of the terms of every post that the rule matches, and of those with `cutTerm`. */
  readonly query: IndexQuery
  /** True if it holds of no other posts: those without `cutTerm` need no evaluation. */
  readonly isExact: boolean
}

/** A part of a query. `query` is no `not`. */
type Part = { readonly query: IndexQuery; readonly isNegated: boolean; readonly isExact: boolean }

/** The query of the rule over posts that are read in the mode of the rule. */
export function indexQuery(rule: Rule): IndexedRule {
  const { query, isNegated, isExact } = partOf(rule, false)
  // A rule has a positive clause in every branch. So only clauses that terms cannot express leave a negation alone.
  if (isNegated) return { query: everything.query, isExact: false }
  return { query: anyOf([termPart(cutTerm, true), { query, isNegated, isExact }]).query, isExact }
}

/** The query of posts that have one of these terms, each given once. */
export function anyTerm(terms: readonly [string, ...string[]]): IndexQuery {
  const [first, ...others] = terms
  if (others.length === 0) return { kind: "term", term: first }
  return { kind: "any", of: terms.map((term) => ({ kind: "term", term })) }
}

/** The query, or the term: what it finds, and the posts that have the term. */
export function orTerm(query: IndexQuery, term: string): IndexQuery {
  if (query.kind === "everything") return query
  const other: IndexQuery = { kind: "term", term }
  return { kind: "any", of: query.kind === "any" ? [...query.of, other] : [query, other] }
}

/** True if the query holds of a post with the terms. */
export function indexQueryHolds(query: IndexQuery, terms: ReadonlySet<string>): boolean {
  switch (query.kind) {
    case "term":
      return terms.has(query.term)
    case "all":
      return query.of.every((one) => indexQueryHolds(one, terms))
    case "any":
      return query.of.some((one) => indexQueryHolds(one, terms))
    case "not":
      return !indexQueryHolds(query.of, terms)
    case "everything":
      return true
  }
}

const everything: Part = { query: { kind: "everything" }, isNegated: false, isExact: false }

function partOf(rule: Rule, isNegated: boolean): Part {
  switch (rule.kind) {
    case "any":
    case "all": {
      const parts = rule.rules.map((one) => partOf(one, isNegated))
      return (rule.kind === "all") === isNegated ? anyOf(parts) : allOf(parts)
    }
    case "not":
      return partOf(rule.rule, !isNegated)
    default: {
      const part = partOfOperator(rule)
      if (!isNegated) return part
      return part.isExact ? { ...part, isNegated } : everything
    }
  }
}

function partOfOperator(operator: Operator): Part {
  switch (operator.kind) {
    case "words":
      return partOfWords(zones[operator.name], operator.words)
    case "near":
      return partOfWords("text", operator.words)
    case "key":
      if (operator.name === "place" || operator.name === "place_country")
        return anyOf([termPart(termOf(operator.name, operator.key), false), termPart(openPlaceTerm, false)])
      return termPart(termOf(operator.name, operator.key), isWholeInTerm(operator.key))
    case "area":
      // A post with a location has a place or a point.
      return termPart(termOf("has", "geo"), false)
    case "contains":
    case "count":
    case "sample":
    case "embedding":
      return everything
  }
}

/** Words in one text of the zone. A post that has them in several texts, or in another order, is proposed too. */
function partOfWords(zone: Zone, words: readonly Word[]): Part {
  if (!isIndexed(zone)) return everything
  return allOf(
    words.map(({ text, glued }) => {
      if (zone === "link") return anyOf([termPart(termOf("text", text), false), termPart(termOf("link", text), false)])
      return termPart(termOf(zone, text), words.length === 1 && !glued && isWholeInTerm(text))
    }),
  )
}

function termPart(term: string, isExact: boolean): Part {
  return { query: { kind: "term", term }, isNegated: false, isExact }
}

/** All parts hold. Without a positive part, the negation of any of the others. */
function allOf(parts: readonly Part[]): Part {
  const [required, excluded] = [new Distinct(), new Distinct()]
  for (const { query, isNegated } of parts) {
    if (isNegated) excluded.addParts("any", query)
    else if (query.kind !== "all") required.add(query)
    else
      for (const one of query.of)
        if (one.kind === "not") excluded.add(one.of)
        else required.add(one)
  }
  const isExact = parts.every((part) => part.isExact)
  const [first, ...others] = required.queries
  if (first === undefined) {
    const [only, ...more] = excluded.queries
    if (only === undefined) return everything
    return { query: more.length === 0 ? only : { kind: "any", of: excluded.queries }, isNegated: true, isExact }
  }
  const negations = excluded.queries.map((of): IndexQuery => ({ kind: "not", of }))
  const of = [first, ...others, ...negations]
  return { query: of.length === 1 ? first : { kind: "all", of }, isNegated: false, isExact }
}

/** Any part holds. With a negated part, the negation of all others without it. */
function anyOf(parts: readonly Part[]): Part {
  if (parts.length === 0 || parts.some(({ query }) => query.kind === "everything")) return everything
  if (parts.some((part) => part.isNegated)) return negated(allOf(parts.map(negated)))
  const found = new Distinct()
  for (const { query } of parts) found.addParts("any", query)
  const [first, ...others] = found.queries
  if (first === undefined) return everything
  const isExact = parts.every((part) => part.isExact)
  return { query: others.length === 0 ? first : { kind: "any", of: found.queries }, isNegated: false, isExact }
}

function negated(part: Part): Part {
  return { ...part, isNegated: !part.isNegated }
}

/** Queries without duplicates, in the order in which they came. `everything` is left out. */
class Distinct {
  readonly #queries = new Map<string, IndexQuery>()

  get queries(): readonly IndexQuery[] {
    return Array.from(this.#queries.values())
  }

  add(query: IndexQuery): void {
    if (query.kind !== "everything") this.#queries.set(JSON.stringify(query), query)
  }

  /** Adds the query, or the parts of one of the kind. */
  addParts(kind: "any" | "all", query: IndexQuery): void {
    if (query.kind !== kind) return this.add(query)
    for (const one of query.of) this.add(one)
  }
}
