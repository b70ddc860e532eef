/** Posts and users that are deleted, and remembered: a part of the store (`store.ts`). */
import type { PostId } from "../../model/ids.ts"
import type { Deletion, DeletionOutcome, DeletionRequest, DeletionSeq } from "../../model/deletion.ts"

/** A stretch of the remembered deletions. */
export interface DeletionRange {
  /** Exclusive. */
  readonly after: DeletionSeq
  readonly limit: number
}

/** Reads of deletions. */
export interface DeletionReads {
  /** Deletions after a position, oldest first: those before which no other can be committed any more. */
  deletions(range: DeletionRange): Promise<readonly Deletion[]>
  /** Those of the deletions, by their positions, that are remembered. */
  deletionsAt(seqs: readonly DeletionSeq[]): Promise<readonly Deletion[]>
  /** Those of the posts that are remembered as deleted. */
  deletedPosts(ids: readonly PostId[]): Promise<ReadonlySet<PostId>>
  /** A position before the first deletion of this time or later; absent when there is none. */
  deletionPositionAt(atMs: number): Promise<DeletionSeq | undefined>
  /** A position after the newest deletion, also when that is forgotten, and before the next; 0 before the first. */
  deletionHead(): Promise<DeletionSeq>
}

/** Writes of deletions. */
export interface DeletionWrites {
  /**
   * Deletes posts, with those that repost them, and takes them out of the envelopes of others; and users, with their posts.
   * When there are very many, `continueDeletions` deletes the rest. Each id is remembered, known or not, from now on: what
   * arrives of it is not stored. One that is remembered already is the newest deletion then, with its author. A match of a
   * deleted post keeps its place in the log, its dead letters count as withdrawn, and of an attempt the response is dropped.
   * Returns what was found, in the order of the requests, each of which has another id.
   */
  delete(requests: readonly DeletionRequest[], atMs: number): Promise<readonly DeletionOutcome[]>
  /** Deletes some more of what is to be deleted. Returns whether nothing is left. */
  continueDeletions(atMs: number): Promise<boolean>
  /** Forgets the deletions before a moment, oldest first, at most `limit`. Returns how many. */
  forgetDeletions(options: { readonly beforeMs: number; readonly limit: number }): Promise<number>
  /**
   * Overwrites some of what deletions have left in the store's files next to where it was, in a transaction of some milliseconds.
   * Returns whether nothing is left; then `eraseDeleted` does the rest.
   */
  overwriteDeleted(): Promise<boolean>
  /**
   * Removes from the store's files what was deleted before and may still be in their unused parts. Returns false when
   * readers were in the way: then it is to be called again.
   */
  eraseDeleted(): Promise<boolean>
}
