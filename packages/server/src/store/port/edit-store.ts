/** The versions of edited posts: a part of the store (`store.ts`). `append` learns them of the posts, in any order. */
import type { PostId } from "../../model/ids.ts"

/** A part of the posts that newer versions supersede. */
export interface SupersededRange {
  /** Exclusive. */
  readonly above: bigint
  /** Inclusive. */
  readonly upTo: bigint
  readonly limit: number
  readonly reader?: string | undefined
}

/**
 * Reads of versions. Posts of one version have no chain and take no room here; most reads find nothing, by one look into an
 * index. A version is known when a stored post names it in its history, whether it is stored or not.
 */
export interface EditReads {
  /** By each of the ids that is one of several versions: the ids of all that are known, its own included, ascending. */
  chainsOf(ids: readonly PostId[], reader?: string): Promise<ReadonlyMap<PostId, readonly PostId[]>>
  /** Those of the ids of which a newer version is stored. */
  supersededOf(ids: readonly PostId[], reader?: string): Promise<ReadonlySet<PostId>>
  /** Stored posts of which a newer version is stored, too, by id, the least first. */
  supersededWithin(range: SupersededRange): Promise<readonly PostId[]>
}
