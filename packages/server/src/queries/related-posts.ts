/**
 * Posts that refer to a user or to a post: mentions, quotes and reposts. Each list is a search by a rule, page by page.
 */
import type { AppId, PostId, UserId } from "../model/ids.ts"
import type { SearchedRule } from "../search/post-search.ts"
import type { PostStore } from "../store/port/post-store.ts"
import type { UserReads } from "../store/port/user-store.ts"
import type { PostSearches, PostSearchPage, PostSearchRequest } from "./post-searches.ts"

/** A request for one page of such a list. */
export type RelatedPostsRequest = Omit<PostSearchRequest, "rule" | "isRanked" | "leadsBack" | "tokenParameter">

/** A page, unless what the list is about is not known. */
export type RelatedPostsOutcome = PostSearchPage | "unknown"

/** Lists of posts that refer to something. Pages are as those of searches, in both directions. */
export interface RelatedPosts {
  /**
   * Posts that mention the user, replies and quotes among them, without reposts of such posts. The entities of a post name
   * users by id, by username or by both.
   */
  mentions(
    appId: AppId,
    userId: UserId,
    request: RelatedPostsRequest,
    signal: AbortSignal,
  ): Promise<RelatedPostsOutcome>
  /** Posts that quote the post, and reposts of those, unless `exclude` has `replies` or `retweets`. */
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
  store,
}: {
  readonly postSearches: PostSearches
  readonly store: Pick<PostStore, "postsById" | "isUserKnown"> & Pick<UserReads, "usersById">
}): RelatedPosts {
  const page = async (
    appId: AppId,
    rule: string,
    request: RelatedPostsRequest,
    isKnown: () => Promise<boolean>,
    signal: AbortSignal,
  ): Promise<RelatedPostsOutcome> => {
    const searched: SearchedRule = { value: rule, withReposts: true }
    const found = await postSearches.page(
      appId,
      { ...request, rule: searched, isRanked: false, leadsBack: true },
      signal,
    )
    const isEmpty = found.meta.result_count === 0 && found.meta.next_token === undefined
    if (!isEmpty || (await isKnown())) return found
    found.release()
    return "unknown"
  }
  const isPostKnown = async (appId: AppId, id: PostId): Promise<boolean> => {
    const { posts, damaged } = await store.postsById({ ids: [id], shape: "core", bytesMax: 1, reader: appId })
    return posts.length + damaged.length > 0
  }
  return {
    async mentions(appId, userId, request, signal) {
      const [user] = await store.usersById([userId], appId)
      const names = user === undefined ? [userId] : [userId, user.username]
      const rule = `(${names.map((name) => `@${name}`).join(" OR ")}) -is:retweet`
      return page(appId, rule, request, () => store.isUserKnown(userId, appId), signal)
    },
    quotes(appId, id, { exclude, ...request }, signal) {
      const kinds = { replies: "reply", retweets: "retweet" } as const
      const excluded = Object.entries(kinds).filter(([name]) => exclude.includes(name))
      const rule = [`quotes_of_tweet_id:${id}`, ...excluded.map(([, kind]) => `-is:${kind}`)].join(" ")
      return page(appId, rule, request, () => isPostKnown(appId, id), signal)
    },
    reposts: (appId, id, request, signal) =>
      page(appId, `retweets_of_tweet_id:${id}`, request, () => isPostKnown(appId, id), signal),
  }
}
