/**
 * Matches that retention has passed and spared, since a retry or a dead letter needs them.
 *
 * Each is deleted with the last of those. When a link is deleted with all that it needed, the log notes from where on
 * its spared matches have to be checked again; retention does that, a few at each step.
 *
 * A match must not be left over because two transactions look at it at once, and each sees what the other is about to
 * delete. So retention locks the log's row FOR UPDATE, and who deletes what needed a match locks it FOR KEY SHARE, which
 * appends to the log don't wait for; and of those, one after the other locks the match itself.
 */
import type { AppId, MatchSeq, WebhookId } from "../../../model/ids.ts"
import type { WriteTransaction } from "../connection/database.ts"

/**
 * Deletes those of an app's matches that retention has passed and that no retry and no dead letter needs any more, and
 * returns their number: to be called once retries or dead letters of these matches are deleted, as the last step. A write
 * that locks links has locked the log's row before them, at least FOR KEY SHARE: that is the order of retention.
 */
export async function deleteSpared(
  transaction: WriteTransaction,
  appId: AppId,
  seqs: readonly MatchSeq[],
): Promise<number> {
  if (seqs.length === 0) return 0
  const log = await transaction.row<{ trimmedTo: number }>(
    `SELECT trimmed_to AS "trimmedTo" FROM match_logs WHERE app_id = $1 FOR KEY SHARE`,
    appId,
  )
  const passed = seqs.filter((seq) => seq <= (log?.trimmedTo ?? 0))
  if (passed.length === 0) return 0
  // A statement of its own, so that the next one sees what the last holder of the lock has deleted.
  await transaction.run(
    "SELECT 1 FROM matches WHERE app_id = $1 AND seq = ANY ($2::bigint[]) ORDER BY seq FOR UPDATE",
    appId,
    passed,
  )
  return transaction.run(
    `DELETE FROM matches WHERE app_id = $1 AND seq = ANY ($2::bigint[])
       AND NOT EXISTS (SELECT 1 FROM retries WHERE retries.app_id = $1 AND retries.seq = matches.seq)
       AND NOT EXISTS (SELECT 1 FROM dead_letters WHERE dead_letters.app_id = $1 AND dead_letters.seq = matches.seq)`,
    appId,
    passed,
  )
}

/**
 * Notes that what the link of a webhook needed is to be checked again, for when it is deleted in the same transaction.
 * Locks the log and the link, if the app has one to this webhook.
 */
export async function noteLeftovers(transaction: WriteTransaction, appId: AppId, webhookId: WebhookId): Promise<void> {
  await transaction.run("SELECT 1 FROM match_logs WHERE app_id = $1 FOR NO KEY UPDATE", appId)
  const locked = await transaction.run(
    "SELECT 1 FROM links WHERE app_id = $1 AND webhook_id = $2 FOR UPDATE",
    appId,
    webhookId,
  )
  if (locked === 0) return
  // Matches beyond trimmed_to are checked anyway when their time comes.
  await transaction.run(
    `UPDATE match_logs SET leftovers_after = least(leftovers_after, first - 1)
     FROM links CROSS JOIN LATERAL (
       SELECT least((SELECT min(seq) FROM retries WHERE link_id = links.id),
         (SELECT min(seq) FROM dead_letters WHERE link_id = links.id)) AS first) AS needed
     WHERE links.app_id = $1 AND links.webhook_id = $2 AND match_logs.app_id = $1 AND first <= trimmed_to`,
    appId,
    webhookId,
  )
}
