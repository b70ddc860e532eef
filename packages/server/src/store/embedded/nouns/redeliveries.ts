/** Matches that are to be sent again, wherever they are. `store/ledger/redeliver.ts` decides their outcomes. */
import type { RedeliveryStore } from "../../port/redelivery-store.ts"
import type { DatabaseSync } from "node:sqlite"
import type { AppId, LinkId, MatchSeq } from "../../../model/ids.ts"
import type { LinkMatch, RedeliveryOutcome } from "../../../model/redelivery.ts"
import { redeliverMatches, type RedeliverableMatch } from "../../ledger/redeliver.ts"
import { settingChecked } from "../connection/checked-rows.ts"
import { epochOf } from "../../rows/log-epoch.ts"
import { prepareLink, prepareLinkChange, prepareRetryRoom } from "./link-changes.ts"
import { prepare } from "../connection/statements.ts"
import type { SyncWrites, WriteContext } from "../serving/sync-store.ts"

/** The writes by which matches are sent again. */
export function createRedeliveryWrites(
  db: DatabaseSync,
  { announceControl }: WriteContext,
): SyncWrites<RedeliveryStore> {
  const linkOf = prepareLink(db)
  const matchOf = prepareMatch(db)
  const roomOf = prepareRetryRoom(db)
  const write = prepareLinkChange(db)
  const hastenAll = prepare(
    db,
    `UPDATE retries SET ${settingChecked("retries", { due_at_ms: "0" })} WHERE due_at_ms > 0
       AND link_id = (SELECT id FROM links WHERE webhook_id = ?1 AND (?2 IS NULL OR app_id = ?2))`,
  )
  const countOfWebhook = prepare(db, "UPDATE links SET redeliveries = redeliveries + 1 WHERE webhook_id = ?")
  return {
    redeliverMatches(matches, appId) {
      const app = appId === undefined ? null : BigInt(appId)
      const all = new Map<LinkMatch, RedeliveryOutcome>()
      let hasChanged = false
      for (const [linkId, named] of Map.groupBy(matches, (match): LinkId => match.linkId)) {
        const id = BigInt(linkId)
        const link = linkOf(id, app)
        if (link === undefined) continue
        const found = named.map(({ seq }) => matchOf(id, link.appId, seq))
        const { outcomes, change } = redeliverMatches(link, found, roomOf(id, link.retries), named)
        for (const [index, match] of named.entries()) all.set(match, outcomes[index] ?? "unknown")
        if (!outcomes.includes("redelivered")) continue
        write(linkId, link.appId, change)
        hasChanged = true
      }
      if (hasChanged) announceControl()
      return matches.map((match) => all.get(match) ?? "unknown")
    },

    hastenRetries(webhookId, appId) {
      const hastened = hastenAll.run(BigInt(webhookId), appId === undefined ? null : BigInt(appId))
      if (hastened === 0) return 0
      countOfWebhook.run(BigInt(webhookId))
      announceControl()
      return hastened
    },
  }
}

/** Prepares the read of a match that is to be sent again. */
function prepareMatch(db: DatabaseSync): (link: bigint, appId: AppId, seq: MatchSeq) => RedeliverableMatch {
  const match = prepare<Omit<RedeliverableMatch, "seq" | "isDead"> & { readonly isDead: number }>(
    db,
    `SELECT ${epochOf("?2", "?3")},
       (SELECT failures FROM retries WHERE link_id = ?1 AND seq = ?3) AS failures,
       EXISTS (SELECT 1 FROM dead_letters WHERE link_id = ?1 AND seq = ?3) AS isDead,
       coalesce((SELECT octet_length(envelope) FROM matches JOIN posts ON posts.id = post_id
         WHERE matches.app_id = ?2 AND seq = ?3), 0) AS bytes`,
  )
  return (link, appId, seq) => {
    const row = match.get(link, BigInt(appId), seq)
    return { epoch: null, failures: null, bytes: 0, ...row, seq, isDead: row?.isDead === 1 }
  }
}
