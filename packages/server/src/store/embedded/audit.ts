/** A look at everything that is stored: is it what was put in, and do the numbers agree? */
import { DatabaseSync } from "node:sqlite"
import type { AppId, MatchSeq, PostId } from "../../model/ids.ts"
import type { LinkTally } from "../../model/link.ts"
import type { StoreAudit } from "../store.ts"
import { headChecksum, matchChecksum, textChecksum } from "./checksums.ts"
import { gapsPerLinkMax } from "./retention-writes.ts"
import { selectTallies, tallyOf, type TallyRow } from "./delivery-reads.ts"
import { migrate } from "./migrations.ts"
import { prepare } from "./statements.ts"

/** Most faults that are told. */
const damageMax = 100

interface HeadRow {
  id: PostId
  author_id: string | null
  created_at_ms: number
  is_reply: number
  is_repost: number
  head_checksum: number
  core: string
  core_checksum: number
}

interface WholePostRow extends HeadRow {
  envelope: string
  envelope_checksum: number
}

interface WholeMatchRow {
  app_id: AppId
  seq: number
  post_id: PostId
  at_ms: number
  rules: string
  checksum: number
  has_post: number
}

interface CountsRow {
  id: string
  retries: number
  retry_rows: number
  dead_letters: number
  dead_letter_rows: number
  missed: number
  marked: number
  has_all_markers: number
}

interface LogRow {
  app_id: AppId
  head: MatchSeq
  trimmed_to: MatchSeq
  entries: number
}

/**
 * Looks at everything as it is at one moment, while others may write: that of the transaction which the caller has
 * begun. What cannot be read is told as damage. Slow: it reads all that is stored.
 */
export function audit(db: DatabaseSync): StoreAudit {
  const damage = new Set<string>()
  /** What can be had of `read`, which may be cut short by damage. */
  function unlessDamaged<Result>(name: string, instead: Result, read: () => Result): Result {
    try {
      return read()
    } catch (error) {
      damage.add(`${name}: cannot be read to the end. ${(error as Error).message}`)
      return instead
    }
  }
  for (const [name, find] of looks) {
    unlessDamaged(name, undefined, () => {
      for (const found of find(db)) {
        if (damage.size >= damageMax) break
        damage.add(found)
      }
    })
  }
  const posts = unlessDamaged("totals", { accepted: 0, trimmed: 0, stored: 0 }, () => postNumbers(db))
  const logs = unlessDamaged("match_logs", [], () => logNumbers(db))
  const links = unlessDamaged("links", [], () => linkTallies(db))
  return { damage: [...damage].slice(0, damageMax), posts, logs, links }
}

/** What is looked at, one after the other. */
const looks: readonly (readonly [name: string, find: (db: DatabaseSync) => Iterable<string>])[] = [
  ["pages", damagedPages],
  ["schema", damagedSchema],
  ["posts", damagedPosts],
  ["posts", damagedTimelines],
  ["matches", damagedMatches],
  ["match_logs", incompleteLogs],
  ["retries", (db) => lostMatches(db, "retries")],
  ["dead_letters", (db) => lostMatches(db, "dead_letters")],
  ["links", wrongCounts],
]

function* damagedPages(db: DatabaseSync): Iterable<string> {
  const check = prepare<{ integrity_check: string }>(db, `PRAGMA integrity_check(${damageMax})`)
  for (const { integrity_check: found } of check.iterate()) if (found !== "ok") yield `pages: ${found}`
}

/** A bit of the schema's text may turn a name or a constraint into another that is as good to SQLite. */
function* damagedSchema(db: DatabaseSync): Iterable<string> {
  using fresh = new DatabaseSync(":memory:")
  migrate(fresh)
  const [found, expected] = [schemaOf(db), schemaOf(fresh)]
  for (const name of new Set([...expected.keys(), ...found.keys()])) {
    if (found.get(name) !== expected.get(name)) yield `schema: ${name} is not as it was made`
  }
}

function schemaOf(db: DatabaseSync): ReadonlyMap<string, string> {
  const schema = prepare<{ name: string; text: string }>(
    db,
    "SELECT type || ' ' || name AS name, coalesce(tbl_name || ' ' || sql, '') AS text FROM sqlite_schema",
  )
  return new Map(schema.all().map(({ name, text }) => [name, text]))
}

const headColumns = `CAST (id AS TEXT) AS id, CAST (author_id AS TEXT) AS author_id, created_at_ms, is_reply,
  is_repost, head_checksum, core, core_checksum`

function* damagedPosts(db: DatabaseSync): Iterable<string> {
  const all = prepare<WholePostRow>(
    db,
    `SELECT ${headColumns}, envelope, envelope_checksum FROM posts NOT INDEXED ORDER BY posts.id`,
  )
  for (const post of all.iterate()) {
    const isWhole = isHeadWhole(post) && textChecksum(post.id, post.envelope) === post.envelope_checksum
    if (!isWhole) yield `posts: post ${post.id} is not as it was stored`
  }
}

