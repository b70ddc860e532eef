/**
 * The locks of writes to what belongs to links.
 *
 * Such a write locks its links first, so no two of them interleave on one link: what it then reads of the link's
 * retries and dead letters stays so until it commits. A write that may free a match, or needs one that the cursor has
 * passed, locks the match log before the links, and retention does not move meanwhile. Appends don't wait for that
 * lock.
 */
import type { AppId, LinkId, MatchSeq } from "../../../model/ids.ts"
import { columnsAs, type WriteTransaction } from "./database.ts"

/** Retention's position in a log, and the log's end. */
export interface LockedLog {
  readonly appId: AppId
  readonly head: MatchSeq
  readonly trimmedTo: MatchSeq
}

/** A link as it is until the transaction ends. */
export interface LockedLink {
  readonly id: LinkId
  readonly appId: AppId
  readonly firstPosition: MatchSeq
  readonly position: MatchSeq
  readonly delivered: number
  /** Number of its retries. */
  readonly retries: number
  /** NULL: no process drives it. */
  readonly lease: number | null
}

/** Locks the logs of links' apps against retention. To be called before `lockLinks`. Logs without matches are absent. */
export async function lockLogs(
  transaction: WriteTransaction,
  linkIds: readonly LinkId[],
): Promise<ReadonlyMap<AppId, LockedLog>> {
  const logs = await transaction.rows<LockedLog>(
    `SELECT ${columnsAs("match_logs", "app_id, head, trimmed_to")} FROM match_logs
     WHERE app_id IN (SELECT app_id FROM links WHERE id = ANY ($1::bigint[])) ORDER BY app_id FOR KEY SHARE`,
    linkIds,
  )
  return new Map(logs.map((log) => [log.appId, log]))
}

/** Locks links. Those that are deleted are absent. */
export async function lockLinks(
  transaction: WriteTransaction,
  ids: readonly LinkId[],
): Promise<ReadonlyMap<LinkId, LockedLink>> {
  const links = await transaction.rows<LockedLink>(
    `SELECT ${columnsAs("links", "id, app_id, first_position, position, delivered, retries, lease")} FROM links
     WHERE id = ANY ($1::bigint[]) ORDER BY id FOR UPDATE`,
    ids,
  )
  return new Map(links.map((link) => [link.id, link]))
}
