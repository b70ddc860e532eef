/** Replays: a part of the store (`store.ts`). */
import type { AppId, MatchSeq, ReplayId } from "../../model/ids.ts"
import type { MatchEntry } from "../../model/match.ts"
import type { PostShape } from "../../model/post.ts"
import type { BackfillFound, Replay, ReplayEnd, ReplayProgress } from "../../model/replay.ts"

/** A stretch of the matches that a backfill has found. */
export interface BackfillRange {
  readonly id: ReplayId
  /** Exclusive. */
  readonly after: MatchSeq
  readonly limit: number
  /** Most bytes of posts and their matching rules. The last entry may exceed it, so that there is always one. */
  readonly bytesMax: number
  readonly shape: PostShape
}

/** Reads: replays. */
export interface ReplayReads {
  /** Newest first, of one app or of all. */
  replays(of: { readonly appId?: AppId; readonly state?: Replay["state"] }): Promise<readonly Replay[]>
  /**
   * The matches that a running backfill has found after `after`, in order, without a hole. An entry whose post is gone or damaged has
   * no post. Empty at the end.
   */
  backfillMatches(range: BackfillRange): Promise<readonly MatchEntry[]>
}

/** Writes: replays. */
export interface ReplayWrites {
  /** `conflict` when a replay to the webhook is running, `no-link` when the link is gone. */
  createReplay(replay: Replay): Promise<"created" | "conflict" | "no-link">
  /** Throws `LeaseLost` for progress that was made under a lease which is not the link's any more. */
  saveReplay(progress: ReplayProgress): Promise<void>
  /**
   * Adds what the search of a backfill has found, and moves its position, in one transaction. False when the replay does not
   * run any more; then nothing is added. Throws as `saveReplay`.
   */
  addBackfillMatches(found: BackfillFound): Promise<boolean>
  /**
   * Ends a replay that runs, and forgets what it has found; false when it does not run. The newest 100 ended replays of
   * each app are kept. `lease` as for `saveReplay`, and it throws as that.
   */
  endReplay(id: ReplayId, state: ReplayEnd, atMs: number, lease?: number): Promise<boolean>
}
