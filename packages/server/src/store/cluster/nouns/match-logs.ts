/**
 * The match log of each app, and the append of posts with their matches.
 *
 * An app's matches are numbered under a lock of its row in `match_logs`, which is held until the commit. So a later
 * number never commits before an earlier one, and no cursor steps over a match that commits late; why so and not by
 * snapshots is in docs/decisions/match-numbers.md. Rows up to `trimmed_to` stay until their partition goes, and count
 * as gone unless something needs them.
 */
import type { MatchLogReads, MatchLogWrites } from "../../port/match-log.ts"
import { beforeFirstMatch, type AppId, type MatchSeq, type PostId } from "../../../model/ids.ts"
import type { MatchEntry, MatchOfPost, PostMatch } from "../../../model/match.ts"
import type { AcceptedPost, PostShape } from "../../../model/post.ts"
import { crashPoint } from "../../../runtime/crash-points.ts"
import { matchesOfPostMax } from "../../bounds.ts"
import { deletedRules, entryOf, stretchOf, type LogRow, type MatchRow } from "../../rows/match-entry.ts"
import { readStoredRules, storedRules } from "../../stored-rules.ts"
import type { MatchRange, TrimmedLog } from "../../port/match-log.ts"
import {
  addToTotals,
  columnsAs,
  type ClusterDatabase,
  type Queries,
  type WriteTransaction,
} from "../connection/database.ts"
import { insertPosts } from "./posts.ts"
import { textArray } from "../connection/text-array.ts"

/** SQL: the columns of a `MatchRow` but its `seq`, of `matches` and `posts`. */
export function matchColumns(shape: PostShape): string {
  return `${columnsAs("matches", "post_id, at_ms, rules")}, posts.${shape} AS "post"`
}

/** SQL of a condition on `matches`: the match is needed by a retry or a dead letter. */
export const isNeeded = `(
  EXISTS (SELECT 1 FROM retries WHERE retries.app_id = matches.app_id AND retries.seq = matches.seq)
  OR EXISTS (SELECT 1 FROM dead_letters WHERE dead_letters.app_id = matches.app_id AND dead_letters.seq = matches.seq))`

/** SQL of a condition on `matches`: the match is there, since retention has not passed it or something needs it. */
export const isKept = `(
  matches.seq > coalesce((SELECT trimmed_to FROM match_logs WHERE match_logs.app_id = matches.app_id), 0)
  OR ${isNeeded})`

/** The reads of match logs. */
export function createMatchLogReads(queries: Queries): MatchLogReads {
  return {
    async heads() {
      const sql = `SELECT ${columnsAs("match_logs", "app_id, head")} FROM match_logs WHERE head > 0`
      const rows = await queries.rows<{ appId: AppId; head: MatchSeq }>(sql)
      return new Map(rows.map(({ appId, head }) => [appId, head]))
    },

    async head(appId) {
      const log = await queries.row<{ head: MatchSeq }>("SELECT head FROM match_logs WHERE app_id = $1", appId)
      return log?.head ?? beforeFirstMatch
    },

    positionAt: (appId, atMs) => positionAt(queries, appId, atMs),

    trimmed: (appId) =>
      queries.row<TrimmedLog>(
        `SELECT trimmed_to AS "to", trimmed_until_ms AS "untilMs" FROM match_logs
         WHERE app_id = $1 AND trimmed_until_ms IS NOT NULL`,
        appId,
      ),

    async match(appId, seq, shape) {
      const row = await queries.row<MatchRow>(matchSql[shape], appId, seq)
      return row && entryOf(row)
    },

    matches: (range) => readLog(queries, range),
    matchesOfPost: (id, appId) => readMatchesOfPost(queries, id, appId),
  }
}

/**
 * The position in an app's log after which everything was appended at or after a moment: a binary search, in one
 * statement. Entries are in the order of time, since the clocks of servers agree, steps back aside; what retention has
 * passed is older than all others.
 */
