/** The progress of links: their cursors and retries. A part of the store (`store.ts`). */
import type { AppId, LinkId } from "../../model/ids.ts"
import type { LinkProgress, RetryEntry } from "../../model/link.ts"
import type { PostShape } from "../../model/post.ts"
import type { LinkLease } from "../leases.ts"

/** Reads: the progress of links: their cursors and retries. */
export interface ProgressReads {
  /** All retries of a link, oldest match first. Delivery bounds their number and bytes. `reader`: the link's app. */
  retries(linkId: LinkId, shape: PostShape, reader?: AppId): Promise<readonly RetryEntry[]>
}

/** Writes: the progress of links: their cursors and retries. */
export interface ProgressWrites {
  /**
   * Moves cursors, never back, and saves their retries, deletes the settled ones, and adds dead letters, in one
   * transaction: a cursor passes no match that is not delivered, a retry or a dead letter. Progress of a deleted link is
   * ignored. So is a new retry or dead letter of a match that the cursor has passed before: retention has passed it, and
   * it counts as missed. `delivered` grows by no more than the cursor has moved, so progress that is saved twice changes
   * nothing. Progress that was made under a lease which is not the link's any more is ignored; returns those leases.
   */
  saveProgress(progress: readonly LinkProgress[]): Promise<readonly LinkLease[]>
}
