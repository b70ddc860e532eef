/** Pages of a user's posts, newest first, through the request's filter; of an edited post the newest version alone. */
import { paths, type PageMeta } from "@sluice/api"
import type { FieldSelection } from "../model/field-selection.ts"
import type { AppId, PostId } from "../model/ids.ts"
import type { StoredPost } from "../model/post.ts"
import { renderPosts, shapeFor, type RenderedPosts } from "../model/render-post.ts"
import type { Events } from "../runtime/events/events.ts"
import type { KeysetRange } from "../store/keyset-range.ts"
import type { EditReads } from "../store/port/edit-store.ts"
import type { PostStore } from "../store/port/post-store.ts"
import type { UserPostsFilter, UserPostsScan } from "../store/port/post-store.ts"
import { scannedPage, type KeysetPage } from "../paging/keyset-page.ts"
import type { PageTokens } from "../paging/page-token.ts"
import { pageBytesMax, type HeldPages } from "./held-pages.ts"
import { withWholeChains } from "./whole-chains.ts"

/** A request for one page, its parameters checked. */
export interface UserPostsRequest {
  readonly filter: UserPostsFilter
  /** Most posts on the page. */
  readonly limit: number
  /** Absent for the first page. */
  readonly token: string | undefined
  readonly selection: FieldSelection
  /** Canonical text of all parameters that a token is bound to: all but `max_results` and `pagination_token`. */
  readonly parameters: string
}

/** A page of a user's posts. */
interface UserPostsPage {
  readonly kind: "page"
  readonly posts: RenderedPosts
  readonly meta: PageMeta
  /** Posts of the page that are not in it, since what is stored of them is damaged. */
  readonly damaged: readonly PostId[]
  /** To be called when the response has been sent, or will not be. */
  readonly release: () => void
}

/** A page, unless the user is unknown. */
type UserPostsOutcome = { readonly kind: "unknown-user" } | UserPostsPage

/** Users' timelines. */
export interface UserPosts {
  /**
   * One page. A filter that takes few posts, and posts that are large, can make it short or empty although there are
   * more: only the absence of `next_token` means the end. Waits while other pages hold as much memory as they may, until
   * `signal` aborts. Throws 400 for an invalid token, and 503 when too many pages of the app wait.
   */
  page(appId: AppId, request: UserPostsRequest, signal: AbortSignal): Promise<UserPostsOutcome>
}

/** Timelines of a store's posts. `scanMax` is the most posts that one page scans to fill itself. */
export function createUserPosts(deps: {
  store: PostStore & Pick<EditReads, "chainsOf">
  tokens: PageTokens
  heldPages: HeldPages
  scanMax: number
  events: Pick<Events, "failed">
}): UserPosts {
  return {
    async page(appId, request, signal) {
      const bytes = await deps.heldPages.hold(appId, signal)
      try {
        const outcome = await readPage(deps, appId, request)
        if (outcome.kind === "unknown-user") {
          bytes.release()
          return outcome
        }
        const { dataJson, includesJson = "" } = outcome.posts
        bytes.resize(dataJson.length + includesJson.length)
        return { ...outcome, release: () => bytes.release() }
      } catch (error) {
        bytes.release()
        throw error
      }
    },
  }
}

/** Reads and renders a page. */
async function readPage(
  { store, tokens, scanMax, events }: Parameters<typeof createUserPosts>[0],
  appId: AppId,
  { filter, limit, token, selection, parameters }: UserPostsRequest,
): Promise<{ readonly kind: "unknown-user" } | Omit<UserPostsPage, "release">> {
  const damaged: PostId[] = []
  const page = await scannedPage<StoredPost>({
    tokens,
    scope: { endpoint: paths.userPosts.replace(":id", filter.userId), appId, parameters },
    token,
    limit,
    scan: async (range) => {
      const bounds = { scanMax, bytesMax: pageBytesMax, shape: shapeFor(selection), reader: appId }
      const found = await store.userPosts({ ...range, ...filter, ...bounds })
      const { posts, stoppedAt, fault } = found
      if (fault !== undefined) events.failed({ where: "user posts", error: fault })
      damaged.push(...damagedOnPage(found, range, limit))
      return { items: posts, ...(stoppedAt !== undefined && { stoppedAt }) }
    },
  })
  // A user with posts is known.
  const mayBeUnknown = page.items.length === 0 && page.meta.next_token === undefined
  if (mayBeUnknown && !(await store.isUserKnown(filter.userId, appId))) return { kind: "unknown-user" }
  const posts = await renderPosts(await withWholeChains(page.items, { selection, reader: appId }, store), selection)
  return { kind: "page", posts, meta: metaOf(page), damaged }
}

/**
 * Damaged posts of a page. A scan reads one post beyond the page, and another scan only checks whether there is anything
 * below it; damage there is reported with the page that it would be on.
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

/** The count of a page's posts, the ids at its ends, and its tokens. */
function metaOf({ items, meta: { result_count, ...tokens } }: KeysetPage<StoredPost>): PageMeta {
  const [newest, oldest] = [items.at(0), items.at(-1)]
  return {
    result_count,
    ...(newest && { newest_id: newest.id }),
    ...(oldest && { oldest_id: oldest.id }),
    ...tokens,
  }
}
