/** Posts in the order in which they arrived: a part of the store (`store.ts`). */
import type { PostId } from "../../model/ids.ts"
import type { StoredPost } from "../../model/post.ts"

declare const kind: unique symbol

/** A place in the order in which posts were stored. Opaque: only its store compares it. It stays valid over restarts. */
export type ArrivalPosition = string & { readonly [kind]: "arrival" }

/** A stretch of the posts in the order in which they arrived. */
export interface ArrivalRange {
  /** Exclusive. Absent: from the first post that is there. */
  readonly after?: ArrivalPosition | undefined
  readonly limit: number
  /** Most bytes of their envelopes. The last one may exceed it, so that there is always one. */
  readonly bytesMax: number
  /**
   * Also posts that are not settled: others may still come before them. For a single read of all that was acknowledged,
   * since a cursor that goes on from such a position may miss posts.
   */
  readonly includeUnsettled?: boolean
}

/** Posts that arrived. */
export interface ArrivedPosts {
  /** In the order in which they arrived, as envelopes, at most `limit`. There may be more, even when they are fewer. */
  readonly posts: readonly StoredPost[]
  /** Damaged posts, and those that cannot be read, which are not in `posts`. */
  readonly damaged: readonly PostId[]
  /** The place of the last post that was read, damaged or not. Absent when there was none to read. */
  readonly position?: ArrivalPosition
}

/** A place in the order of arrival, and the post there. */
export interface ArrivalPlace {
  readonly id: PostId
  readonly position: ArrivalPosition
}

/** Places in the order of arrival. */
export interface ArrivalPlaceRange {
  /** `newer`: those after `from`, in order. `older`: those before it, the newest first. */
  readonly direction: "newer" | "older"
  /** Exclusive. When absent, `newer` begins with the first post that is there, `older` with the newest. */
  readonly from?: ArrivalPosition | undefined
  readonly limit: number
}

/** Reads: posts in the order in which they arrived. */
export interface ArrivalReads {
  /**
   * The next posts after a place, each once, in an order that never changes. A post is read once it is settled, when no
   * other can come before it any more: at once, or when the transactions that began before its own have ended. So a post
   * that is committed late never hides behind a position. Deleted posts are left out.
   */
  arrivedPosts(range: ArrivalRange): Promise<ArrivedPosts>
  /** The place of the newest settled post. Absent when there is none. */
  arrivalHead(): Promise<ArrivalPosition | undefined>
  /** Places of settled posts without the posts, at most `limit`: fewer only where there are no more. */
  arrivalPlaces(range: ArrivalPlaceRange): Promise<readonly ArrivalPlace[]>
}
