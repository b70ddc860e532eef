/** Replays as rows. */
import type { Replay } from "../../model/replay.ts"

/** Columns of a replay. */
export const replayColumns =
  "id, app_id, webhook_id, link_id, from_ms, to_ms, position, end_seq, delivered, failed, created_at_ms, state, ended_at_ms"

/** A replay. */
export interface ReplayRow extends Omit<Replay, "endedAtMs"> {
  readonly endedAtMs: number | null
}

/** The values of `replayColumns`: first the ids. */
export function replayValuesOf({ id, appId, webhookId, linkId, ...replay }: Replay) {
  const { fromMs, toMs, position, endSeq, delivered, failed, createdAtMs, state, endedAtMs = null } = replay
  return {
    ids: [id, appId, webhookId, linkId],
    rest: [fromMs, toMs, position, endSeq, delivered, failed, createdAtMs, state, endedAtMs],
  } as const
}
