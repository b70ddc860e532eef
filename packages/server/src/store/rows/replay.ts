/** Replays as rows. */
import type { PostId } from "../../model/ids.ts"
import type { BackfillMatch, BackfillRule, Replay } from "../../model/replay.ts"
import { storedRules } from "../stored-rules.ts"
import { recordOf } from "./record.ts"

/** Columns of a replay. */
export const replayColumns =
  "id, app_id, webhook_id, link_id, from_ms, to_ms, position, end_seq, delivered, failed, created_at_ms, state, " +
  "ended_at_ms, backfill_rules, searched_id, last_id"

/** A replay. The last three are those of a backfill. */
export interface ReplayRow extends Omit<Replay, "endedAtMs" | "backfill"> {
  readonly endedAtMs: number | null
  /** JSON text. */
  readonly backfillRules: string | null
  readonly searchedId: PostId | null
  readonly lastId: PostId | null
}

/** A row as a replay. */
export function replayOf(row: ReplayRow): Replay {
  const { backfillRules, searchedId, lastId, ...replay } = recordOf(row)
  if (backfillRules === undefined || searchedId === undefined || lastId === undefined) return replay
  return { ...replay, backfill: { rules: JSON.parse(backfillRules) as readonly BackfillRule[], searchedId, lastId } }
}

/** The values of `replayColumns`: first the ids, last the ids of a backfill. */
export function replayValuesOf({ id, appId, webhookId, linkId, backfill, ...replay }: Replay) {
  const { fromMs, toMs, position, endSeq, delivered, failed, createdAtMs, state, endedAtMs = null } = replay
  const rules = backfill === undefined ? null : JSON.stringify(backfill.rules)
  return {
    ids: [id, appId, webhookId, linkId],
    rest: [fromMs, toMs, position, endSeq, delivered, failed, createdAtMs, state, endedAtMs, rules],
    searched: [backfill?.searchedId ?? null, backfill?.lastId ?? null],
  } as const
}

/** Matches that a backfill has found, as rows that are numbered after `endSeq`. */
export function backfillRowsOf(endSeq: number, matches: readonly BackfillMatch[]) {
  return matches.map(({ postId, rules }, index) => ({ seq: endSeq + index + 1, postId, rules: storedRules({ rules }) }))
}
