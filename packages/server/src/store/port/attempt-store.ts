/** The attempt history of links: a part of the store (`store.ts`). */
import type { Attempt, StoredAttempt } from "../../model/attempt.ts"
import type { AppId, AttemptId, LinkId } from "../../model/ids.ts"

/** Reads: the attempt history of links. */
export interface AttemptReads {
  /** The newest attempts of a link, newest first. */
  attempts(linkId: LinkId, limit: number, reader?: AppId): Promise<readonly StoredAttempt[]>
  /** `undefined` when it is none of the link's, or not among the newest that are kept. */
  attempt(linkId: LinkId, id: AttemptId, reader?: AppId): Promise<StoredAttempt | undefined>
}

/** Writes: the attempt history of links. */
export interface AttemptWrites {
  /**
   * Adds attempts, and keeps the newest `keptPerLink` of each link. Attempts of deleted links are ignored,
   * and so are responses to deliveries of posts that are deleted by now.
   */
  recordAttempts(attempts: readonly Attempt[], options: { keptPerLink: number }): Promise<void>
}
