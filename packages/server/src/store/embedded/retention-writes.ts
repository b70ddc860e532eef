/**
 * Retention: what has been kept for long enough goes, a little at a time, and never unseen.
 *
 * `trimmed_to` of a log only moves on; after it nothing is missing. Up to it lie only entries that some retry or dead
 * letter of the app still needs, and each goes with the last of them. Only when a link is deleted, with all that it
 * needs, are they looked through, a few at each step.
 */
import type { DatabaseSync } from "node:sqlite"
import type { AppId, LinkId, MatchSeq, PostId, WebhookId } from "../../model/ids.ts"
import { crashPoint } from "../../runtime/crash-points.ts"
import type { TrimmedMatches } from "../store.ts"
import { prepareFreeMatch } from "./free-match.ts"
import { preparePositionAt } from "./position-at.ts"
import { prepare } from "./statements.ts"
import type { SyncWrites, WriteDeps } from "./writes.ts"

interface PassedLinkRow {
  id: LinkId
  webhook_id: WebhookId
  position: number
}

/** Gap markers that are kept of a link, the newest. Ours. */
export const gapsPerLinkMax = 1_000

type RetentionWrites = Pick<SyncWrites, "trimMatches" | "trimPosts" | "trimDeadLetters">

/** The writes of retention on this connection. */
export function createRetentionWrites(db: DatabaseSync, { clock, announce }: WriteDeps): RetentionWrites {
  const positionAt = preparePositionAt(db)
  const logOf = prepare<{ trimmed_to: number; leftovers_after: number | null }>(
    db,
    "SELECT trimmed_to, leftovers_after FROM match_logs WHERE app_id = ?",
  )
  const deleteMatches = prepare(
    db,
    `DELETE FROM matches WHERE app_id = ?1 AND seq > ?2 AND seq <= ?3 AND seq NOT IN (
       SELECT seq FROM retries WHERE app_id = ?1 AND seq > ?2 AND seq <= ?3
       UNION ALL SELECT seq FROM dead_letters WHERE app_id = ?1 AND seq > ?2 AND seq <= ?3)`,
  )
  const leftovers = prepare<{ seq: number }>(
    db,
    "SELECT seq FROM matches WHERE app_id = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?",
  )
  const moveLeftovers = prepare(db, "UPDATE match_logs SET leftovers_after = ? WHERE app_id = ?")
  const freeMatch = prepareFreeMatch(db)
  const moveTrimmed = prepare(
    db,
    `UPDATE match_logs SET trimmed_to = ?2, trimmed_until_ms = max(ifnull(trimmed_until_ms, 0), ifnull((
       SELECT max(at_ms) FROM matches WHERE app_id = ?1 AND seq > trimmed_to AND seq <= ?2), 0))
     WHERE app_id = ?1`,
  )
  const passedLinks = prepare<PassedLinkRow>(
    db,
    `SELECT CAST (id AS TEXT) AS id, CAST (webhook_id AS TEXT) AS webhook_id, position
     FROM links WHERE app_id = ? AND position < ? ORDER BY links.id`,
  )
  const moveLink = prepare(
    db,
    "UPDATE links SET position = ?1, missed = missed + ?1 - position WHERE id = ?2",
  )
  const growGap = prepare(
    db,
    "UPDATE gap_markers SET to_seq = ?1, at_ms = ?2 WHERE link_id = ?3 AND to_seq = ?4 - 1",
  )
  const insertGap = prepare(
    db,
    "INSERT INTO gap_markers (to_seq, at_ms, link_id, from_seq) VALUES (?1, ?2, ?3, ?4)",
  )

  // The marker after as many newer ones as are kept, and all before it.
  const forgetOldGaps = prepare(
    db,
    `DELETE FROM gap_markers WHERE link_id = ?1 AND from_seq <= (
       SELECT from_seq FROM gap_markers WHERE link_id = ?1 ORDER BY from_seq DESC LIMIT 1 OFFSET ?2)`,
  )

  const nextPosts = prepare<{ id: PostId; created_at_ms: number; is_needed: number }>(
    db,
    `SELECT CAST (id AS TEXT) AS id, created_at_ms,
       EXISTS (SELECT 1 FROM matches WHERE post_id = posts.id) AS is_needed
     FROM posts WHERE posts.id > ? ORDER BY posts.id LIMIT ?`,
  )
  const deletePost = prepare(db, "DELETE FROM posts WHERE id = ?")
  const countTrimmed = prepare(db, "UPDATE totals SET posts_trimmed = posts_trimmed + ?")

  const deleteDead = prepare<{ link_id: LinkId; app_id: AppId; seq: number }>(
    db,
    `DELETE FROM dead_letters WHERE id IN (
       SELECT id FROM dead_letters WHERE died_at_ms < ? ORDER BY died_at_ms LIMIT ?)
     RETURNING CAST (link_id AS TEXT) AS link_id, CAST (app_id AS TEXT) AS app_id, seq`,
  )
  const countExpired = prepare(
    db,
    "UPDATE links SET expired = expired + ?1, dead_letters = dead_letters - ?1 WHERE id = ?2",
  )

  /** Moves cursors that stand before `to` on to it, and marks what they miss. */
  function overtakeLinks(app: bigint, to: number): TrimmedMatches["gaps"] {
    const atMs = clock.nowMs()
    return passedLinks.all(app, to).map(({ id, webhook_id: webhookId, position }) => {
      const from = position + 1
      const marker = [to, atMs, BigInt(id), from] as const
      if (growGap.run(...marker) === 0) {
        insertGap.run(...marker)
        forgetOldGaps.run(BigInt(id), gapsPerLinkMax)
      }
      moveLink.run(to, BigInt(id))
      return { linkId: id, webhookId, from: from as MatchSeq, to: to as MatchSeq, atMs }
    })
  }

  /** Looks through the next `limit` entries that were spared, and says when that was the last of them. */
  function freeLeftovers(
    app: bigint,
    { after, to, limit }: { after: number; to: number; limit: number },
  ): { readonly freed: number; readonly isDone: boolean } {
    const next = leftovers.all(app, after, to, limit)
    let freed = 0
    for (const { seq } of next) freed += freeMatch(app, seq)
    const isDone = next.length < limit
    moveLeftovers.run(isDone ? null : (next.at(-1)?.seq ?? after), app)
    return { freed, isDone }
  }

  return {
    trimMatches(appId: AppId, { beforeMs, limit }) {
      const app = BigInt(appId)
      const log = logOf.get(app)
      if (log === undefined) return { trimmed: 0, isDone: true, gaps: [] }
      const { trimmed_to: trimmedTo, leftovers_after: after } = log
      const end = positionAt(appId, beforeMs)
      const to = Math.min(end, trimmedTo + limit)
      let trimmed = 0
      let gaps: TrimmedMatches["gaps"] = []
      if (to > trimmedTo) {
        moveTrimmed.run(app, to)
        trimmed += deleteMatches.run(app, trimmedTo, to)
        gaps = overtakeLinks(app, to)
        if (gaps.length > 0) announce({ kind: "control" })
      }
      let isDone = to === end
      const room = limit - (to - trimmedTo)
      if (isDone && after !== null) {
        const looked = freeLeftovers(app, { after, to, limit: room })
        trimmed += looked.freed
        isDone = looked.isDone
      }
      crashPoint("in-trim")
      return { trimmed, isDone, gaps }
    },

    trimPosts({ after, beforeMs, limit }) {
      const posts = nextPosts.all(after === undefined ? -1n : BigInt(after), limit)
      const old = posts.filter((post) => post.created_at_ms < beforeMs && post.is_needed === 0)
      for (const { id } of old) deletePost.run(BigInt(id))
      if (old.length > 0) countTrimmed.run(old.length)
      const last = posts.at(-1)
      return { trimmed: old.length, ...(posts.length === limit && last !== undefined && { next: last.id }) }
    },

    trimDeadLetters({ beforeMs, limit }) {
      const gone = deleteDead.all(beforeMs, limit)
      for (const [linkId, ofLink] of Map.groupBy(gone, (dead) => dead.link_id)) {
        countExpired.run(ofLink.length, BigInt(linkId))
      }
      for (const { app_id: appId, seq } of gone) freeMatch(BigInt(appId), seq)
      return gone.length
    },
  }
}
