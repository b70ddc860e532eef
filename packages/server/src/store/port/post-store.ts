/** Posts and the users that they show: a part of the store (`store.ts`). */
import type { PostId, UserId } from "../../model/ids.ts"
import type { PostShape, StoredPost } from "../../model/post.ts"
import type { KeysetRange } from "../keyset-range.ts"

/** For whom something is read that is no app's own. */
interface ReadFor {
  /** The app that asks, or another name. Its reads take turns with those of the others; without it, with all others that have none. */
  readonly reader?: string | undefined
}

/** A page of a user's posts, with a filter. */
export interface UserPostsRange extends KeysetRange<PostId>, UserPostsFilter, ReadFor {
  /** Most posts to scan, whether the filter takes them or not. */
  readonly scanMax: number
  /** Most bytes of those taken. The last one may exceed it, so that there is always one. */
  readonly bytesMax: number
  readonly shape: PostShape
}

/** A page of all posts. */
export interface PostsRange extends KeysetRange<PostId>, ReadFor {
  /** Most bytes of their envelopes. The last one may exceed it, so that there is always one. */
  readonly bytesMax: number
}

/** Posts by their ids. */
export interface PostsByIdRange extends ReadFor {
  /** Each once. Posts are read in this order. */
  readonly ids: readonly PostId[]
  /** Most bytes of the posts. The last one may exceed it, so that there is always one. */
  readonly bytesMax: number
  readonly shape: PostShape
}

/** Those of the posts that are stored. */
export interface PostsByIdRead {
  /** In the order of the ids. */
  readonly posts: readonly StoredPost[]
  /** The last post that was read, when the bytes ended the read and there are more after it; else absent. */
  readonly stoppedAt?: PostId
  /** Damaged posts, and those that cannot be read, which are not in `posts`. */
  readonly damaged: readonly PostId[]
  /** Why some of them cannot be read; absent when all can. */
  readonly fault?: unknown
}

/** A part of a list of posts. */
export interface PostsScan {
  /** Newest first, as envelopes, at most `limit`. */
  readonly posts: readonly StoredPost[]
  /** The last post that was read, when the bytes ended the read; else absent. */
  readonly stoppedAt?: PostId
  /** Damaged posts, which are not in `posts`. */
  readonly damaged: readonly PostId[]
}

/** Which posts of which user. */
export interface UserPostsFilter {
  readonly userId: UserId
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
}

/** The result of a scan. */
export interface UserPostsScan {
  /** Newest first, at most `limit`. */
  readonly posts: readonly StoredPost[]
  /** The last post that was scanned, when there are more in the range after it; else absent. */
  readonly stoppedAt?: PostId
  /** Damaged posts, and those that cannot be read, which are not in `posts`. */
  readonly damaged: readonly PostId[]
  /** Why some of them cannot be read; absent when all can. */
  readonly fault?: unknown
}

/** Posts and the users that they show. */
export interface PostStore {
  /** Scans a user's posts. Only the texts of posts that the filter takes are read. */
  userPosts(range: UserPostsRange): Promise<UserPostsScan>
  /** True once a post by the user, or one that includes the user, was stored. */
  isUserKnown(id: UserId, reader?: string): Promise<boolean>
  /** A post as its envelope. Throws `RecordDamaged` for a damaged one. */
  post(id: PostId, reader?: string): Promise<StoredPost | undefined>
  /** Posts by their ids; ids that are not stored are passed over. Each version of an edited post has its own id. */
  postsById(range: PostsByIdRange): Promise<PostsByIdRead>
  /** A page of all posts, by id. */
  posts(range: PostsRange): Promise<PostsScan>
  /**
   * The newest posts by id, newest first, as envelopes: at most `limit`, and at most `bytesMax` of text. The last one may
   * exceed it, so that there is always one. Damaged posts count and are left out. Posts are read as the caller iterates,
   * so it holds only what it keeps.
   */
  recentPosts(range: { readonly limit: number; readonly bytesMax: number }): AsyncIterable<StoredPost>
}
