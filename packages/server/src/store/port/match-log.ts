/** The match logs of apps, and the append of posts with their matches: a part of the store (`store.ts`). */
import type { AppId, MatchSeq, PostId } from "../../model/ids.ts"
import type { MatchEntry, MatchOfPost, PostMatch } from "../../model/match.ts"
import type { AcceptedPost, PostShape } from "../../model/post.ts"

/** A stretch of an app's match log. */
export interface MatchRange {
  readonly appId: AppId
  /** Exclusive. */
  readonly after: MatchSeq
  readonly limit: number
  /** Most bytes of posts and their matching rules. The last entry may exceed it, so that there is always one. */
  readonly bytesMax: number
  readonly shape: PostShape
}

/** The part of a log that retention has passed: everything up to a position. */
export interface TrimmedLog {
  readonly to: MatchSeq
  /** When the newest entry of it was appended, Unix ms. */
  readonly untilMs: number
}

/** Reads: the match logs of apps, and the append of posts with their matches. */
export interface MatchLogReads {
  /** The head of each match log that is not empty. */
  heads(): Promise<ReadonlyMap<AppId, MatchSeq>>
  /** The position of an app's newest match; 0 without matches. */
  head(appId: AppId): Promise<MatchSeq>
  /** The position after which everything was appended at or after `atMs`. */
  positionAt(appId: AppId, atMs: number): Promise<MatchSeq>
  /** The part of an app's log that retention has passed; `undefined` when there is none. */
  trimmed(appId: AppId): Promise<TrimmedLog | undefined>
  /** An entry of an app's log; `undefined` before it is there, and when retention has deleted it. */
  match(appId: AppId, seq: MatchSeq, shape: PostShape): Promise<MatchEntry | undefined>
  /** Matches after `after`, oldest first. Empty when there are none yet. */
  matches(range: MatchRange): Promise<readonly MatchEntry[]>
  /** The entries of a post in the match logs of all apps, or of one, at most 1,000. Damaged ones are left out. */
  matchesOfPost(id: PostId, appId?: AppId): Promise<readonly MatchOfPost[]>
}

/** Writes: the match logs of apps, and the append of posts with their matches. */
export interface MatchLogWrites {
  /**
   * Stores posts and appends their matches to the logs of their apps. A post whose id is stored already is ignored with
   * its matches. Returns which posts were new, in order. A store that several processes share keeps the `rulesSeq` of
   * each match.
   */
  append(
    batch: readonly { readonly post: AcceptedPost; readonly matches: readonly PostMatch[] }[],
    atMs: number,
  ): Promise<readonly boolean[]>
}
