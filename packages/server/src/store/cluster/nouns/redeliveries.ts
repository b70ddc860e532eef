/** Matches that are to be sent again, wherever they are. `store/ledger/redeliver.ts` decides their outcomes. */
import type { RedeliveryStore } from "../../port/redelivery-store.ts"
import type { AppId, LinkId } from "../../../model/ids.ts"
import type { LinkMatch, RedeliveryOutcome } from "../../../model/redelivery.ts"
import { redeliverMatches, type RedeliverableMatch } from "../../ledger/redeliver.ts"
import { columnsOf } from "../../rows/record.ts"
import type { ClusterDatabase, WriteTransaction } from "../connection/database.ts"
import { epochOf } from "../../rows/log-epoch.ts"
import { lockLinks, lockLogs, type LockedLink } from "../connection/locks.ts"
import { bytesToSend, retryRooms, writeChanges, type ChangedLink } from "./link-changes.ts"

/** The writes by which matches are sent again. */
export function createRedeliveryWrites(database: ClusterDatabase): RedeliveryStore {
  return {
    redeliverMatches: (matches, appId) =>
      database.write(async (transaction) => {
        const { outcomes, changes } = await redeliverLocked(transaction, matches, appId)
        if (changes.length > 0) {
          await writeChanges(transaction, changes)
          await transaction.announceControl()
        }
        return matches.map((match) => outcomes.get(match) ?? "unknown")
      }),

    hastenRetries: (webhookId, appId) =>
      database.write(async (transaction) => {
        const link = await transaction.row<{ id: LinkId; appId: AppId }>(
          `SELECT id, app_id AS "appId" FROM links WHERE webhook_id = $1 FOR UPDATE`,
          webhookId,
        )
        if (link === undefined || (appId !== undefined && link.appId !== appId)) return 0
        const hastened = await transaction.run(
          "UPDATE retries SET due_at_ms = 0 WHERE link_id = $1 AND due_at_ms > 0",
          link.id,
        )
        if (hastened === 0) return 0
        await transaction.run("UPDATE links SET redeliveries = redeliveries + 1 WHERE id = $1", link.id)
        await transaction.announceControl()
        return hastened
      }),
  }
}

interface MatchRow extends RedeliverableMatch {
  readonly linkId: LinkId
}

/** Locks links, only the app's own when it is given, and their logs. Links without matches have no outcomes. */
async function redeliverLocked(
  transaction: WriteTransaction,
  matches: readonly LinkMatch[],
  appId: AppId | undefined,
): Promise<{ outcomes: ReadonlyMap<LinkMatch, RedeliveryOutcome>; changes: readonly ChangedLink[] }> {
  const linkIds = [...new Set(matches.map(({ linkId }) => linkId))]
  const logs = await lockLogs(transaction, linkIds)
  const links = [...(await lockLinks(transaction, linkIds)).values()].filter(
    (link) => appId === undefined || link.appId === appId,
  )
  const rooms = await retryRooms(transaction, links)
  const rows = Map.groupBy(await matchesOf(transaction, links, matches), ({ linkId }) => linkId)
  const all = new Map<LinkMatch, RedeliveryOutcome>()
  const changes: ChangedLink[] = []
  for (const link of links) {
    const [log, room, found = []] = [logs.get(link.appId), rooms.get(link.id), rows.get(link.id)]
    if (log === undefined || room === undefined) continue
    const named = matches.filter(({ linkId }) => linkId === link.id)
    const { outcomes, change } = redeliverMatches({ ...link, ...log }, found, room, named)
    for (const [index, match] of named.entries()) all.set(match, outcomes[index] ?? "unknown")
    if (outcomes.includes("redelivered")) changes.push({ link, change })
  }
  return { outcomes: all, changes }
}

/** The matches of these links. */
async function matchesOf(
  transaction: WriteTransaction,
  links: readonly LockedLink[],
  matches: readonly LinkMatch[],
): Promise<readonly MatchRow[]> {
  const apps = new Map(links.map(({ id, appId }) => [id, appId]))
  const found = matches
    .filter(({ linkId }) => apps.has(linkId))
    .map(({ linkId, seq }) => ({ linkId, appId: apps.get(linkId), seq }))
  if (found.length === 0) return []
  return transaction.rows<MatchRow>(
    `SELECT given.link_id AS "linkId", given.seq, ${epochOf("given.app_id", "given.seq")},
       (SELECT failures FROM retries WHERE link_id = given.link_id AND seq = given.seq) AS failures,
       EXISTS (SELECT 1 FROM dead_letters WHERE link_id = given.link_id AND seq = given.seq) AS "isDead",
       ${bytesToSend("given")} AS bytes
     FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS given (link_id, app_id, seq)`,
    ...columnsOf(found, ["linkId", "appId", "seq"]),
  )
}
