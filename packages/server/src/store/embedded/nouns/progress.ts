/** The progress of links: their cursors and retries. `store/ledger/progress.ts` decides the changes of a save. */
import type { ProgressReads, ProgressWrites } from "../../port/progress-store.ts"
import type { DatabaseSync } from "node:sqlite"
import type { AppId, MatchSeq } from "../../../model/ids.ts"
import type { PostShape } from "../../../model/post.ts"
import { damageOf, type CheckedRow } from "../connection/checked-rows.ts"
import { namedIn, progressChange } from "../../ledger/progress.ts"
import { readerOf } from "../../readers.ts"
import { checkedEntryOf, matchColumns, rowBytes, type CheckedMatchRow } from "./match-entries.ts"
import { inChunks } from "../connection/row-chunks.ts"
import { prepareLinkChange, prepareOutstanding } from "./link-changes.ts"
import { columnsAs, prepare, type Statement } from "../connection/statements.ts"
import type { ReadContext, SyncReads, SyncWrites } from "../serving/sync-store.ts"

interface RetryRow extends CheckedRow, CheckedMatchRow {
  readonly appId: AppId
  readonly failures: number
  readonly dueAtMs: number
}

/** The reads of retries. */
export function createRetryReads(db: DatabaseSync, { turns }: ReadContext): SyncReads<ProgressReads> {
  const retriesOf = (shape: PostShape): Statement<RetryRow> =>
    prepare(
      db,
      `SELECT ${columnsAs("links", "app_id")}, ${columnsAs("retries", "seq, failures, due_at_ms")},
         ${matchColumns(shape)}, ${damageOf("retries")} AS damage
       FROM retries JOIN links ON links.id = link_id
         LEFT JOIN matches ON matches.app_id = links.app_id AND matches.seq = retries.seq
         LEFT JOIN posts ON posts.id = post_id
       WHERE link_id = ? AND retries.seq > ? ORDER BY retries.seq LIMIT ?`,
    )
  const retries = { core: retriesOf("core"), envelope: retriesOf("envelope") }
  return {
    retries(linkId, shape, appId) {
      const read = (last: RetryRow | undefined, limit: number): Iterable<RetryRow> =>
        retries[shape].iterate(BigInt(linkId), last?.seq ?? 0, limit)
      return Array.fromAsync(
        inChunks({ turns, reader: readerOf.retries(linkId, shape, appId) }, read, rowBytes),
        (row) => ({
          seq: row.seq,
          // A damaged due time might never come, so the retry is due now.
          ...(row.damage === null ? { failures: row.failures, dueAtMs: row.dueAtMs } : { failures: 0, dueAtMs: 0 }),
          entry: checkedEntryOf(row.appId, row),
        }),
      )
    },
  }
}

/** The writes of progress. */
export function createProgressWrites(db: DatabaseSync): SyncWrites<ProgressWrites> {
  const linkOf = prepare<{ appId: AppId; position: MatchSeq; trimmedTo: MatchSeq }>(
    db,
    `SELECT CAST (links.app_id AS TEXT) AS appId, position, coalesce(trimmed_to, 0) AS trimmedTo
     FROM links LEFT JOIN match_logs ON match_logs.app_id = links.app_id WHERE links.id = ?`,
  )
  const outstandingOf = prepareOutstanding(db)
  const write = prepareLinkChange(db)
  return {
    saveProgress(all) {
      for (const progress of all) {
        const id = BigInt(progress.linkId)
        const link = linkOf.get(id)
        if (link === undefined) continue
        // Matches that the cursor has not passed have no row.
        const named = namedIn(progress).filter((seq) => seq <= link.position)
        const outstanding = named.length === 0 ? [] : outstandingOf(id, named)
        write(progress.linkId, link.appId, progressChange({ ...link, outstanding }, [progress]))
      }
      // One process has this store for itself, so no lease is ever another's.
      return []
    },
  }
}
