/**
 * Retention: what has been kept for its time goes, a little at a time, and never silently.
 *
 * `trimmed_to` of a log only moves forward; after it nothing is missing. A match up to it that no retry and no dead
 * letter needs is gone for every reader. Its row goes with its partition (`partitions.ts`); only rows of the default
 * partition are deleted one by one, and there only spared ones remain (`spared-matches.ts`). A cursor that is overtaken is
 * moved forward and gets a gap marker.
 *
 * A step locks the log's row FOR UPDATE, so that no match becomes needed meanwhile that it does not see.
 */
import type { RetentionReads, RetentionWrites } from "../../port/retention-store.ts"
import type { AppId, LinkId, MatchSeq, PostId, WebhookId } from "../../../model/ids.ts"
import type { GapMarker } from "../../../model/link.ts"
import { crashPoint } from "../../../runtime/crash-points.ts"
import { gapsPerLinkMax } from "../../bounds.ts"
import { overtake } from "../../ledger/overtake.ts"
import { afterRecheck, trimEnd, trimStep, type Recheck } from "../../ledger/trim.ts"
import { columnsOf } from "../../rows/record.ts"
import type { TrimmedMatches } from "../../port/retention-store.ts"
import {
  addToTotals,
  type ClusterDatabase,
  type Queries,
  type WriteTransaction,
  type WriteContext,
} from "../connection/database.ts"
import { idEnds } from "../connection/keyset.ts"
import { forgetChains } from "./edits.ts"
import { isKept, isNeeded, positionAt } from "./match-logs.ts"
import { dropPassedMatches, dropPassedPosts, ensurePartitions, idAtMs } from "./partitions.ts"

/** Between two looks for partitions that are to be made or dropped. Ours. */
const partitionPassMs = 60_000

/** The reads of gap markers. */
export function createGapReads(queries: Queries): RetentionReads {
  return {
    async gaps(linkId) {
      const newest = await queries.rows<GapMarker>(
        `SELECT from_seq AS "from", to_seq AS "to", at_ms AS "atMs" FROM gap_markers
         WHERE link_id = $1 ORDER BY from_seq DESC LIMIT $2`,
        linkId,
        gapsPerLinkMax,
      )
      return newest.toReversed()
    },
  }
}

interface LogState {
  readonly trimmedTo: MatchSeq
  readonly leftoversAfter: MatchSeq | null
}

/** The retention of matches and posts. */
export function createRetentionWrites(database: ClusterDatabase, { clock }: WriteContext): RetentionWrites {
  let partitionsAtMs: number | undefined

  async function maintainPartitions(beforeMs: number): Promise<void> {
    const nowMs = clock.nowMs()
    if (partitionsAtMs !== undefined && Math.abs(nowMs - partitionsAtMs) < partitionPassMs) return
    partitionsAtMs = nowMs
    await ensurePartitions(database, nowMs)
    await dropPassedMatches(database, beforeMs)
  }

  return {
    async trimMatches(appId, { beforeMs, owedBeforeMs = beforeMs, limit }) {
      await maintainPartitions(beforeMs)
      const end = await endOf(database, appId, { beforeMs, owedBeforeMs })
      const log = await database.row<LogState>(`${selectLog} WHERE app_id = $1`, appId)
      // Most logs have nothing to trim most of the time, and so are not locked.
      const isDone = log === undefined || (end <= log.trimmedTo && log.leftoversAfter === null)
      if (isDone) return { trimmed: 0, isDone: true, gaps: [] }
      return database.write(async (transaction) => {
        const result = await trimLocked(transaction, { appId, end, limit, nowMs: clock.nowMs() })
        crashPoint("in-trim")
        return result
      })
    },

    async trimPosts({ after, beforeMs, limit }) {
      const dropped = after === undefined ? await dropPassedPosts(database, beforeMs) : 0
      const step = await trimPostRows(database, { after, beforeMs, limit })
      return { ...step, trimmed: dropped + step.trimmed }
    },
  }
}

/** The position up to which a log may be trimmed. A cursor that moves on meanwhile only lets more go the next time. */
async function endOf(
  queries: Queries,
  appId: AppId,
  { beforeMs, owedBeforeMs }: { readonly beforeMs: number; readonly owedBeforeMs: number },
): Promise<MatchSeq> {
  const old = await positionAt(queries, appId, beforeMs)
  if (owedBeforeMs === beforeMs) return old
  const first = await queries.row<{ position: MatchSeq | null }>(
    `SELECT min(position) AS "position" FROM links JOIN apps ON apps.id = links.app_id
     WHERE links.app_id = $1 AND NOT apps.revoked`,
    appId,
  )
  const owedOld = await positionAt(queries, appId, owedBeforeMs)
  return trimEnd({ old, owedOld, firstCursor: first?.position ?? undefined })
}

