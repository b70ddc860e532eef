/** Links of webhooks, and the counts of their matches. `progress.ts` moves their cursors. */
import type { LinkReads, LinkWrites } from "../../port/link-store.ts"
import type { AppId, LinkId } from "../../../model/ids.ts"
import type { LinkTally, LinkToDeliver, StoredLink } from "../../../model/link.ts"
import { linkColumns, linkToDeliverOf, tallyColumns, type LinkToDeliverRow } from "../../rows/link.ts"
import { keyColumns } from "../../rows/webhook.ts"
import type { KeysetRange } from "../../keyset-range.ts"
import { columnsAs, type ClusterDatabase, type Queries, type SqlValue } from "../connection/database.ts"
import { readKeyset } from "../connection/keyset.ts"
import { noteIds } from "../connection/last-id.ts"
import { noteLeftovers } from "./spared-matches.ts"
import { epochsOfLog } from "./log-epochs.ts"
import { refuseRevoked } from "./revoked-apps.ts"

/** Links read at once of all there are. Ours: a few milliseconds of the event loop. */
const linksAtOnce = 2_000

const selectOfApp = `SELECT ${columnsAs("links", linkColumns)} FROM links WHERE links.app_id = $1`

const selectToDeliver = `SELECT ${columnsAs("links", linkColumns)}, ${columnsAs("links", "position, redeliveries, paused_at_ms")},
    links.ordered AS "isOrdered", webhooks.url, webhooks.valid, apps.consumer_secret AS "consumerSecretSealed",
    ${keyColumns}, ${epochsOfLog("links.app_id")}
  FROM links JOIN webhooks ON webhooks.id = links.webhook_id JOIN apps ON apps.id = links.app_id
  WHERE NOT revoked`

/** The reads of links. */
export function createLinkReads(queries: Queries): LinkReads {
  async function linkPage(
    { appId }: { readonly appId?: AppId },
    range: KeysetRange<LinkId>,
  ): Promise<readonly LinkToDeliver[]> {
    const [ofApp, values] = appId === undefined ? ["", []] : ["AND links.app_id = $1", [appId]]
    const list = { select: `${selectToDeliver} ${ofApp}`, id: "links.id" }
    return (await readKeyset<LinkToDeliverRow>(queries, list, values, range)).map(linkToDeliverOf)
  }

  return {
    links: (appId, range) => readKeyset<StoredLink>(queries, { select: selectOfApp, id: "links.id" }, [appId], range),

    link: (appId, webhookId) => queries.row<StoredLink>(`${selectOfApp} AND links.webhook_id = $2`, appId, webhookId),

    async allLinks(appId) {
      const of = appId === undefined ? {} : { appId }
      const found: LinkToDeliver[] = []
      for (;;) {
        const last = found.at(-1)
        const older = { direction: "older", limit: linksAtOnce, ...(last !== undefined && { from: last.id }) } as const
        const page = await linkPage(of, older)
        found.push(...page)
        if (page.length < linksAtOnce) return found
      }
    },

    linkPage,

    async linkToDeliver(webhookId) {
      const row = await queries.row<LinkToDeliverRow>(`${selectToDeliver} AND links.webhook_id = $1`, webhookId)
      return row && linkToDeliverOf(row)
    },

    async linkTally(linkId) {
      return (await tallies(queries, "WHERE links.id = $1", countColumns, linkId))[0]
    },
  }
}

/** The writes of links. */
export function createLinkWrites(database: ClusterDatabase): LinkWrites {
  return {
    createLink: (link) =>
      database.write(async (transaction) => {
        await refuseRevoked(transaction, link.appId)
        const webhook = await transaction.run(
          "SELECT 1 FROM webhooks WHERE app_id = $1 AND id = $2 FOR KEY SHARE",
          link.appId,
          link.webhookId,
        )
        if (webhook === 0) return "no-webhook"
        // Retention locks the log FOR UPDATE, so the link stands where the log is when it commits, or after it.
        const created = await transaction.run(
          `INSERT INTO links (id, app_id, webhook_id, created_at_ms, query, position, first_position)
           SELECT $1, $2, $3, $4, $5, head, head FROM (
             SELECT coalesce((SELECT head FROM match_logs WHERE app_id = $2 FOR KEY SHARE), 0) AS head) AS log
           ON CONFLICT (webhook_id) DO NOTHING`,
          link.id,
          link.appId,
          link.webhookId,
          link.createdAtMs,
          link.query,
        )
        if (created === 0) return "exists"
        await noteIds(transaction, link.id)
        await transaction.announceControl()
        return "created"
      }),

    deleteLink: (appId, webhookId) =>
      database.write(async (transaction) => {
        await noteLeftovers(transaction, appId, webhookId)
        const sql = "DELETE FROM links WHERE app_id = $1 AND webhook_id = $2"
        return transaction.announceControl((await transaction.run(sql, appId, webhookId)) > 0)
      }),

    setLinkOrdered: (appId, webhookId, isOrdered) =>
      database.runControl(
        "UPDATE links SET ordered = $1 WHERE app_id = $2 AND webhook_id = $3",
        isOrdered,
        appId,
        webhookId,
      ),

    setLinkPaused: (appId, webhookId, pausedAtMs) =>
      database.runControl(
        `UPDATE links SET paused_at_ms = CASE WHEN $1::bigint IS NOT NULL THEN coalesce(paused_at_ms, $1::bigint) END
         WHERE app_id = $2 AND webhook_id = $3`,
        pausedAtMs ?? null,
        appId,
        webhookId,
      ),
  }
}

const countColumns = { retries: "links.retries", deadLetters: "links.dead_letters" }

/** The tallies of the links that `where` chooses, with `values` for it. The counts are columns, or SQL that counts anew. */
export function tallies(
  queries: Queries,
  where: string,
  { retries, deadLetters } = countColumns,
  ...values: readonly SqlValue[]
): Promise<readonly LinkTally[]> {
  return queries.rows<LinkTally>(
    `SELECT links.id AS "linkId",
       ${columnsAs("links", tallyColumns)},
       ${retries} AS "retries", ${deadLetters} AS "deadLetters"
     FROM links ${where}`,
    ...values,
  )
}
