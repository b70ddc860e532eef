/**
 * Retention: what has been kept for its time is deleted, a little at a time, and never silently.
 *
 * `trimmed_to` of a log only moves forward; after it nothing is missing. Up to it lie only spared matches
 * (`spared-matches.ts`). A cursor that it overtakes is moved forward and gets a gap marker.
 */
import type { RetentionReads } from "../../port/retention-store.ts"
import type { DatabaseSync } from "node:sqlite"
import type { AppId, LinkId, MatchSeq, PostId, WebhookId } from "../../../model/ids.ts"
import type { GapMarker } from "../../../model/link.ts"
import { crashPoint } from "../../../runtime/crash-points.ts"
import { idEnds } from "../../id-bounds.ts"
import { gapsPerLinkMax } from "../../bounds.ts"
import type { TrimmedMatches } from "../../port/retention-store.ts"
import { overtake } from "../../ledger/overtake.ts"
import { afterRecheck, trimEnd, trimStep, type Recheck } from "../../ledger/trim.ts"
import { insertChecked, isWhole, settingChecked } from "../connection/checked-rows.ts"
import { prepareForgetChains } from "./edits.ts"
import { preparePositionAt } from "./match-logs.ts"
import { prepareDeleteSpared } from "./spared-matches.ts"
import { columnsAs, prepare } from "../connection/statements.ts"
import type { SyncReads, SyncWrites, WriteContext } from "../serving/sync-store.ts"

/** The reads of gap markers. */
export function createGapReads(db: DatabaseSync): SyncReads<RetentionReads> {
  const gaps = prepare<GapMarker>(
    db,
    `SELECT from_seq AS "from", to_seq AS "to", at_ms AS atMs FROM gap_markers
     WHERE link_id = ? AND ${isWhole("gap_markers")} ORDER BY from_seq`,
  )
  return {
    gaps: (linkId) => gaps.all(BigInt(linkId)).map((row) => ({ ...row })),
  }
}

/** The retention of matches. */
export function createTrimMatches(db: DatabaseSync, context: WriteContext): Pick<SyncWrites, "trimMatches"> {
  const positionAt = preparePositionAt(db)
  const logOf = prepare<{ trimmedTo: MatchSeq; leftoversAfter: MatchSeq | null }>(
    db,
    "SELECT trimmed_to AS trimmedTo, leftovers_after AS leftoversAfter FROM match_logs WHERE app_id = ?",
  )
  const deleteMatches = prepare(
    db,
    `DELETE FROM matches WHERE app_id = ?1 AND seq > ?2 AND seq <= ?3 AND seq NOT IN (
       SELECT seq FROM retries WHERE app_id = ?1 AND seq > ?2 AND seq <= ?3
       UNION ALL SELECT seq FROM dead_letters WHERE app_id = ?1 AND seq > ?2 AND seq <= ?3)`,
  )
  const moveTrimmed = prepare(
    db,
    `UPDATE match_logs SET trimmed_to = ?2, trimmed_until_ms = max(ifnull(trimmed_until_ms, 0), ifnull((
       SELECT max(at_ms) FROM matches WHERE app_id = ?1 AND seq > trimmed_to AND seq <= ?2), 0))
     WHERE app_id = ?1`,
  )
  const firstCursorOf = prepare<{ position: MatchSeq | null }>(
    db,
    `SELECT min(position) AS position FROM links JOIN apps ON apps.id = links.app_id
     WHERE links.app_id = ? AND apps.revoked = 0`,
  )
  const endOf = (appId: AppId, beforeMs: number, owedBeforeMs: number): MatchSeq => {
    const old = positionAt(appId, beforeMs)
    if (owedBeforeMs === beforeMs) return old
    const firstCursor = firstCursorOf.get(BigInt(appId))?.position ?? undefined
    return trimEnd({ old, owedOld: positionAt(appId, owedBeforeMs), firstCursor })
  }
  const recheckSpared = prepareRecheck(db)
  const overtakeLinks = prepareOvertakeLinks(db, context)
  return {
    trimMatches(appId, { beforeMs, owedBeforeMs = beforeMs, limit }) {
      const app = BigInt(appId)
      const log = logOf.get(app)
      if (log === undefined) return { trimmed: 0, isDone: true, gaps: [] }
      const { to, isAtEnd, recheck } = trimStep(log, endOf(appId, beforeMs, owedBeforeMs), limit)
      let trimmed = 0
      let gaps: TrimmedMatches["gaps"] = []
      if (to > log.trimmedTo) {
        moveTrimmed.run(app, to)
        trimmed += deleteMatches.run(app, log.trimmedTo, to)
        gaps = overtakeLinks(app, to)
        // Cached starts of the log are out of date.
        context.announce({ kind: "matches", appIds: [appId] })
        if (gaps.length > 0) context.announceControl()
      }
      const rechecked = recheck === undefined ? { trimmed: 0, isDone: isAtEnd } : recheckSpared(app, recheck)
      crashPoint("in-trim")
      return { trimmed: trimmed + rechecked.trimmed, isDone: rechecked.isDone, gaps }
    },
  }
}

