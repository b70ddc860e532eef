/** Dead letters, and their way back to the retries. `progress.ts` adds them. */
import type { DeadLetter } from "../../../model/dead-letter.ts"
import type { AppId, DeadLetterId, LinkId, MatchSeq } from "../../../model/ids.ts"
import { recordOf } from "../../records.ts"
import type { StoreReads, StoreWrites } from "../../store.ts"
import { columnsAs, type ClusterDatabase, type Queries, type WriteTransaction } from "../connection/database.ts"
import { lockDeadLettersWithRoom, type DeadLetterWithRoom } from "./dead-letters-with-room.ts"
import { readKeyset } from "../connection/keyset.ts"
import { deleteSpared } from "./spared-matches.ts"
import { epochOf } from "./log-epochs.ts"
import { lockLinks, lockLogs } from "../connection/locks.ts"

interface DeadLetterRow extends Omit<DeadLetter, "status" | "error" | "epoch"> {
  readonly epoch: string | null
  readonly status: number | null
  readonly error: string | null
}

/** SQL for a column of a dead letter's match; NULL when there is none. */
function ofMatch(column: "post_id" | "at_ms"): string {
  return `(SELECT ${column} FROM matches
    WHERE matches.app_id = dead_letters.app_id AND matches.seq = dead_letters.seq LIMIT 1)`
}

// Subqueries and no joins: so PostgreSQL looks up what it returns, and nothing else, whatever it estimates.
const select = `SELECT ${columnsAs(
  "dead_letters",
  "id, app_id, link_id, seq, failures, outcome, status, error, dead_lettered_at_ms",
)}, (SELECT webhook_id FROM links WHERE links.id = link_id) AS "webhookId",
  coalesce(${ofMatch("post_id")}, 0) AS "postId", coalesce(${ofMatch("at_ms")}, 0) AS "matchedAtMs",
  ${epochOf("dead_letters.app_id", "dead_letters.seq")}
FROM dead_letters`

/** The reads of dead letters. */
export function createDeadLetterReads(queries: Queries): Pick<StoreReads, "deadLetters"> {
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
export function createDeadLetterWrites(database: ClusterDatabase): Pick<StoreWrites, "redeliver" | "trimDeadLetters"> {
  return {
    redeliver: (selector) =>
      database.write(async (transaction) => {
        const dead = await lockDeadLettersWithRoom(transaction, selector)
        if (dead.length === 0) return 0
        await moveToRetries(transaction, dead)
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
        await lockLogs(transaction, linkIds)
        await lockLinks(transaction, linkIds)
        return expire(
          transaction,
          old.map(({ id }) => id),
        )
      }),
  }
}

/** Makes dead letters of locked links retries that are due at once. */
async function moveToRetries(transaction: WriteTransaction, dead: readonly DeadLetterWithRoom[]): Promise<void> {
  await transaction.run(
    `WITH revived AS (DELETE FROM dead_letters WHERE id = ANY ($1::bigint[]) RETURNING link_id, app_id, seq)
     INSERT INTO retries (link_id, app_id, seq, failures, due_at_ms)
     SELECT link_id, app_id, seq, 0, 0 FROM revived`,
    dead.map(({ id }) => id),
  )
  const byLink = Map.groupBy(dead, ({ linkId }) => linkId)
  await transaction.run(
    `UPDATE links SET redeliveries = redeliveries + 1, retries = retries + revived.count,
       dead_letters = dead_letters - revived.count
     FROM unnest($1::bigint[], $2::bigint[]) AS revived (link_id, count) WHERE links.id = revived.link_id`,
    [...byLink.keys()],
    Array.from(byLink.values(), ({ length }) => length),
  )
}

/** Deletes those of the dead letters that are still there, of links that are locked. Returns their number. */
async function expire(transaction: WriteTransaction, ids: readonly DeadLetterId[]): Promise<number> {
  const expired = await transaction.rows<{ appId: AppId; linkId: LinkId; seq: MatchSeq }>(
    `DELETE FROM dead_letters WHERE id = ANY ($1::bigint[])
     RETURNING ${columnsAs("dead_letters", "app_id, link_id, seq")}`,
    ids,
  )
  const byLink = Map.groupBy(expired, ({ linkId }) => linkId)
  await transaction.run(
    `UPDATE links SET expired = expired + gone.count, dead_letters = dead_letters - gone.count
     FROM unnest($1::bigint[], $2::bigint[]) AS gone (link_id, count) WHERE links.id = gone.link_id`,
    [...byLink.keys()],
    Array.from(byLink.values(), ({ length }) => length),
  )
  for (const [appId, ofApp] of Map.groupBy(expired, (dead) => dead.appId)) {
    await deleteSpared(
      transaction,
      appId,
      ofApp.map(({ seq }) => seq),
    )
  }
  return expired.length
}
