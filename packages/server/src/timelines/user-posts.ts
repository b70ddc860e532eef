/** Pages of a user's posts: newest first, through the request's filter, as the body of an answer. */
import { paths } from "@sluice/api"
import type { FieldSelection } from "../model/field-selection.ts"
import type { AppId, PostId, UserId } from "../model/ids.ts"
import type { StoredPost } from "../model/post.ts"
import { renderPosts, shapeFor } from "../model/render-post.ts"
import type { KeysetRange, Store, UserPostsRange, UserPostsScan } from "../store/store.ts"
import { scannedPage, type KeysetPage } from "./keyset-page.ts"
import type { PageTokens } from "./page-token.ts"

/** A request for one page, its parameters checked. */
export interface UserPostsRequest {
  readonly userId: UserId
  /** Most posts on the page. */
  readonly limit: number
  /** Absent for the first page. */
  readonly token: string | undefined
  /** Exclusive. */
  readonly sinceId?: PostId
  /** Exclusive. */
  readonly untilId?: PostId
  /** Inclusive. */
  readonly startMs?: number
  /** Exclusive. */
  readonly endMs?: number
  readonly excludeReplies: boolean
  readonly excludeReposts: boolean
  readonly selection: FieldSelection
  /** Canonical text of all parameters that a token is bound to: all but `max_results` and `pagination_token`. */
  readonly parameters: string
}

/** A page, or that nobody has heard of the user. */
type UserPostsOutcome =
  | { readonly kind: "unknown-user" }
  /**
   * `json` is the whole body: `{"data":[…],"includes":{…},"meta":{…}}`. `damaged` are posts of the page that are not in
   * it, since what is stored of them is not what was.
   */
  | { readonly kind: "page"; readonly json: string; readonly damaged: readonly PostId[] }

/** Users' timelines. */
export interface UserPosts {
  /**
   * One page. A filter that takes few posts can make it short or empty although there are more: only the absence
   * of `next_token` means the end. Throws the `Problem` of a token that is not good.
   */
  page(appId: AppId, request: UserPostsRequest): Promise<UserPostsOutcome>
}

/** Timelines out of a store. `scanMax` is the most posts that one page looks at to fill itself. */
export function createUserPosts(deps: { store: Store; tokens: PageTokens; scanMax: number }): UserPosts {
  const { store, tokens, scanMax } = deps
  return {
    async page(appId, request) {
      const damaged: PostId[] = []
      const page = await scannedPage<StoredPost, PostId>({
        tokens,
        scope: {
          endpoint: paths.userPosts.replace(":id", request.userId),
          appId,
          parameters: request.parameters,
        },
        token: request.token,
        limit: request.limit,
        idOf: (post) => post.id,
        scan: async (range) => {
          const found = await store.userPosts(userPostsRange(request, range, scanMax))
          const { posts, stoppedAt } = found
          damaged.push(...damagedOnPage(found, range, request.limit))
          return { items: posts, ...(stoppedAt !== undefined && { stoppedAt }) }
        },
      })
      // Whoever has posts is known.
      const mayBeUnknown = page.items.length === 0 && page.meta.next_token === undefined
      if (mayBeUnknown && !(await store.isUserKnown(request.userId))) return { kind: "unknown-user" }
      return { kind: "page", json: bodyOf(page, request.selection), damaged }
    },
  }
}

/**
 * Damaged posts of a page. A scan looks one post beyond the page, and once only whether there is anything below it;
 * what is damaged out there is told with the page that it would be on.
 */
function damagedOnPage(
  { posts, damaged }: UserPostsScan,
  { direction, limit }: KeysetRange<PostId>,
  pageMax: number,
): readonly PostId[] {
  if (limit <= pageMax) return []
  if (posts.length <= pageMax) return damaged
  const isOlder = direction === "older"
  const edge = posts.at(isOlder ? pageMax - 1 : -pageMax)?.id ?? "0"
  return damaged.filter((id) => (isOlder ? BigInt(id) > BigInt(edge) : BigInt(id) < BigInt(edge)))
}

function userPostsRange(
  request: UserPostsRequest,
  range: KeysetRange<PostId>,
  scanMax: number,
): UserPostsRange {
  const { userId, sinceId, untilId, startMs, endMs, excludeReplies, excludeReposts, selection } = request
  return {
    ...range,
    userId,
    ...(sinceId !== undefined && { sinceId }),
    ...(untilId !== undefined && { untilId }),
    ...(startMs !== undefined && { startMs }),
    ...(endMs !== undefined && { endMs }),
    excludeReplies,
    excludeReposts,
    scanMax,
    shape: shapeFor(selection),
  }
}

/** The body as JSON text. Posts with default fields go in as they are stored. */
function bodyOf({ items, meta }: KeysetPage<StoredPost>, selection: FieldSelection): string {
  const { dataJson, includesJson } = renderPosts(items, selection)
  const [newest, oldest] = [items.at(0), items.at(-1)]
  const { result_count, ...pageTokens } = meta
  const metaJson = JSON.stringify({
    result_count,
    ...(newest && { newest_id: newest.id }),
    ...(oldest && { oldest_id: oldest.id }),
    ...pageTokens,
  })
  const includes = includesJson === undefined ? "" : `,"includes":${includesJson}`
  return `{"data":${dataJson}${includes},"meta":${metaJson}}`
}
