/** Users who reposted a post: the authors of its stored reposts, by these, the newest first. */
import type { PageMeta } from "@sluice/api"
import { asId, isId, type AppId, type PostId, type UserId } from "../model/ids.ts"
import { membersOf, textOf } from "../model/json-text.ts"
import type { StoredPost } from "../model/post.ts"
import { isOfUnknown, repostsOf, type RelatedPostsRequest } from "./related-posts.ts"
import type { RenderedUsers, UserSelection } from "./render-users.ts"
import type { PostsById } from "./posts-by-id.ts"
import type { PostSearches } from "./post-searches.ts"
import type { Users } from "./users.ts"

/** A request for one page. Its limit counts reposts. */
export type RepostersRequest = Omit<RelatedPostsRequest, "selection"> & { readonly selection: UserSelection }

/** A page of users. */
export interface RepostersPage extends RenderedUsers {
  readonly meta: PageMeta
  /** Reposts whose authors are not on the page, since what is stored of them is damaged. */
  readonly damaged: readonly PostId[]
  /** To be called when the response has been sent, or will not be. */
  readonly release: () => void
}

/** Lists of users who reposted posts. */
export interface Reposters {
  /**
   * One page. A user who reposted the post twice is there once, unless the reposts are on two pages. A repost whose author is
   * not known is passed over, so a page may be short or empty: only the absence of `next_token` means the end. Throws as
   * `PostSearches`.
   */
  page(appId: AppId, id: PostId, request: RepostersRequest, signal: AbortSignal): Promise<RepostersPage | "unknown">
}

/** Lists over the reposts of a store. */
export function createReposters({
  postSearches,
  postsById,
  users,
}: {
  readonly postSearches: Pick<PostSearches, "envelopes">
  readonly postsById: Pick<PostsById, "isKnown">
  readonly users: Pick<Users, "named">
}): Reposters {
  return {
    async page(appId, id, { selection, ...request }, signal) {
      const asked = { ...request, rule: repostsOf(id), isRanked: false, leadsBack: true }
      const found = await postSearches.envelopes(appId, asked, signal)
      if (await isOfUnknown(found, () => postsById.isKnown(appId, id, signal))) return "unknown"
      const { posts, meta, damaged, release } = found
      try {
        const names = [...new Set(posts.flatMap((post) => authorOf(post) ?? []))]
        const rendered = await users.named({ parameter: "author_id", names }, selection, appId)
        const { next_token, previous_token } = meta
        return {
          ...rendered,
          meta: {
            result_count: rendered.users.length,
            ...(next_token !== undefined && { next_token }),
            ...(previous_token !== undefined && { previous_token }),
          },
          damaged,
          release,
        }
      } catch (error) {
        release()
        throw error
      }
    },
  }
}

function authorOf({ json }: StoredPost): UserId | undefined {
  const id = textOf(membersOf(membersOf(json).get("data") ?? "").get("author_id"))
  return id !== undefined && isId(id) ? asId<UserId>(id) : undefined
}
