/**
 * The posts of a search in order of relevancy. X does not publish its order, so this one is ours: the number of distinct
 * clauses that hold, then the likes, replies, and reposts and quotes twice, then the newest.
 *
 * It is computed over the newest posts that match, at most `rankedMax`, so that a page costs the same however many there
 * are. How many the first page ranks depends on its budget, so each later page ranks the posts of the same ids.
 */
import { compareIds, type PostId } from "../model/ids.ts"
import type { StoredPost } from "../model/post.ts"
import { findPosts, partBudgetsMax, SearchTooCostly, type SearchBudget, type SearchDeps } from "./find-posts.ts"
import type { PostSearch } from "./post-search.ts"

/** Most posts that are ranked. Ours. */
const rankedMax = 10_000

/** A post, and what its place in the order follows from. */
export interface RankedPost {
  readonly id: PostId
  readonly clauses: number
  readonly reactions: number
}

/** The ids among which posts are ranked. */
export interface RankedSpan {
  /** Exclusive. */
  readonly above: bigint
  /** Inclusive. */
  readonly upTo: bigint
  /** Whether all of them must be looked at: an earlier page has. */
  readonly isWhole: boolean
}

/** Posts in order of relevancy. */
export interface Ranking {
  readonly posts: readonly RankedPost[]
  /** The ids above this one were looked at. */
  readonly above: bigint
}

/**
 * Ranks the posts of a span, of the newest that the budget allows. Each post is ranked when it is evaluated, so the budget
 * bounds both. Throws `SearchTooCostly` when a whole span takes four times the budget.
 */
export async function rankPosts(
  search: PostSearch,
  { above, upTo, isWhole }: RankedSpan,
  { postsMax, msMax }: SearchBudget,
  deps: SearchDeps,
): Promise<Ranking> {
  const posts: RankedPost[] = []
  const rank = (post: StoredPost): void => {
    posts.push({ id: post.id, clauses: search.relevance(post), reactions: reactionsTo(post) })
  }
  const times = isWhole ? partBudgetsMax : 1
  const { stoppedAt } = await findPosts(
    search,
    // More may match than before: posts with old ids that were stored meanwhile.
    { direction: "older", above, upTo, limit: rankedMax * times },
    { postsMax: postsMax * times, msMax: msMax * times },
    { ...deps, rank },
  )
  if (isWhole && stoppedAt !== undefined) throw new SearchTooCostly()
  return { posts: posts.toSorted(byRelevancy), above: stoppedAt === undefined ? above : BigInt(stoppedAt) - 1n }
}

/** Below 0 when the first is more relevant. Two posts are never alike. */
export function byRelevancy(a: RankedPost, b: RankedPost): number {
  return b.clauses - a.clauses || b.reactions - a.reactions || compareIds(b.id, a.id)
}

/** Reactions to the post, as far as its source reports them. */
function reactionsTo({ json }: StoredPost): number {
  const { data } = JSON.parse(json) as {
    readonly data: { readonly public_metrics?: Readonly<Record<string, unknown>> }
  }
  const metrics = data.public_metrics ?? {}
  const count = (name: string): number => {
    const value = metrics[name]
    return typeof value === "number" && Number.isFinite(value) ? value : 0
  }
  return count("like_count") + count("reply_count") + 2 * (count("retweet_count") + count("quote_count"))
}
