/** Faults that the audits of both stores report: the SQL that finds them, and their sentences. */
import type { AppId, LinkId } from "../../model/ids.ts"
import { gapsPerLinkMax } from "../bounds.ts"
import { isTrue, type StoredBoolean } from "./record.ts"

/** Most faults that are reported. */
export const damageMax = 100

/** A link's counts as stored, and as its rows give them. */
export interface LinkCountsRow {
  readonly id: LinkId
  readonly retries: number
  readonly retryRows: number
  readonly deadLetters: number
  readonly deadLetterRows: number
  readonly missed: number
  /** Missed matches that the kept gap markers cover. */
  readonly marked: number
  readonly hasAllMarkers: StoredBoolean
}

const countedRows = {
  retries: "(SELECT count(*) FROM retries WHERE link_id = links.id)",
  deadLetters: "(SELECT count(*) FROM dead_letters WHERE link_id = links.id)",
}

/** Usage of an app on a day that is less than the posts that are remembered of it. */
export interface WrongUsageRow {
  readonly appId: AppId
  readonly day: number
  readonly posts: number
  readonly remembered: number
}

/** SQL that finds faults. */
export const auditSql = {
  /** `WrongUsageRow`: of the remembered posts each is counted, and further ones may be. `columnsAs` is the engine's own. */
  wrongUsage: (columnsAs: (table: string, columns: string) => string): string =>
    `SELECT ${columnsAs("remembered", "app_id, day, remembered")}, coalesce(usage_days.posts, 0) AS "posts"
     FROM (SELECT app_id, day, count(*) AS remembered FROM usage_posts GROUP BY app_id, day) AS remembered
       LEFT JOIN usage_days ON usage_days.day = remembered.day AND usage_days.app_id = remembered.app_id
     WHERE coalesce(usage_days.posts, 0) < remembered.remembered ORDER BY remembered.app_id, remembered.day`,
  /** The counts of a link from its rows. */
  countedRows,
  /** `LinkCountsRow` of all links. `columnsAs` is the engine's own. */
  linkCounts: (columnsAs: (table: string, columns: string) => string): string =>
    `SELECT ${columnsAs("links", "id, retries, dead_letters, missed")},
       ${countedRows.retries} AS "retryRows", ${countedRows.deadLetters} AS "deadLetterRows",
       (SELECT coalesce(sum(to_seq - from_seq + 1), 0) FROM gap_markers WHERE link_id = links.id) AS "marked",
       (SELECT count(*) FROM gap_markers WHERE link_id = links.id) < ${gapsPerLinkMax} AS "hasAllMarkers"
     FROM links`,
  /** The condition of retries or dead letters whose match is missing. */
  isMatchMissing: (table: "retries" | "dead_letters"): string =>
    `NOT EXISTS (
       SELECT 1 FROM links JOIN matches ON matches.app_id = links.app_id
       WHERE links.id = ${table}.link_id AND links.app_id = ${table}.app_id AND matches.seq = ${table}.seq)`,
  /** Posts of which it is noted what they show, and that are not stored. */
  showingOfNone: `SELECT DISTINCT CAST (post_id AS TEXT) AS id FROM shown_posts
    WHERE NOT EXISTS (SELECT 1 FROM posts WHERE posts.id = shown_posts.post_id) ORDER BY 1`,
  /** Posts that are stored although their deletion is done. */
  storedDeleted: `SELECT CAST (id AS TEXT) AS id FROM deletions
    WHERE kind = 'post' AND NOT is_pending AND EXISTS (SELECT 1 FROM posts WHERE posts.id = deletions.id) ORDER BY 1`,
  /** Posts that show one whose deletion is done. */
  shownDeleted: `SELECT CAST (post_id AS TEXT) AS id, CAST (shown_id AS TEXT) AS shown
    FROM shown_posts JOIN deletions ON kind = 'post' AND deletions.id = shown_id WHERE NOT is_pending ORDER BY 1`,
}

/** Sentences about faults. */
export const faultOf = {
  unreadable: (name: string, error: unknown): string =>
    `${name}: cannot be read to the end. ${(error as Error).message}`,
  missingMatch: (table: string, row: { readonly linkId: LinkId; readonly seq: number }): string =>
    `${table}: link ${row.linkId} needs match ${row.seq}, which is not there`,
  missingPost: (match: { readonly appId: AppId; readonly seq: number; readonly postId: string }): string =>
    `matches: match ${match.seq} of app ${match.appId} is of post ${match.postId}, which is not there`,
  wrongUsage: ({ appId, day, posts, remembered }: WrongUsageRow): string =>
    `usage_days: app ${appId} has ${posts} posts on day ${day}, and ${remembered} are remembered`,
  showingOfNone: ({ id }: { readonly id: string }): string =>
    `shown_posts: it is noted what post ${id} shows, which is not there`,
  storedDeleted: ({ id }: { readonly id: string }): string => `deletions: post ${id} is deleted, and is there`,
  shownDeleted: ({ id, shown }: { readonly id: string; readonly shown: string }): string =>
    `deletions: post ${shown} is deleted, and post ${id} shows it`,
  nameOfOther: ({ name, id }: { readonly name: string; readonly id: string }): string =>
    `assigned_names: ${name} names post ${id}, which has another name`,
  incompleteLog: (log: { appId: AppId; trimmedTo: number; head: number }, entries: number): string =>
    `match_logs: the log of app ${log.appId} runs from ${log.trimmedTo + 1} to ${log.head}, and has ${entries} entries`,
}

/** The wrong counts of a link, as sentences. The oldest gap markers are not kept, only counted. */
export function* wrongCountsOf(row: LinkCountsRow): Iterable<string> {
  const link = `links: link ${row.id} counts`
  if (row.retries !== row.retryRows) yield `${link} ${row.retries} retries, and has ${row.retryRows}`
  if (row.deadLetters !== row.deadLetterRows)
    yield `${link} ${row.deadLetters} dead letters, and has ${row.deadLetterRows}`
  if (row.marked > row.missed || (row.marked < row.missed && isTrue(row.hasAllMarkers)))
    yield `${link} ${row.missed} missed matches, and has gap markers of ${row.marked}`
}
