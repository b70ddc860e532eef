/** Dead letters, and their way back to the retries. `progress.ts` adds them. */
import type { DeadLetterReads, DeadLetterWrites } from "../../port/dead-letter-store.ts"
import type { AppId, DeadLetterId, LinkId, MatchSeq } from "../../../model/ids.ts"
import type { LinkChange } from "../../ledger/link-change.ts"
import { expire, redeliverDead } from "../../ledger/redeliver.ts"
import { deadLetterColumns, type DeadLetterRow } from "../../rows/dead-letter.ts"
import { recordOf } from "../../rows/record.ts"
import { columnsAs, type ClusterDatabase, type Queries, type WriteTransaction } from "../connection/database.ts"
import { lockDeadLettersWithRoom } from "./dead-letters-with-room.ts"
import { readKeyset } from "../connection/keyset.ts"
import { writeChanges, type ChangedLink } from "./link-changes.ts"
import { epochOf } from "../../rows/log-epoch.ts"
import { lockLinks, lockLogs, type LockedLink, type LockedLog } from "../connection/locks.ts"

/** SQL for a column of a dead letter's match; NULL when there is none. */
function ofMatch(column: "post_id" | "at_ms"): string {
  return `(SELECT ${column} FROM matches
    WHERE matches.app_id = dead_letters.app_id AND matches.seq = dead_letters.seq LIMIT 1)`
}

// Subqueries and no joins: so PostgreSQL looks up only the rows that it returns, even when its estimates are wrong.
const select = `SELECT ${columnsAs(
  "dead_letters",
  deadLetterColumns,
)}, (SELECT webhook_id FROM links WHERE links.id = link_id) AS "webhookId",
  coalesce(${ofMatch("post_id")}, 0) AS "postId", coalesce(${ofMatch("at_ms")}, 0) AS "matchedAtMs",
  ${epochOf("dead_letters.app_id", "dead_letters.seq")}
FROM dead_letters`

/** The reads of dead letters. */
export function createDeadLetterReads(queries: Queries): DeadLetterReads {
  return {
    async deadLetters({ appId, webhookId }, range) {
      const values = [appId, webhookId].filter((id) => id !== undefined)
      // A condition of its own for each selection, so that each reads a stretch of an index.
      const condition =
        webhookId === undefined
          ? appId === undefined
            ? "true"
            : "app_id = $1"
          : `link_id = (SELECT id FROM links
               WHERE ${appId === undefined ? "webhook_id = $1" : "app_id = $1 AND webhook_id = $2"})`
      const list = { select: `${select} WHERE ${condition}`, id: "dead_letters.id" }
      return (await readKeyset<DeadLetterRow>(queries, list, values, range)).map(recordOf)
    },
  }
}

/** The writes of dead letters. */
export function createDeadLetterWrites(database: ClusterDatabase): DeadLetterWrites {
  return {
    redeliver: (selector) =>
      database.write(async (transaction) => {
        const { links, dead } = await lockDeadLettersWithRoom(transaction, selector)
        if (dead.length === 0) return 0
        await writeChanges(transaction, changesOf(dead, links, redeliverDead))
        await transaction.announceControl()
        return dead.length
      }),

    trimDeadLetters: ({ beforeMs, limit }) =>
      database.write(async (transaction) => {
        const old = await transaction.rows<{ id: DeadLetterId; linkId: LinkId }>(
          `SELECT ${columnsAs("dead_letters", "id, link_id")}
           FROM dead_letters JOIN match_logs ON match_logs.app_id = dead_letters.app_id
           WHERE dead_lettered_at_ms < $1 AND seq <= trimmed_to ORDER BY dead_lettered_at_ms LIMIT $2`,
          beforeMs,
          limit,
        )
        if (old.length === 0) return 0
        const linkIds = [...new Set(old.map(({ linkId }) => linkId))]
        const logs = await lockLogs(transaction, linkIds)
        const links = await lockLinks(transaction, linkIds)
        const ids = old.map(({ id }) => id)
        return expireLocked(transaction, ids, { links, logs })
      }),
  }
}

/** Expires those of the dead letters that are still there, of links that are locked. Returns their number. */
async function expireLocked(
  transaction: WriteTransaction,
  ids: readonly DeadLetterId[],
  { links, logs }: { readonly links: ReadonlyMap<LinkId, LockedLink>; readonly logs: ReadonlyMap<AppId, LockedLog> },
): Promise<number> {
  const old = await transaction.rows<{ linkId: LinkId; seq: MatchSeq }>(
    `SELECT ${columnsAs("dead_letters", "link_id, seq")} FROM dead_letters WHERE dead_letters.id = ANY ($1::bigint[])`,
    ids,
  )
  const changes = changesOf(old, links, (link, seqs) =>
    expire({ ...link, trimmedTo: logs.get(link.appId)?.trimmedTo ?? 0 }, seqs),
  )
  if (changes.length > 0) await writeChanges(transaction, changes)
  return changes.reduce((sum, { change }) => sum + change.expired, 0)
}

/** The changes of links with these dead letters. */
function changesOf(
  dead: readonly { readonly linkId: LinkId; readonly seq: MatchSeq }[],
  links: ReadonlyMap<LinkId, LockedLink>,
  changeOf: (link: LockedLink, seqs: readonly MatchSeq[]) => LinkChange,
): readonly ChangedLink[] {
  return Array.from(
    Map.groupBy(dead, ({ linkId }) => linkId),
    ([linkId, ofLink]) => {
      const link = links.get(linkId)
      if (link === undefined) return []
      const seqs = ofLink.map(({ seq }) => seq)
      return [{ link, change: changeOf(link, seqs) }]
    },
  ).flat()
}
