/**
 * A search over stored posts: a rule in mode `search`, and what an index is asked for it.
 *
 * The index only proposes: `evaluate`, which decides for the stream too, decides here. Only where the index holds all
 * that the rule says (`isExact`) are its posts taken as they are.
 */
import {
  cutTerm,
  evaluate,
  indexQuery,
  parseRule,
  readPost,
  relevanceOf,
  withoutReposts,
  type EarlierPosts,
  type IndexQuery,
  type PostFacts,
  type Rule,
  type RuleEnvelope,
} from "@sluice/rules"
import type { StoredPost } from "../model/post.ts"

/** A query, and whether reposts are among its posts. */
export interface SearchedRule {
  /** A rule that parses in mode `search`. */
  readonly value: string
  /** False: reposts are left out, unless the query asks for them. */
  readonly withReposts: boolean
}

/** A compiled search. */
export class PostSearch {
  readonly #rule: Rule
  readonly #earlier: EarlierPosts
  readonly #relevance: (post: PostFacts) => number
  /** The question to an index. */
  readonly query: IndexQuery
  /** The same without the posts of too many terms, which the index proposes for every query. */
  readonly queryWithoutCut: IndexQuery
  /** Whether a post that the index finds matches. */
  readonly isExact: boolean

  /**
   * `earlier` knows places of other posts, and learns those of posts that are evaluated. It knows no links: the terms of a
   * post cannot change when a later one says where its link leads.
   */
  constructor({ value, withReposts }: SearchedRule, earlier: EarlierPosts) {
    this.#earlier = earlier
    const parsed = parseRule(value, { lengthMax: Number.POSITIVE_INFINITY, mode: "search" })
    if (!parsed.ok) throw new Error(`The query does not parse: ${parsed.problems[0]?.message}`)
    this.#rule = withReposts ? parsed.rule : withoutReposts(parsed.rule)
    const { query, isExact } = indexQuery(this.#rule)
    this.#relevance = relevanceOf(parsed.rule)
    this.query = query
    this.queryWithoutCut = withoutCut(query)
    this.isExact = isExact
  }

  /** Whether the post matches. */
  holds(post: StoredPost): boolean {
    return evaluate(this.#rule, this.#factsOf(post))
  }

  /** How many distinct clauses of the query hold of the post. */
  relevance(post: StoredPost): number {
    return this.#relevance(this.#factsOf(post))
  }

  #factsOf({ json }: StoredPost): PostFacts {
    const envelope = JSON.parse(json) as RuleEnvelope
    this.#earlier.learnPlacesOf(envelope)
    return readPost(envelope, { mode: "search", earlier: this.#earlier })
  }
}

function withoutCut(query: IndexQuery): IndexQuery {
  if (query.kind !== "any") return query
  const of = query.of.filter((one) => one.kind !== "term" || one.term !== cutTerm)
  const [first] = of
  return first !== undefined && of.length === 1 ? first : { kind: "any", of }
}
