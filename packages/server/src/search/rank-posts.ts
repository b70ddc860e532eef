/**
 * The posts of a search in order of relevancy. X does not publish its order, so this one is ours: the number of distinct
 * clauses that hold, then the likes, replies, and reposts and quotes twice, then the newest.
 *
 * It is computed over the newest posts that match, at most `rankedMax`, so that a page costs the same however many there
 * are.
 */
import { compareIds, type PostId } from "../model/ids.ts"
import type { StoredPost } from "../model/post.ts"
import { findPosts, type FoundRange, type SearchBudget, type SearchDeps } from "./find-posts.ts"
import type { PostSearch } from "./post-search.ts"

/** Most posts that are ranked. Ours. */
export const rankedMax = 10_000

interface Ranked {
  readonly id: PostId
  readonly clauses: number
  readonly reactions: number
}

/**
 * The ids of the posts in order of relevancy, of the newest that the budget allows. Each post is ranked when it is evaluated, so
 * the budget bounds both.
 */
export async function rankPosts(
  search: PostSearch,
  { above, upTo }: Pick<FoundRange, "above" | "upTo">,
  budget: SearchBudget,
  deps: SearchDeps,
): Promise<readonly PostId[]> {
  const ranked: Ranked[] = []
  const rank = (post: StoredPost): void => {
    ranked.push({ id: post.id, clauses: search.relevance(post), reactions: reactionsTo(post) })
  }
  await findPosts(search, { direction: "older", above, upTo, limit: rankedMax }, budget, { ...deps, rank })
  return ranked.toSorted(byRelevancy).map(({ id }) => id)
}

function byRelevancy(a: Ranked, b: Ranked): number {
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
