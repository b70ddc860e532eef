/** The audit of everything that is stored: whether it is what was put in, and whether the counts agree. */
import type { DatabaseSync } from "node:sqlite"
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
import { deletedRules } from "../../rows/match-entry.ts"
import type { StoreAudit } from "../../store-audit.ts"
import { recordOf } from "../../rows/record.ts"
import { checkedNames, damageOf, isWhole, type CheckedName } from "../connection/checked-rows.ts"
import { headChecksum, matchChecksum, textChecksum, type LoggedMatch, type PostHead } from "../connection/checksums.ts"
import { prepareTallies } from "../nouns/links.ts"
import { headColumns } from "../nouns/posts.ts"
import { damagedSchema, strangeSchema } from "../connection/schema.ts"
import { columnsAs, prepare } from "../connection/statements.ts"

interface HeadRow extends PostHead {
  readonly id: PostId
  readonly headChecksum: number
}

interface WholePostRow extends HeadRow {
  readonly core: string
  readonly coreChecksum: number
  readonly envelope: string
  readonly envelopeChecksum: number
}

interface WholeMatchRow extends LoggedMatch {
  readonly appId: AppId
  readonly checksum: number
  readonly hasPost: number
}

/**
 * Audits everything as it is at one moment, that of the transaction which the caller has begun, while others may write.
 * Unreadable rows are reported as damage. Slow: it reads all that is stored.
 */
export function audit(db: DatabaseSync): StoreAudit {
  const damage = new Set<string>()
  /** The result of `read`, or `instead` when damage cuts it short. */
  function unlessDamaged<Result>(name: string, instead: Result, read: () => Result): Result {
    try {
      return read()
    } catch (error) {
      damage.add(faultOf.unreadable(name, error))
      return instead
    }
  }
  for (const [name, find] of checks) {
    unlessDamaged(name, undefined, () => {
      for (const found of find(db)) {
        if (damage.size >= damageMax) break
        damage.add(found)
      }
    })
  }
  const posts = unlessDamaged("totals", { accepted: 0, trimmed: 0, stored: 0 }, () => postNumbers(db))
  const logs = unlessDamaged("match_logs", [], () => logNumbers(db))
  // Counted from the rows where there are any, not taken from the links' counts.
  const links = unlessDamaged("links", [], () => prepareTallies(db, "ORDER BY links.id", auditSql.countedRows)())
  return { damage: [...damage].slice(0, damageMax), posts, logs, links }
}

/** The checks, in order. */
const checks: readonly (readonly [name: string, find: (db: DatabaseSync) => Iterable<string>])[] = [
  ["pages", damagedPages],
  ["schema", damagedSchema],
  ["schema", strangeSchema],
  ["posts", damagedPosts],
  ["posts", damagedTimelines],
  ["matches", damagedMatches],
  ["match_logs", incompleteLogs],
  ["retries", (db) => lostMatches(db, "retries")],
  ["dead_letters", (db) => lostMatches(db, "dead_letters")],
  ["links", wrongCounts],
  ["usage_days", wrongUsage],
  ["shown_posts", (db) => foundBy(db, auditSql.showingOfNone, faultOf.showingOfNone)],
  ["deletions", (db) => foundBy(db, auditSql.storedDeleted, faultOf.storedDeleted)],
  ["deletions", (db) => foundBy(db, auditSql.shownDeleted, faultOf.shownDeleted)],
  ["assigned_names", namesOfOthers],
  ...checkedNames.map((table) => [table, (db: DatabaseSync) => damagedRecords(db, table)] as const),
]

function* damagedPages(db: DatabaseSync): Iterable<string> {
  const check = prepare<{ integrity_check: string }>(db, `PRAGMA integrity_check(${damageMax})`)
  for (const { integrity_check: found } of check.iterate()) if (found !== "ok") yield `pages: ${found}`
}

function* damagedPosts(db: DatabaseSync): Iterable<string> {
  const all = prepare<WholePostRow>(
    db,
    `SELECT ${columnsAs("posts", `${headColumns}, core, core_checksum, envelope, envelope_checksum`)}
     FROM posts NOT INDEXED ORDER BY posts.id`,
  )
  for (const post of all.iterate()) {
    const isCoreWhole = textChecksum(post.id, post.core) === post.coreChecksum
    const isEnvelopeWhole = textChecksum(post.id, post.envelope) === post.envelopeChecksum
    if (!isHeadWhole(post) || !isCoreWhole || !isEnvelopeWhole) yield `posts: post ${post.id} is not as it was stored`
  }
}

/** Timelines are read through an index that holds a copy of what they filter by. */
function* damagedTimelines(db: DatabaseSync): Iterable<string> {
  const all = prepare<HeadRow>(
    db,
    `SELECT ${columnsAs("posts", headColumns)} FROM posts INDEXED BY posts_of_author
     WHERE posts.author_id IS NOT NULL ORDER BY posts.author_id, posts.id`,
  )
  for (const post of all.iterate()) {
    if (!isHeadWhole(post)) yield `posts: post ${post.id} is not as it was stored, in the index of its author`
  }
}