export async function positionAt(queries: Queries, appId: AppId, atMs: number): Promise<MatchSeq> {
  const found = await queries.row<{ position: MatchSeq | null }>(
    `WITH RECURSIVE search (before, new_enough) AS (
       SELECT trimmed_to, head + 1 FROM match_logs WHERE app_id = $1
       UNION ALL
       SELECT CASE WHEN is_new_enough THEN before ELSE middle END, CASE WHEN is_new_enough THEN middle ELSE new_enough END
       FROM (SELECT before, new_enough, (before + new_enough) / 2 AS middle FROM search WHERE new_enough - before > 1)
         AS step
       CROSS JOIN LATERAL (
         SELECT EXISTS (SELECT 1 FROM matches WHERE app_id = $1 AND seq = middle AND at_ms >= $2) AS is_new_enough)
         AS compared)
     SELECT max(before) AS "position" FROM search`,
    appId,
    atMs,
  )
  return found?.position ?? beforeFirstMatch
}

function matchSqlOf(shape: PostShape): string {
  return `SELECT matches.seq, ${matchColumns(shape)} FROM matches LEFT JOIN posts ON posts.id = post_id
    WHERE matches.app_id = $1 AND matches.seq = $2 AND ${isKept}`
}

const matchSql = { core: matchSqlOf("core"), envelope: matchSqlOf("envelope") }

interface FoundRow extends MatchRow {
  /** How many entries there were, with those that the bytes left out. */
  readonly found: number | null
}

/**
 * The log's own row stands in the same statement, so that head and entries are of one moment. The database sums up the
 * bytes of post and rules, so it sends no more than are taken.
 */
function logSqlOf(shape: PostShape): string {
  return `
    SELECT head, trimmed_to AS "trimmedTo", entries.* FROM match_logs LEFT JOIN LATERAL (
      SELECT * FROM (
        SELECT matches.seq, ${matchColumns(shape)}, count(*) OVER () AS found,
          sum(octet_length(rules) + coalesce(octet_length(posts.${shape}), 0))
            OVER (ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes
        FROM (
          SELECT seq, post_id, at_ms, rules FROM matches
          WHERE app_id = $1 AND seq > greatest($2, trimmed_to) ORDER BY seq LIMIT $3) AS matches
        LEFT JOIN LATERAL (SELECT ${shape} FROM posts WHERE id = post_id LIMIT 1) AS posts ON true) AS sized
      WHERE bytes IS NULL OR bytes < $4) AS entries ON true
    WHERE match_logs.app_id = $1 ORDER BY seq`
}

const logSql = { core: logSqlOf("core"), envelope: logSqlOf("envelope") }

async function readLog(queries: Queries, range: MatchRange): Promise<readonly MatchEntry[]> {
  const { appId, after, limit, bytesMax, shape } = range
  const rows = await queries.rows<LogRow<FoundRow>>(logSql[shape], appId, after, limit, bytesMax)
  return stretchOf(rows, range, { isCut: rows.length < (rows[0]?.found ?? 0), toEntry: entryOf })
}

async function readMatchesOfPost(
  queries: Queries,
  id: PostId,
  appId: AppId | undefined,
): Promise<readonly MatchOfPost[]> {
  const rows = await queries.rows<Omit<MatchOfPost, "rulesJson" | "rulesOmitted"> & { readonly rules: string }>(
    `SELECT ${columnsAs("matches", "app_id, seq, at_ms, rules")} FROM matches
     WHERE post_id = $1 AND ($2::bigint IS NULL OR app_id = $2) AND rules <> $4 AND ${isKept}
     ORDER BY app_id, seq LIMIT $3`,
    id,
    appId ?? null,
    matchesOfPostMax,
    deletedRules,
  )
  return rows.map(({ rules, ...row }) => ({ ...row, ...readStoredRules(rules) }))
}

/** A post and its matches, as the store takes them in. */
interface MatchedPost {
  readonly post: AcceptedPost
  readonly matches: readonly PostMatch[]
}

