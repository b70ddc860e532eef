/**
 * Posts by their ids, rendered for one response.
 *
 * A response has no page token that could go on, so it has a bound of its own: the posts are read and rendered in parts, in
 * the order of the request, until what is rendered comes to the most that a page may have. Posts after that are named as
 * those for which there was no room, and a client asks for them again. A request for one post always shows it.
 */
import type { FieldSelection } from "../model/field-selection.ts"
import type { AppId, PostId } from "../model/ids.ts"
import { PostsRendering, shapeFor, type RenderedPosts } from "../model/render-post.ts"
import type { Events } from "../runtime/events/events.ts"
import type { PostStore } from "../store/port/post-store.ts"
import { pageBytesMax, type HeldPages } from "./held-pages.ts"

/** Why a post is not shown. `no-room`: it may be stored or not. */
type AbsentPost = { readonly id: PostId; readonly why: "unknown" | "damaged" | "no-room" }

/** The posts of one response. */
export interface FoundPosts {
  /** In the order of the request. */
  readonly posts: RenderedPosts
  /** In the order of the request: the ids that have no post in it. */
  readonly absent: readonly AbsentPost[]
  /** To be called when the response has been sent, or will not be. */
  readonly release: () => void
}

/** A look-up of posts by their ids. */
export interface PostsById {
  /**
   * The posts with these ids, each once. Waits while other pages hold as much memory as they may, until `signal` aborts.
   * Throws 503 when too many pages of the app wait.
   */
  find(
    appId: AppId,
    request: { readonly ids: readonly PostId[]; readonly selection: FieldSelection },
    signal: AbortSignal,
  ): Promise<FoundPosts>
}

/** Most bytes that one read returns, but for the last post's. Ours: about a millisecond of the store's turn. */
const readBytesMax = 1_048_576

/** Look-ups in a store. */
export function createPostsById(deps: {
  store: PostStore
  heldPages: HeldPages
  events: Pick<Events, "failed">
}): PostsById {
  return {
    async find(appId, request, signal) {
      const bytes = await deps.heldPages.hold(appId, signal)
      try {
        const found = await readPosts(deps, appId, request)
        const { dataJson, includesJson = "" } = found.posts
        bytes.resize(dataJson.length + includesJson.length)
        return { ...found, release: () => bytes.release() }
      } catch (error) {
        bytes.release()
        throw error
      }
    },
  }
}

/** Reads and renders the posts in parts. */
async function readPosts(
  { store, events }: Parameters<typeof createPostsById>[0],
  appId: AppId,
  { ids, selection }: Parameters<PostsById["find"]>[1],
): Promise<Omit<FoundPosts, "release">> {
  const rendering = new PostsRendering(selection)
  const absent: AbsentPost[] = []
  for (let rest = ids; rest.length > 0;) {
    if (rendering.characters >= pageBytesMax) {
      absent.push(...rest.map((id) => ({ id, why: "no-room" }) as const))
      break
    }
    const bounds = { bytesMax: readBytesMax, shape: shapeFor(selection), reader: appId }
    const { posts, damaged, stoppedAt, fault } = await store.postsById({ ids: rest, ...bounds })
    if (fault !== undefined) events.failed({ where: "posts by id", error: fault })
    await rendering.add(posts)
    const isShown = new Set(posts.map(({ id }) => id))
    const isDamaged = new Set(damaged)
    const end = stoppedAt === undefined ? rest.length : rest.indexOf(stoppedAt) + 1
    for (const id of rest.slice(0, end)) {
      if (!isShown.has(id)) absent.push({ id, why: isDamaged.has(id) ? "damaged" : "unknown" })
    }
    rest = rest.slice(end)
  }
  return { posts: rendering.rendered(), absent }
}
