/** Replays as rows. */
import type { Replay } from "../../model/replay.ts"

/** Columns of a replay. */
export const replayColumns =
  "id, app_id, webhook_id, link_id, from_ms, to_ms, position, end_seq, delivered, failed, created_at_ms, state, ended_at_ms"

/** A replay. */
export interface ReplayRow extends Omit<Replay, "endedAtMs"> {
  readonly endedAtMs: number | null
}
