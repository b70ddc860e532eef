/** The audit of everything that is stored: whether it is what was put in, and whether the counts agree. */
import type { AppId, LinkId, MatchSeq, PostId } from "../../../model/ids.ts"
import type { AssignedName } from "../../../model/source.ts"
import { nameIn } from "../../ledger/foreign-names.ts"
import {
  auditSql,
  damageMax,
  faultOf,
  wrongCountsOf,
  type LinkCountsRow,
  type WrongUsageRow,
} from "../../rows/audit-faults.ts"
import { StoreUnavailable } from "../../store-faults.ts"
import { deletedRules } from "../../rows/match-entry.ts"
import type { StoreAudit } from "../../store-audit.ts"
import { columnsAs, type ClusterDatabase, type Queries, type WriteTransaction } from "../connection/database.ts"
import { tallies } from "../nouns/links.ts"
import { isKept } from "../nouns/match-logs.ts"
import { clusterFault } from "../connection/postgres-faults.ts"

/** Longest that a statement of an audit may take: each reads whole tables. Ours. */
export const auditMsMax = 6 * 3_600_000

/** The result of a read of which all statements see the same moment. */
export function atOneMoment<Result>(
  database: ClusterDatabase,
  read: (transaction: WriteTransaction) => Promise<Result>,
): Promise<Result> {
  return database.write(async (transaction) => {
    await transaction.script("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    return read(transaction)
  })
}

/**
 * Audits everything as it is in a transaction, which sees one moment all the time (`atOneMoment`). Unreadable rows are
 * reported as damage.
 */
export async function audit(transaction: WriteTransaction): Promise<StoreAudit> {
  const damage = new Set<string>()
  /** The result of `read`, or `instead` when damage cuts it short. */
  async function unlessDamaged<Result>(name: string, instead: Result, read: () => Promise<Result>): Promise<Result> {
    // A statement that fails would end the transaction.
    await transaction.script("SAVEPOINT before_read")
    try {
      const result = await read()
      await transaction.script("RELEASE before_read")
      return result
    } catch (error) {
      if (clusterFault(error) instanceof StoreUnavailable) throw error
      await transaction.script("ROLLBACK TO before_read")
      damage.add(faultOf.unreadable(name, error))
      return instead
    }
  }
  const posts = await unlessDamaged("totals", { accepted: 0, trimmed: 0, stored: 0 }, () => postNumbers(transaction))
  const logs = await unlessDamaged("match_logs", [], () => logNumbers(transaction))
  // Counted from the rows where there are any, not taken from the links' counts.
  const links = await unlessDamaged("links", [], () => tallies(transaction, "ORDER BY links.id", auditSql.countedRows))
  for (const [name, find] of checks) {
    const found = await unlessDamaged(name, [], () => find(transaction))
    for (const sentence of found) damage.add(sentence)
  }
  for (const sentence of incompleteLogs(logs)) damage.add(sentence)
  return {
    damage: [...damage].slice(0, damageMax),
    posts,
    logs: logs.map(({ appId, head, trimmedTo, entries }) => ({ appId, head, trimmedTo, entries })),
    links,
  }
}

/** The checks, in order. Each finds at most `damageMax`. */
const checks: readonly (readonly [name: string, find: (queries: Queries) => Promise<readonly string[]>])[] = [
  ["schema", missingTables],
  ["matches", matchesWithoutPost],
  ["retries", (queries) => lostMatches(queries, "retries")],
  ["dead_letters", (queries) => lostMatches(queries, "dead_letters")],
  ["links", wrongCounts],
  ["usage_days", wrongUsage],
  ["shown_posts", (queries) => foundBy(queries, auditSql.showingOfNone, faultOf.showingOfNone)],
  ["deletions", (queries) => foundBy(queries, auditSql.storedDeleted, faultOf.storedDeleted)],
  ["deletions", (queries) => foundBy(queries, auditSql.shownDeleted, faultOf.shownDeleted)],
  ["assigned_names", namesOfOthers],
]

/** Names that are read at once. Ours. */
const namesAtOnce = 1_000

/** A post that is gone may keep its name: it is deleted, and its name is remembered. */
async function namesOfOthers(queries: Queries): Promise<readonly string[]> {
  const found: string[] = []
  let after: string | undefined = ""
  while (after !== undefined && found.length < damageMax) {
    // PostgreSQL looks for the name as JSON writes it; the few envelopes that write it otherwise are parsed here.
    const rows: readonly (AssignedName & { readonly envelope: string })[] = await queries.rows(
      `SELECT ${columnsAs("assigned_names", "name, id")}, envelope FROM assigned_names
       JOIN posts ON posts.id = assigned_names.id
       WHERE name > $1 AND position('"source_uri":' || to_json(name)::text IN envelope) = 0 ORDER BY name LIMIT $2`,
      after,
      namesAtOnce,
    )
    found.push(...rows.filter(({ name, envelope }) => nameIn(envelope) !== name).map(faultOf.nameOfOther))
    after = rows.length < namesAtOnce ? undefined : rows.at(-1)?.name
  }
  return found.slice(0, damageMax)
}

async function foundBy<Row extends object>(
  queries: Queries,
  sql: string,
  fault: (row: Row) => string,
): Promise<readonly string[]> {
  return (await queries.rows<Row>(`${sql} LIMIT $1`, damageMax)).map(fault)
}

const tables = [
  ..."apps tokens rules rule_matches rule_changes rule_history webhooks links retries dead_letters attempts".split(" "),
  ..."gap_markers replays backfill_matches posts posts_other users match_logs matches matches_other totals given_ids".split(
    " ",
  ),
  ..."user_objects user_words user_fill edit_versions usage_days usage_posts ended_sessions connection_history known_time log_epochs database_identity".split(
    " ",
  ),
  ..."search_indexes search_partitions shown_posts deletions last_deletion rewritten_posts".split(" "),
  ..."sources source_gaps source_dead_letters assigned_names".split(" "),
]

async function missingTables(queries: Queries): Promise<readonly string[]> {
  const missing = await queries.rows<{ name: string }>(
    `SELECT name FROM unnest($1::text[]) AS name WHERE to_regclass(name) IS NULL`,
    tables,
  )
  return missing.map(({ name }) => `schema: table ${name} is not as it was made`)
}

async function matchesWithoutPost(queries: Queries): Promise<readonly string[]> {
  const found = await queries.rows<{ appId: AppId; seq: MatchSeq; postId: PostId }>(
    `SELECT ${columnsAs("matches", "app_id, seq, post_id")} FROM matches
     WHERE NOT EXISTS (SELECT 1 FROM posts WHERE posts.id = matches.post_id) AND rules <> $2 AND ${isKept}
     ORDER BY app_id, seq LIMIT $1`,
    damageMax,
    deletedRules,
  )
  return found.map(faultOf.missingPost)
}

interface LogNumbers extends Omit<StoreAudit["logs"][number], "entries"> {
  readonly entries: number
  /** Different positions of the entries. */
  readonly positions: number
}

function incompleteLogs(logs: readonly LogNumbers[]): readonly string[] {
  return logs
    .filter(({ head, trimmedTo, entries, positions }) => entries !== head - trimmedTo || positions !== entries)
    .map((log) => faultOf.incompleteLog(log, log.positions))
}

async function lostMatches(queries: Queries, table: "retries" | "dead_letters"): Promise<readonly string[]> {
  const lost = await queries.rows<{ linkId: LinkId; seq: MatchSeq }>(
    `SELECT ${columnsAs(table, "link_id, seq")} FROM ${table}
     WHERE ${auditSql.isMatchMissing(table)} ORDER BY link_id, seq LIMIT $1`,
    damageMax,
  )
  return lost.map((row) => faultOf.missingMatch(table, row))
}

async function wrongCounts(queries: Queries): Promise<readonly string[]> {
  const counts = await queries.rows<LinkCountsRow>(
    `SELECT * FROM (${auditSql.linkCounts(columnsAs)}) AS counted
     WHERE retries <> "retryRows" OR "deadLetters" <> "deadLetterRows" OR missed <> marked ORDER BY id`,
  )
  return counts.flatMap((row) => [...wrongCountsOf(row)])
}

async function wrongUsage(queries: Queries): Promise<readonly string[]> {
  const found = await queries.rows<WrongUsageRow>(`${auditSql.wrongUsage(columnsAs)} LIMIT $1`, damageMax)
  return found.map(faultOf.wrongUsage)
}

async function postNumbers(queries: Queries): Promise<StoreAudit["posts"]> {
  const numbers = await queries.row<StoreAudit["posts"]>(
    `SELECT coalesce(sum(posts_accepted), 0) AS "accepted", coalesce(sum(posts_trimmed), 0) AS "trimmed",
       (SELECT count(*) FROM posts) AS "stored"
     FROM totals`,
  )
  return { accepted: 0, trimmed: 0, stored: 0, ...numbers }
}

function logNumbers(queries: Queries): Promise<readonly LogNumbers[]> {
  return queries.rows<LogNumbers>(
    `SELECT ${columnsAs("match_logs", "app_id, head, trimmed_to")}, entries, positions
     FROM match_logs CROSS JOIN LATERAL (
       SELECT count(*) AS entries, count(DISTINCT seq) AS positions FROM matches
       WHERE matches.app_id = match_logs.app_id AND seq > trimmed_to) AS counted
     ORDER BY match_logs.app_id`,
  )
}
