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
  mentionsAnother,
  orTerm,
  parseRule,
  quotedByOriginal,
  readPost,
  relevanceOf,
  repostedQuoteTerm,
  withoutReposts,
  type EarlierPosts,
  type IndexQuery,
  type MentionedUser,
  type PostFacts,
  type Rule,
  type RuleEnvelope,
} from "@sluice/rules"
import type { PostId } from "../model/ids.ts"
import type { StoredPost } from "../model/post.ts"

/** A query, and whether reposts are among its posts. */
export interface SearchedRule {
  /** A rule that parses in mode `search`. */
  readonly value: string
  /** False: reposts are left out, unless the query asks for them. */
  readonly withReposts: boolean
  /** Reposts of quotes of this post are among its posts, too, where they came with the quote. */
  readonly orRepostsOfQuotesOf?: PostId
  /** Posts whose entities mention another user by this one's name are not among its posts. */
  readonly mentionOf?: MentionedUser
}

/** A compiled search. */
export class PostSearch {
  readonly #rule: Rule
  readonly #quotedByOriginal: PostId | undefined
  readonly #mentioned: MentionedUser | undefined
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
  constructor({ value, withReposts, orRepostsOfQuotesOf: quoted, mentionOf }: SearchedRule, earlier: EarlierPosts) {
    this.#earlier = earlier
    this.#mentioned = mentionOf
    this.#quotedByOriginal = quoted
    const parsed = parseRule(value, { lengthMax: Number.POSITIVE_INFINITY, mode: "search" })
    if (!parsed.ok) throw new Error(`The query does not parse: ${parsed.problems[0]?.message}`)
    this.#rule = withReposts ? parsed.rule : withoutReposts(parsed.rule)
    const { query, isExact } = indexQuery(this.#rule)
    this.#relevance = relevanceOf(parsed.rule)
    this.query = quoted === undefined ? query : orTerm(query, repostedQuoteTerm(quoted))
    this.queryWithoutCut = withoutCut(this.query)
    this.isExact = isExact && mentionOf === undefined
  }

  /** Whether the post matches. */
  holds(post: StoredPost): boolean {
    const envelope = this.#envelopeOf(post)
    if (this.#mentioned !== undefined && mentionsAnother(envelope, this.#mentioned)) return false
    if (evaluate(this.#rule, this.#factsOf(envelope))) return true
    return this.#quotedByOriginal !== undefined && quotedByOriginal(envelope) === this.#quotedByOriginal
  }

  /** How many distinct clauses of the query hold of the post. */
  relevance(post: StoredPost): number {
    return this.#relevance(this.#factsOf(this.#envelopeOf(post)))
  }

  #envelopeOf({ json }: StoredPost): RuleEnvelope {
    const envelope = JSON.parse(json) as RuleEnvelope
    this.#earlier.learnPlacesOf(envelope)
    return envelope
  }

  #factsOf(envelope: RuleEnvelope): PostFacts {
    return readPost(envelope, { mode: "search", earlier: this.#earlier })
  }
}

function withoutCut(query: IndexQuery): IndexQuery {
  if (query.kind !== "any") return query
  const of = query.of.filter((one) => one.kind !== "term" || one.term !== cutTerm)
  const [first] = of
  return first !== undefined && of.length === 1 ? first : { kind: "any", of }
}
