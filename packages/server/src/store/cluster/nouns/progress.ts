/**
 * The progress of links: their cursors and retries.
 *
 * A save has the same few statements for one link and for a thousand. It locks the links, reads which of the matches it
 * names are retries and dead letters, and writes what the ledger changes then (`store/ledger/progress.ts`). When all went
 * well it names none, and is one statement: what is in flight waits for it.
 */
import type { ProgressReads, ProgressWrites } from "../../port/progress-store.ts"
import type { AppId, LinkId, MatchSeq } from "../../../model/ids.ts"
import type { LinkProgress, Retry, RetryEntry } from "../../../model/link.ts"
import type { PostShape } from "../../../model/post.ts"
import type { LinkLease } from "../../leases.ts"
import type { OutstandingMatch } from "../../ledger/link-change.ts"
import { isDeliveredOnly, namedIn, progressChange } from "../../ledger/progress.ts"
import { entryOf, type MatchRow } from "../../rows/match-entry.ts"
import { columnsOf } from "../../rows/record.ts"
import { columnsAs, type ClusterDatabase, type Queries, type WriteTransaction } from "../connection/database.ts"
import { writeChanges } from "./link-changes.ts"
import { lockLinks, lockLogs, type LockedLink, type LockedLog } from "../connection/locks.ts"
import { matchColumns } from "./match-logs.ts"

interface RetryRow extends MatchRow, Retry {
  readonly seq: MatchSeq
}

/** Most retries that one statement reads, with their posts. Ours. */
const retriesPerRead = 500

/** The reads of retries. */
export function createRetryReads(queries: Queries): ProgressReads {
  // A subquery for each retry: so PostgreSQL looks up its match and never scans the log, even when its estimates are
  // wrong.
  const select = (shape: PostShape): string =>
    `SELECT ${columnsAs("retries", "seq, failures, due_at_ms")}, entry.*
     FROM retries LEFT JOIN LATERAL (
       SELECT ${matchColumns(shape)} FROM matches LEFT JOIN posts ON posts.id = post_id
       WHERE matches.app_id = retries.app_id AND matches.seq = retries.seq LIMIT 1) AS entry ON true
     WHERE link_id = $1 AND retries.seq > $2 ORDER BY retries.seq LIMIT $3`
  const selects = { core: select("core"), envelope: select("envelope") }
  return {
    async retries(linkId, shape) {
      const found: RetryEntry[] = []
      for (;;) {
        const rows = await queries.rows<RetryRow>(selects[shape], linkId, found.at(-1)?.seq ?? 0, retriesPerRead)
        for (const row of rows) {
          found.push({ seq: row.seq, failures: row.failures, dueAtMs: row.dueAtMs, entry: entryOf(row) })
        }
        if (rows.length < retriesPerRead) return found
      }
    },
  }
}

/** The writes of progress. */
export function createProgressWrites(database: ClusterDatabase): ProgressWrites {
  return {
    async saveProgress(all) {
      if (isDeliveredOnly(all)) return saveDelivered(database, all)
      return database.write(async (transaction) => {
        const settling = all.filter(({ settled }) => settled.length > 0).map(({ linkId }) => linkId)
        const logs = settling.length === 0 ? new Map<AppId, LockedLog>() : await lockLogs(transaction, settling)
        const links = await lockLinks(
          transaction,
          all.map(({ linkId }) => linkId),
        )
        const found = all.filter(({ linkId }) => links.has(linkId))
        const saved = found.filter(({ linkId, lease }) => isCurrent(lease, links.get(linkId)))
        if (saved.length > 0) {
          const outstanding = Map.groupBy(await outstandingOf(transaction, saved), ({ linkId }) => linkId)
          const progress = Map.groupBy(saved, ({ linkId }) => linkId)
          const changes = Array.from(progress, ([linkId, ofLink]) => {
            const link = links.get(linkId)
            if (link === undefined) return []
            const trimmedTo = logs.get(link.appId)?.trimmedTo ?? 0
            const before = { ...link, trimmedTo, outstanding: outstanding.get(linkId) ?? [] }
            return [{ link, change: progressChange(before, ofLink) }]
          })
          await writeChanges(transaction, changes.flat())
        }
        return leasesOf(found.filter((progress) => !saved.includes(progress)))
      })
    },
  }
}

/** The leases of progress that has one. */
function leasesOf(all: readonly LinkProgress[]): readonly LinkLease[] {
  return all.flatMap(({ linkId, lease }) => (lease === undefined ? [] : [{ linkId, lease }]))
}

/** Moves cursors: `progressChange` of deliveries alone, as SQL. Returns the leases that are no longer current. */
async function saveDelivered(queries: Queries, all: readonly LinkProgress[]): Promise<readonly LinkLease[]> {
  const rows = await queries.rows<{ linkId: LinkId; isSaved: boolean }>(
    `WITH change AS (
       SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])
         AS change (id, position, delivered, lease)),
     locked AS MATERIALIZED (SELECT id FROM links WHERE id = ANY ($1::bigint[]) ORDER BY id FOR UPDATE),
     saved AS (
       UPDATE links SET position = greatest(links.position, change.position),
         delivered = links.delivered + greatest(least(change.delivered, change.position - links.position), 0)
       FROM locked JOIN change ON change.id = locked.id
       WHERE links.id = locked.id AND (change.lease IS NULL OR links.lease = change.lease)
       RETURNING links.id)
     SELECT locked.id AS "linkId", saved.id IS NOT NULL AS "isSaved" FROM locked LEFT JOIN saved ON saved.id = locked.id`,
    ...columnsOf(all, ["linkId", "position", "delivered", "lease"]),
  )
  const lost = new Set(rows.filter(({ isSaved }) => !isSaved).map(({ linkId }) => linkId))
  return lost.size === 0 ? [] : leasesOf(all.filter(({ linkId }) => lost.has(linkId)))
}

/** Progress without a lease is that of a tool, which has the store for itself. */
function isCurrent(lease: number | undefined, link: LockedLink | undefined): boolean {
  return lease === undefined || link?.lease === lease
}

/** A match that is a retry or a dead letter of a link. */
interface OutstandingRow extends OutstandingMatch {
  readonly linkId: LinkId
}

/** Which of the matches that progress names are retries and dead letters now. */
async function outstandingOf(
  transaction: WriteTransaction,
  all: readonly LinkProgress[],
): Promise<readonly OutstandingRow[]> {
  const named = all.flatMap((progress) => namedIn(progress).map((seq) => ({ linkId: progress.linkId, seq })))
  if (named.length === 0) return []
  const of = (table: "retries" | "dead_letters", isDead: boolean): string =>
    `SELECT ${columnsAs(table, "link_id, seq")}, ${isDead} AS "isDead" FROM ${table}
     WHERE (link_id, seq) IN (SELECT * FROM unnest($1::bigint[], $2::bigint[]))`
  return transaction.rows<OutstandingRow>(
    `${of("retries", false)} UNION ALL ${of("dead_letters", true)}`,
    ...columnsOf(named, ["linkId", "seq"]),
  )
}