/** Prepares the move of cursors that stand before a position on to it. It returns what they miss. */
function prepareOvertakeLinks(
  db: DatabaseSync,
  { clock }: WriteContext,
): (app: bigint, to: MatchSeq) => TrimmedMatches["gaps"] {
  const linksBefore = prepare<{ linkId: LinkId; webhookId: WebhookId; position: MatchSeq }>(
    db,
    `SELECT ${columnsAs("links", "webhook_id, position")}, CAST (links.id AS TEXT) AS linkId
     FROM links WHERE app_id = ? AND position < ? ORDER BY links.id`,
  )
  const newestGap = prepare<GapMarker>(
    db,
    `SELECT from_seq AS "from", to_seq AS "to" FROM gap_markers WHERE link_id = ? ORDER BY from_seq DESC LIMIT 1`,
  )
  const moveLink = prepare(db, "UPDATE links SET position = ?, missed = missed + ? WHERE id = ?")
  const putGap = prepare(
    db,
    `${insertChecked("gap_markers")} ON CONFLICT (link_id, from_seq) DO UPDATE
     SET ${settingChecked("gap_markers", { to_seq: "excluded.to_seq", at_ms: "excluded.at_ms" })}`,
  )
  // The marker after as many newer ones as are kept, and all before it.
  const forgetOldGaps = prepare(
    db,
    `DELETE FROM gap_markers WHERE link_id = ?1 AND from_seq <= (
       SELECT from_seq FROM gap_markers WHERE link_id = ?1 ORDER BY from_seq DESC LIMIT 1 OFFSET ?2)`,
  )
  return (app, to) => {
    const atMs = clock.nowMs()
    return linksBefore.all(app, to).map(({ linkId, webhookId, position }) => {
      const link = BigInt(linkId)
      const { missed, gap, marker } = overtake({ position, newest: newestGap.get(link) }, to, atMs)
      putGap.run(link, marker.from, marker.to, marker.atMs)
      forgetOldGaps.run(link, gapsPerLinkMax)
      moveLink.run(to, missed, link)
      return { linkId, webhookId, ...gap }
    })
  }
}

/** Prepares a step of the check of spared matches. */
function prepareRecheck(
  db: DatabaseSync,
): (app: bigint, recheck: Recheck) => { readonly trimmed: number; readonly isDone: boolean } {
  const spared = prepare<{ seq: MatchSeq }>(
    db,
    "SELECT seq FROM matches WHERE app_id = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?",
  )
  const moveOn = prepare(db, "UPDATE match_logs SET leftovers_after = ? WHERE app_id = ?")
  const deleteSpared = prepareDeleteSpared(db)
  return (app, recheck) => {
    const next = spared.all(app, recheck.after, recheck.to, recheck.limit)
    let trimmed = 0
    for (const { seq } of next) trimmed += deleteSpared(app, seq)
    const { leftoversAfter } = afterRecheck(recheck, next)
    moveOn.run(leftoversAfter, app)
    return { trimmed, isDone: leftoversAfter === null }
  }
}

/** The retention of posts. */
export function createTrimPosts(db: DatabaseSync): Pick<SyncWrites, "trimPosts"> {
  const nextPosts = prepare<{ id: PostId; created_at_ms: number; is_needed: number }>(
    db,
    `SELECT CAST (id AS TEXT) AS id, created_at_ms,
       EXISTS (SELECT 1 FROM matches WHERE post_id = posts.id) AS is_needed
     FROM posts WHERE posts.id > ? ORDER BY posts.id LIMIT ?`,
  )
  const deletePost = prepare(db, "DELETE FROM posts WHERE id = ?")
  const forgetChains = prepareForgetChains(db)
  const deleteShown = prepare(db, "DELETE FROM shown_posts WHERE post_id = ?")
  const countTrimmed = prepare(db, "UPDATE totals SET posts_trimmed = posts_trimmed + ?")
  return {
    trimPosts({ after, beforeMs, limit }) {
      const posts = nextPosts.all(after === undefined ? idEnds.below : BigInt(after), limit)
      const old = posts.filter((post) => post.created_at_ms < beforeMs && post.is_needed === 0)
      for (const { id } of old) {
        deletePost.run(BigInt(id))
        deleteShown.run(BigInt(id))
      }
      forgetChains(old.map(({ id }) => id))
      if (old.length > 0) countTrimmed.run(old.length)
      const last = posts.at(-1)
      return { trimmed: old.length, ...(posts.length === limit && last !== undefined && { next: last.id }) }
    },
  }
}