const selectLog = `SELECT trimmed_to AS "trimmedTo", leftovers_after AS "leftoversAfter" FROM match_logs`

interface TrimOf {
  readonly appId: AppId
  /** Position up to which the log is old enough. */
  readonly end: MatchSeq
  readonly limit: number
  readonly nowMs: number
}

async function trimLocked(transaction: WriteTransaction, of: TrimOf): Promise<TrimmedMatches> {
  const { appId, end, limit, nowMs } = of
  // Another process may have come further meanwhile.
  const log = await transaction.row<LogState>(`${selectLog} WHERE app_id = $1 FOR UPDATE`, appId)
  if (log === undefined) return { trimmed: 0, isDone: true, gaps: [] }
  const { to, isAtEnd, recheck } = trimStep(log, end, limit)
  let trimmed = 0
  let gaps: TrimmedMatches["gaps"] = []
  if (to > log.trimmedTo) {
    await moveTrimmed(transaction, appId, to)
    gaps = await overtakeLinks(transaction, { appId, to, nowMs })
    trimmed += to - log.trimmedTo - (await spareNeeded(transaction, { appId, after: log.trimmedTo, to }))
    if (gaps.length > 0) await transaction.announceControl()
  }
  if (recheck === undefined) return { trimmed, isDone: isAtEnd, gaps }
  const rechecked = await recheckSpared(transaction, appId, recheck)
  return { trimmed: trimmed + rechecked.trimmed, isDone: rechecked.isDone, gaps }
}

async function moveTrimmed(transaction: WriteTransaction, appId: AppId, to: MatchSeq): Promise<void> {
  await transaction.run(
    `UPDATE match_logs SET trimmed_to = $2, trimmed_until_ms = greatest(trimmed_until_ms, 0, (
       SELECT max(at_ms) FROM matches WHERE app_id = $1 AND seq > trimmed_to AND seq <= $2))
     WHERE app_id = $1`,
    appId,
    to,
  )
}

/** Deletes what nothing needs of the default partition's rows in a stretch. Returns how many of the stretch are needed. */
async function spareNeeded(
  transaction: WriteTransaction,
  { appId, after, to }: { readonly appId: AppId; readonly after: MatchSeq; readonly to: MatchSeq },
): Promise<number> {
  const spared = await transaction.row<{ count: number }>(
    `WITH needed AS (
       SELECT seq FROM retries WHERE app_id = $1 AND seq > $2 AND seq <= $3
       UNION SELECT seq FROM dead_letters WHERE app_id = $1 AND seq > $2 AND seq <= $3),
     deleted AS (
       DELETE FROM matches_other
       WHERE app_id = $1 AND seq > $2 AND seq <= $3 AND seq NOT IN (SELECT seq FROM needed))
     SELECT count(*) AS "count" FROM needed`,
    appId,
    after,
    to,
  )
  return spared?.count ?? 0
}

/** Moves the cursors of an app's links that stand before a position on to it. Returns what they miss. */
async function overtakeLinks(
  transaction: WriteTransaction,
  { appId, to, nowMs }: { readonly appId: AppId; readonly to: MatchSeq; readonly nowMs: number },
): Promise<TrimmedMatches["gaps"]> {
  const links = await transaction.rows<OvertakenRow>(
    `SELECT id AS "linkId", webhook_id AS "webhookId", position,
       (SELECT json_build_object('from', from_seq, 'to', to_seq) FROM gap_markers
        WHERE link_id = links.id ORDER BY from_seq DESC LIMIT 1) AS newest
     FROM links WHERE app_id = $1 AND position < $2 ORDER BY id FOR NO KEY UPDATE`,
    appId,
    to,
  )
  if (links.length === 0) return []
  const overtaken = links.map((link) => overtake({ ...link, newest: link.newest ?? undefined }, to, nowMs))
  const ids = links.map(({ linkId }) => linkId)
  await putGaps(
    transaction,
    ids,
    overtaken.map(({ marker }) => marker),
  )
  await transaction.run(
    `UPDATE links SET position = $3, missed = links.missed + overtaken.missed
     FROM unnest($1::bigint[], $2::bigint[]) AS overtaken (id, missed) WHERE links.id = overtaken.id`,
    ids,
    overtaken.map(({ missed }) => missed),
    to,
  )
  return links.flatMap(({ linkId, webhookId }, index) => {
    const gap = overtaken[index]?.gap
    return gap === undefined ? [] : [{ linkId, webhookId, ...gap }]
  })
}