/** Timelines are read from an index that holds a copy of the default fields. */
function* damagedTimelines(db: DatabaseSync): Iterable<string> {
  const all = prepare<HeadRow>(
    db,
    `SELECT ${headColumns} FROM posts INDEXED BY posts_of_author
     WHERE posts.author_id IS NOT NULL ORDER BY posts.author_id, posts.id`,
  )
  for (const post of all.iterate()) {
    if (!isHeadWhole(post)) yield `posts: post ${post.id} is not as it was stored, in the index of its author`
  }
}

function isHeadWhole(post: HeadRow): boolean {
  return (
    headChecksum(post.id, post) === post.head_checksum &&
    textChecksum(post.id, post.core) === post.core_checksum
  )
}

function* damagedMatches(db: DatabaseSync): Iterable<string> {
  const all = prepare<WholeMatchRow>(
    db,
    `SELECT CAST (app_id AS TEXT) AS app_id, seq, CAST (post_id AS TEXT) AS post_id, at_ms, rules, checksum,
       EXISTS (SELECT 1 FROM posts WHERE posts.id = matches.post_id) AS has_post
     FROM matches NOT INDEXED`,
  )
  for (const match of all.iterate()) {
    const name = `matches: match ${match.seq} of app ${match.app_id}`
    if (matchChecksum(match.app_id, match) !== match.checksum) yield `${name} is not as it was stored`
    else if (match.has_post === 0) yield `${name} is of post ${match.post_id}, which is not there`
  }
}

/** Entries whose place in their log is damaged are missed here, whatever they say of themselves. */
function* incompleteLogs(db: DatabaseSync): Iterable<string> {
  for (const { appId, head, trimmedTo, entries } of logNumbers(db)) {
    if (entries !== head - trimmedTo) {
      yield `match_logs: the log of app ${appId} runs from ${trimmedTo + 1} to ${head}, and has ${entries} entries`
    }
  }
}

function* lostMatches(db: DatabaseSync, table: "retries" | "dead_letters"): Iterable<string> {
  const lost = prepare<{ link_id: string; seq: number }>(
    db,
    `SELECT CAST (link_id AS TEXT) AS link_id, seq FROM ${table}
     WHERE NOT EXISTS (
       SELECT 1 FROM links JOIN matches ON matches.app_id = links.app_id
       WHERE links.id = ${table}.link_id AND links.app_id = ${table}.app_id AND matches.seq = ${table}.seq)`,
  )
  for (const { link_id: linkId, seq } of lost.iterate()) {
    yield `${table}: link ${linkId} needs match ${seq}, which is not there`
  }
}

/** The counts beside each link are those of the rows. Of gap markers the oldest are not kept, and only counted. */
function* wrongCounts(db: DatabaseSync): Iterable<string> {
  const counts = prepare<CountsRow>(
    db,
    `SELECT CAST (id AS TEXT) AS id, retries, dead_letters, missed,
       ${countedRows.retries} AS retry_rows, ${countedRows.deadLetters} AS dead_letter_rows,
       (SELECT coalesce(sum(to_seq - from_seq + 1), 0) FROM gap_markers WHERE link_id = links.id) AS marked,
       (SELECT count(*) FROM gap_markers WHERE link_id = links.id) < ? AS has_all_markers
     FROM links ORDER BY links.id`,
  )
  for (const row of counts.iterate(gapsPerLinkMax)) {
    if (row.retries !== row.retry_rows)
      yield `links: link ${row.id} counts ${row.retries} retries, and has ${row.retry_rows}`
    if (row.dead_letters !== row.dead_letter_rows)
      yield `links: link ${row.id} counts ${row.dead_letters} dead letters, and has ${row.dead_letter_rows}`
    if (row.marked > row.missed || (row.marked < row.missed && row.has_all_markers === 1))
      yield `links: link ${row.id} counts ${row.missed} missed matches, and has gap markers of ${row.marked}`
  }
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
  const logs = prepare<LogRow>(
    db,
    `SELECT CAST (app_id AS TEXT) AS app_id, head, trimmed_to,
       (SELECT count(*) FROM matches WHERE matches.app_id = match_logs.app_id AND seq > trimmed_to) AS entries
     FROM match_logs ORDER BY match_logs.app_id`,
  )
  return logs.all().map((row) => ({
    appId: row.app_id,
    head: row.head,
    trimmedTo: row.trimmed_to,
    entries: row.entries,
  }))
}

/** From the rows, where there are any, and not from the counts of them. */
function linkTallies(db: DatabaseSync): readonly LinkTally[] {
  const tallies = prepare<TallyRow>(db, `${selectTallies(countedRows)} ORDER BY links.id`)
  return tallies.all().map(tallyOf)
}

const countedRows = {
  retries: "(SELECT count(*) FROM retries WHERE link_id = links.id)",
  deadLetters: "(SELECT count(*) FROM dead_letters WHERE link_id = links.id)",
}