/** The append of posts with their matches: as many statements for one post as for thousands. */
export function createAppend(database: ClusterDatabase): MatchLogWrites {
  return {
    async append(batch, atMs) {
      if (batch.length === 0) return []
      const accepted = await database.write((transaction) => appendWithin(transaction, batch, atMs))
      crashPoint("after-commit")
      return accepted
    },
  }
}

/** The append within a transaction, for those who write more in it. */
export async function appendWithin(
  transaction: WriteTransaction,
  batch: readonly MatchedPost[],
  atMs: number,
): Promise<readonly boolean[]> {
  const newIds = new Set(
    await insertPosts(
      transaction,
      batch.map(({ post }) => post),
    ),
  )
  const newPosts = newIds.size
  // When a batch has a post several times, only the first is new.
  const isNew = batch.map(({ post }) => newIds.delete(post.id))
  await logMatches(
    transaction,
    batch.filter((_, index) => isNew[index]),
    atMs,
  )
  if (newPosts > 0) await addToTotals(transaction, "posts_accepted", newPosts)
  crashPoint("before-commit")
  return isNew
}

/** Numbers the matches of posts, in the order of the posts, and appends them to the logs of their apps. */
async function logMatches(transaction: WriteTransaction, posts: readonly MatchedPost[], atMs: number): Promise<void> {
  const appIds = new Set(posts.flatMap(({ matches }) => matches.map(({ appId }) => appId)))
  if (appIds.size === 0) return transaction.announce({ kind: "matches", appIds: [] })
  const heads = await lockHeads(transaction, [...appIds])
  const [apps, seqs, postIds, rules]: [AppId[], number[], PostId[], string[]] = [[], [], [], []]
  const rulesSeqs: number[] = []
  for (const { post, matches } of posts) {
    for (const { appId, rulesSeq = 0, ...matched } of matches) {
      const seq = (heads.get(appId) ?? 0) + 1
      heads.set(appId, seq)
      apps.push(appId)
      seqs.push(seq)
      postIds.push(post.id)
      rules.push(storedRules(matched))
      rulesSeqs.push(rulesSeq)
    }
  }
  await transaction.run(
    `WITH logged AS (
       INSERT INTO matches (app_id, seq, post_id, at_ms, rules_seq, rules)
       SELECT app_id, seq, post_id, $6, rules_seq, rules
       FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[])
         AS given (app_id, seq, post_id, rules_seq, rules))
     UPDATE match_logs SET head = given.head FROM unnest($7::bigint[], $8::bigint[]) AS given (app_id, head)
     WHERE match_logs.app_id = given.app_id`,
    apps,
    seqs,
    postIds,
    rulesSeqs,
    textArray(rules),
    atMs,
    [...heads.keys()],
    [...heads.values()],
  )
  transaction.announce({ kind: "matches", appIds: [...heads.keys()] })
}

/**
 * Locks the logs of apps until the end of the transaction, those that have none yet with a new one, and returns their
 * heads. Only appends and retention wait for these locks.
 */
async function lockHeads(transaction: WriteTransaction, appIds: readonly AppId[]): Promise<Map<AppId, number>> {
  const heads = new Map<AppId, number>()
  const lock = async (): Promise<void> => {
    const locked = await transaction.rows<{ appId: AppId; head: number }>(
      `SELECT ${columnsAs("match_logs", "app_id, head")} FROM match_logs
       WHERE app_id = ANY ($1::bigint[]) ORDER BY app_id FOR NO KEY UPDATE`,
      appIds,
    )
    for (const { appId, head } of locked) heads.set(appId, head)
  }
  await lock()
  if (heads.size === appIds.length) return heads
  await transaction.run(
    `INSERT INTO match_logs (app_id, head) SELECT id, 0 FROM unnest($1::bigint[]) AS id ORDER BY id
     ON CONFLICT (app_id) DO NOTHING`,
    appIds.filter((id) => !heads.has(id)),
  )
  await lock()
  return heads
}