/** A link before it is overtaken. */
interface OvertakenRow {
  readonly linkId: LinkId
  readonly webhookId: WebhookId
  readonly position: MatchSeq
  readonly newest: Pick<GapMarker, "from" | "to"> | null
}

/** Puts a gap marker of each link, and deletes those of the same links that are too many, the oldest. */
async function putGaps(
  transaction: WriteTransaction,
  ids: readonly LinkId[],
  markers: readonly GapMarker[],
): Promise<void> {
  await transaction.run(
    `INSERT INTO gap_markers (link_id, from_seq, to_seq, at_ms)
     SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])
     ON CONFLICT (link_id, from_seq) DO UPDATE SET to_seq = excluded.to_seq, at_ms = excluded.at_ms`,
    ids,
    ...columnsOf(markers, ["from", "to", "atMs"]),
  )
  // The marker after as many newer ones as are kept, and all before it.
  await transaction.run(
    `DELETE FROM gap_markers USING unnest($1::bigint[]) AS missed (link_id)
     WHERE gap_markers.link_id = missed.link_id AND from_seq <= (
       SELECT from_seq FROM gap_markers AS newer WHERE newer.link_id = missed.link_id
       ORDER BY from_seq DESC LIMIT 1 OFFSET $2)`,
    ids,
    gapsPerLinkMax,
  )
}

/** A step of the check of spared matches: of the next `limit` in the default partition after `after`, up to `to`. */
async function recheckSpared(
  transaction: WriteTransaction,
  appId: AppId,
  recheck: Recheck,
): Promise<{ readonly trimmed: number; readonly isDone: boolean }> {
  const { after, to, limit } = recheck
  const next = await transaction.rows<{ seq: MatchSeq }>(
    "SELECT seq FROM matches_other WHERE app_id = $1 AND seq > $2 AND seq <= $3 ORDER BY seq LIMIT $4",
    appId,
    after,
    to,
    limit,
  )
  const { last, leftoversAfter } = afterRecheck(recheck, next)
  const trimmed = await transaction.run(
    `DELETE FROM matches_other AS matches WHERE app_id = $1 AND seq > $2 AND seq <= $3 AND NOT ${isNeeded}`,
    appId,
    after,
    last,
  )
  await transaction.run("UPDATE match_logs SET leftovers_after = $2 WHERE app_id = $1", appId, leftoversAfter)
  return { trimmed, isDone: leftoversAfter === null }
}

interface PostStep {
  readonly after: PostId | undefined
  readonly beforeMs: number
  readonly limit: number
}

/**
 * A step over the posts that may be old: those whose id says so, and all of the default partition. A post whose id says
 * that it is younger than it is stays until its id is as old.
 */
async function trimPostRows(
  database: ClusterDatabase,
  { after, beforeMs, limit }: PostStep,
): Promise<{ readonly trimmed: number; readonly next?: PostId }> {
  const from = after ?? idEnds.below
  const youngFrom = idAtMs(beforeMs)
  const posts = await database.rows<{ id: PostId; isOld: boolean }>(
    `SELECT id, created_at_ms < $4 AND NOT is_needed AS "isOld" FROM (
       (SELECT id, created_at_ms FROM posts WHERE id > $1 AND id < $2 ORDER BY id LIMIT $5)
       UNION ALL
       (SELECT id, created_at_ms FROM posts_other WHERE id > $3 ORDER BY id LIMIT $5)
       ORDER BY id LIMIT $5) AS next
     CROSS JOIN LATERAL (
       SELECT EXISTS (
         SELECT 1 FROM matches WHERE created_at_ms < $4 AND post_id = next.id AND ${isKept} LIMIT 1) AS is_needed)
       AS looked_up
     ORDER BY id`,
    from,
    youngFrom,
    BigInt(from) < BigInt(youngFrom) ? String(BigInt(youngFrom) - 1n) : from,
    beforeMs,
    limit,
  )
  const old = posts.filter(({ isOld }) => isOld).map(({ id }) => id)
  const trimmed = old.length === 0 ? 0 : await database.write((transaction) => deletePosts(transaction, old))
  const last = posts.at(-1)
  return { trimmed, ...(posts.length === limit && last !== undefined && { next: last.id }) }
}

async function deletePosts(transaction: WriteTransaction, ids: readonly PostId[]): Promise<number> {
  const deleted = await transaction.run("DELETE FROM posts WHERE id = ANY ($1::bigint[])", ids)
  await transaction.run("DELETE FROM shown_posts WHERE post_id = ANY ($1::bigint[])", ids)
  if (deleted > 0) await addToTotals(transaction, "posts_trimmed", deleted)
  await forgetChains(transaction, ids)
  return deleted
}
