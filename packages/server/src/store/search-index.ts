/**
 * The search index: which stored posts have which terms. It proposes posts, and the evaluator decides.
 *
 *     posts in the order in which they arrived ──► add, with the position ──► index ──► find, count
 *
 * The index is derived from stored posts and never shares a transaction or a lock with them. It says up to where posts are
 * in it; an index that is empty, or whose terms are of another version, has no position and is filled again. Terms are those
 * of `indexTerms`, and queries those of `indexQuery` (`@sluice/rules`).
 *
 * `contract/search-index-contract.ts` holds the tests that every implementation passes.
 */
import type { IndexQuery } from "@sluice/rules"
import type { PostId } from "../model/ids.ts"
import type { ArrivalPosition } from "./port/arrival-store.ts"

/** A post as the index has it. */
export interface IndexedPost {
  readonly id: PostId
  readonly terms: readonly string[]
}

/** How an index is opened. */
export interface SearchIndexSettings {
  /** Version of the terms. An index with terms of another version is emptied. */
  readonly termsVersion: number
  /** Fewest posts of a partition before the next one begins; that of `search-partitions.ts` when absent. */
  readonly partitionPostsMin?: number
}

/** Ids of posts that a search reads: above `above`, up to `upTo`, inclusive. */
export interface SearchRange {
  readonly above: bigint
  readonly upTo: bigint
  /** `older` reads the newest first, `newer` the oldest first. */
  readonly direction: "older" | "newer"
  readonly limit: number
}

/** A step of an index. */
export interface IndexStep {
  /** The position of the index before it, as `position` returned it. */
  readonly after: ArrivalPosition | undefined
  /** The position afterwards. */
  readonly position: ArrivalPosition
}

/**
 * An index, as one thread has it open. A method that rejects has changed nothing of the index, or has emptied an index that
 * was found to be damaged.
 */
export interface SearchIndex extends AsyncDisposable {
  /** Up to where posts are in the index. Absent while it is to be filled from the first post on. */
  position(): Promise<ArrivalPosition | undefined>
  /**
   * Adds the posts of a step, and moves the position, in one transaction. A post that is there already is kept as it is. Throws
   * `IndexMoved` when the index is not where the step begins: another process has moved it, or it was emptied.
   */
  add(posts: readonly IndexedPost[], step: IndexStep): Promise<void>
  /**
   * Ids of posts of which the query holds, in the order of the direction, at most `limit`. Throws `StoreUnavailable`, as `count`
   * does, when the index is emptied meanwhile. A caller that needs to know up to where it was searched reads the position
   * afterwards, too: an index that was emptied before the search has none.
   */
  find(query: IndexQuery, range: SearchRange): Promise<readonly PostId[]>
  /**
   * The number of posts of which the query holds in each interval `edges[i] <= id < edges[i + 1]`. `edges` rise.
   */
  count(query: IndexQuery, edges: readonly bigint[]): Promise<readonly number[]>
  /** Whether a post of the range was added with `cutTerm`: every query finds it. Throws as `find`. */
  hasCutPosts(range: Pick<SearchRange, "above" | "upTo">): Promise<boolean>
  /** Gives these posts other terms, those of them that are there. One transaction. */
  replace(posts: readonly IndexedPost[]): Promise<void>
  /**
   * Removes from the index's files what was removed before and may still be in them, in steps of some milliseconds; where
   * the index can.
   */
  eraseRemoved(): Promise<void>
  /**
   * Makes the index smaller where no posts are added any more, for some milliseconds; where the index can. Returns whether
   * there is more to do.
   */
  compact(): Promise<boolean>
  /** Forgets these posts. */
  remove(ids: readonly PostId[]): Promise<void>
  /** Forgets all posts below the id: whole partitions at once where they lie below it. */
  removeBelow(id: bigint): Promise<void>
  /** Empties the index, so that it is filled again. */
  clear(): Promise<void>
}
