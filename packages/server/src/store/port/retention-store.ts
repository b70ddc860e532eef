/** Retention, and the gap markers that it leaves: a part of the store (`store.ts`). */
import type { AppId, LinkId, PostId, WebhookId } from "../../model/ids.ts"
import type { GapMarker } from "../../model/link.ts"

/** The result of one step of retention. */
export interface TrimmedMatches {
  /** Deleted entries, without those that are deleted with the last retry or dead letter that needed them. */
  readonly trimmed: number
  /** False while there is more to trim. */
  readonly isDone: boolean
  /** The new parts of gap markers. */
  readonly gaps: readonly (GapMarker & {
    readonly linkId: LinkId
    readonly webhookId: WebhookId
  })[]
}

/** Reads: retention, and the gap markers that it leaves. */
export interface RetentionReads {
  /** The newest 1,000 gap markers of a link, oldest first. `reader`, here and below: the link's app. */
  gaps(linkId: LinkId, reader?: AppId): Promise<readonly GapMarker[]>
}

/** Writes: retention, and the gap markers that it leaves. */
export interface RetentionWrites {
  /**
   * Deletes the oldest entries of an app's log that were appended before `beforeMs`, at most `limit` of them. Entries
   * after the cursor of a link stay until they were appended before `owedBeforeMs`, too: absent, or when the app is
   * revoked, no link keeps any. Entries that a retry or a dead letter needs stay until the last of those is gone. A
   * cursor before what is deleted is moved on, and its link gets a gap marker.
   */
  trimMatches(
    appId: AppId,
    options: { beforeMs: number; owedBeforeMs?: number; limit: number },
  ): Promise<TrimmedMatches>
  /**
   * Scans the next `limit` posts after `after`, by id, and deletes those made before `beforeMs` that no match log
   * needs. `next` is where to continue; absent at the end.
   */
  trimPosts(options: {
    after: PostId | undefined
    beforeMs: number
    limit: number
  }): Promise<{ readonly trimmed: number; readonly next?: PostId }>
}
