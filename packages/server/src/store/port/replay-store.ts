/** Replays: a part of the store (`store.ts`). */
import type { AppId, ReplayId } from "../../model/ids.ts"
import type { Replay, ReplayProgress } from "../../model/replay.ts"

/** Reads: replays. */
export interface ReplayReads {
  /** Newest first, of one app or of all. */
  replays(of: { readonly appId?: AppId; readonly state?: Replay["state"] }): Promise<readonly Replay[]>
}

/** Writes: replays. */
export interface ReplayWrites {
  /** `conflict` when a replay to the webhook is running, `no-link` when the link is gone. */
  createReplay(replay: Replay): Promise<"created" | "conflict" | "no-link">
  /** Throws `LeaseLost` for progress that was made under a lease which is not the link's any more. */
  saveReplay(progress: ReplayProgress): Promise<void>
  /** Ends a replay. The newest 100 ended replays of each app are kept. `lease` as for `saveReplay`, and it throws as that. */
  endReplay(id: ReplayId, state: "complete" | "incomplete", atMs: number, lease?: number): Promise<void>
}