function isHeadWhole(post: HeadRow): boolean {
  return headChecksum(post.id, post) === post.headChecksum
}

function* damagedMatches(db: DatabaseSync): Iterable<string> {
  const all = prepare<WholeMatchRow>(
    db,
    `SELECT ${columnsAs("matches", "app_id, seq, post_id, at_ms, rules, checksum")},
       (rules = '${deletedRules}' OR EXISTS (SELECT 1 FROM posts WHERE posts.id = matches.post_id)) AS hasPost
     FROM matches NOT INDEXED`,
  )
  for (const match of all.iterate()) {
    if (matchChecksum(match.appId, match) !== match.checksum)
      yield `matches: match ${match.seq} of app ${match.appId} is not as it was stored`
    else if (match.hasPost === 0) yield faultOf.missingPost(match)
  }
}

/** An entry whose position is damaged counts as missing here. */
function* incompleteLogs(db: DatabaseSync): Iterable<string> {
  for (const log of logNumbers(db)) {
    if (log.entries !== log.head - log.trimmedTo) yield faultOf.incompleteLog(log, log.entries)
  }
}

function* lostMatches(db: DatabaseSync, table: "retries" | "dead_letters"): Iterable<string> {
  const lost = prepare<{ linkId: LinkId; seq: MatchSeq }>(
    db,
    `SELECT ${columnsAs(table, "link_id, seq")} FROM ${table} WHERE ${auditSql.isMatchMissing(table)}`,
  )
  for (const row of lost.iterate()) yield faultOf.missingMatch(table, row)
}

function* foundBy<Row>(db: DatabaseSync, sql: string, fault: (row: Row) => string): Iterable<string> {
  for (const row of prepare<Row>(db, sql).iterate()) yield fault(row)
}

/** A post that is gone may keep its name: it is deleted, and its name is remembered. */
function* namesOfOthers(db: DatabaseSync): Iterable<string> {
  const named = prepare<AssignedName & { readonly envelope: string }>(
    db,
    `SELECT ${columnsAs("assigned_names", "name, id")}, envelope FROM assigned_names
     CROSS JOIN posts ON posts.id = assigned_names.id`,
  )
  for (const row of named.iterate()) if (nameIn(row.envelope) !== row.name) yield faultOf.nameOfOther(row)
}

function* wrongCounts(db: DatabaseSync): Iterable<string> {
  const counts = prepare<LinkCountsRow>(db, `${auditSql.linkCounts(columnsAs)} ORDER BY links.id`)
  for (const row of counts.iterate()) yield* wrongCountsOf(row)
}

function* wrongUsage(db: DatabaseSync): Iterable<string> {
  for (const row of prepare<WrongUsageRow>(db, auditSql.wrongUsage(columnsAs)).iterate()) yield faultOf.wrongUsage(row)
}

function* damagedRecords(db: DatabaseSync, table: CheckedName): Iterable<string> {
  const damaged = prepare<{ name: string }>(
    db,
    `SELECT ${damageOf(table)} AS name FROM ${table} WHERE NOT (${isWhole(table)})`,
  )
  const remedy = remedies[table]
  for (const { name } of damaged.iterate()) {
    yield `${table}: ${name} is not as it was stored${remedy === undefined ? "" : `. ${remedy}`}`
  }
}

/** Repairs of a damaged row without a backup. */
const remedies: { readonly [Table in CheckedName]?: string } = {
  apps: "It is refused. Revoke it, or restore a backup.",
  rules: "It is not matched. Delete it by its id and add it again.",
  webhooks: "Nothing is sent to it. Delete it by its id and register it again.",
  links: "Nothing is sent over it. Unlink the webhook and link it again.",
  attempts: "It is left out of the history.",
  retries: "It is sent at once.",
  user_objects: "It is not shown, until the user comes again changed or an hour later.",
}

function postNumbers(db: DatabaseSync): StoreAudit["posts"] {
  const totals = prepare<StoreAudit["posts"]>(
    db,
    `SELECT posts_accepted AS accepted, posts_trimmed AS trimmed,
       (SELECT count(*) FROM posts NOT INDEXED) AS stored
     FROM totals`,
  )
  return { accepted: 0, trimmed: 0, stored: 0, ...totals.get() }
}

function logNumbers(db: DatabaseSync): StoreAudit["logs"] {
  const logs = prepare<StoreAudit["logs"][number]>(
    db,
    `SELECT ${columnsAs("match_logs", "app_id, head, trimmed_to")},
       (SELECT count(*) FROM matches WHERE matches.app_id = match_logs.app_id AND seq > trimmed_to) AS entries
     FROM match_logs ORDER BY match_logs.app_id`,
  )
  return logs.all().map(recordOf)
}
