/**
 * Posts that refer to a user or to a post: mentions, quotes and reposts. Each list is a search by a rule, page by page.
 */
import { isUsername } from "@sluice/rules"
import type { AppId, PostId, UserId } from "../model/ids.ts"
import type { SearchedRule } from "../search/post-search.ts"
import type { PostStore } from "../store/port/post-store.ts"
import type { UserReads } from "../store/port/user-store.ts"
import type { PostsById } from "./posts-by-id.ts"
import type { PostSearches, PostSearchPage, PostSearchRequest } from "./post-searches.ts"

/** A request for one page of such a list. */
export type RelatedPostsRequest = Omit<PostSearchRequest, "rule" | "isRanked" | "leadsBack" | "tokenParameter">

/** A page, unless what the list is about is not known. */
type RelatedPostsOutcome = PostSearchPage | "unknown"

/** Lists of posts that refer to something. Pages are as those of searches, in both directions. */
export interface RelatedPosts {
  /**
   * Posts that mention the user, replies and quotes among them, without reposts of such posts. The entities of a post name
   * users by id, by username or by both; then the id counts. A username is that of its present owner.
   */
  mentions(
    appId: AppId,
    userId: UserId,
    request: RelatedPostsRequest,
    signal: AbortSignal,
  ): Promise<RelatedPostsOutcome>
  /** Posts that quote the post, and reposts of those that came with them; without what `exclude` has: `replies`, `retweets`. */
  quotes(
    appId: AppId,
    id: PostId,
    request: RelatedPostsRequest & { readonly exclude: readonly string[] },
    signal: AbortSignal,
  ): Promise<RelatedPostsOutcome>
  /** Reposts of the post. */
  reposts(appId: AppId, id: PostId, request: RelatedPostsRequest, signal: AbortSignal): Promise<RelatedPostsOutcome>
}

/** Lists over the posts of a store. */
export function createRelatedPosts({
  postSearches,
  postsById,
  store,
}: {
  readonly postSearches: Pick<PostSearches, "page">
  readonly postsById: Pick<PostsById, "isKnown">
  readonly store: Pick<PostStore, "isUserKnown"> & Pick<UserReads, "usersById" | "usersByName">
}): RelatedPosts {
  const page = async (
    appId: AppId,
    rule: SearchedRule,
    request: RelatedPostsRequest,
    isKnown: () => Promise<boolean>,
    signal: AbortSignal,
  ): Promise<RelatedPostsOutcome> => {
    const found = await postSearches.page(appId, { ...request, rule, isRanked: false, leadsBack: true }, signal)
    return (await isOfUnknown(found, isKnown)) ? "unknown" : found
  }
  return {
    async mentions(appId, userId, request, signal) {
      const [user] = await store.usersById([userId], appId)
      // A name that no rule can have is none by which a post could be found.
      const name = user !== undefined && isUsername(user.username) ? user.username : undefined
      const [owner] = name === undefined ? [] : await store.usersByName([name], appId)
      const mentionOf = { id: userId, ...(name !== undefined && owner?.id === userId && { username: name }) }
      const names = Object.values(mentionOf).map((one) => `@${one}`)
      const rule = { value: `(${names.join(" OR ")}) -is:retweet`, withReposts: true, mentionOf }
      return page(appId, rule, request, () => store.isUserKnown(userId, appId), signal)
    },
    quotes(appId, id, { exclude, ...request }, signal) {
      const kinds = { replies: "reply", retweets: "retweet" } as const
      const excluded = Object.entries(kinds).filter(([name]) => exclude.includes(name))
      const value = [`quotes_of_tweet_id:${id}`, ...excluded.map(([, kind]) => `-is:${kind}`)].join(" ")
      const rule = {
        value,
        withReposts: true,
        ...(!exclude.includes("retweets") && { orRepostsOfQuotesOf: id }),
      }
      return page(appId, rule, request, () => postsById.isKnown(appId, id, signal), signal)
    },
    reposts: (appId, id, request, signal) =>
      page(appId, repostsOf(id), request, () => postsById.isKnown(appId, id, signal), signal),
  }
}

/** The rule of the reposts of a post. */
export function repostsOf(id: PostId): SearchedRule {
  return { value: `retweets_of_tweet_id:${id}`, withReposts: true }
}

/** Whether a list is empty because what it is about is not known. Then its page is given back. */
export async function isOfUnknown(
  { meta, release }: Pick<PostSearchPage, "meta" | "release">,
  isKnown: () => Promise<boolean>,
): Promise<boolean> {
  if (meta.result_count > 0 || meta.next_token !== undefined) return false
  try {
    if (await isKnown()) return false
  } catch (error) {
    release()
    throw error
  }
  release()
  return true
}
