/**
 * Partitions by time, so that most of what is old goes with its table instead of row by row.
 *
 *     matches   one for each UTC day, by at_ms              matches_20261122
 *     posts     one for each 30 days, by the time in ids    posts_20261101
 *
 * Each also has a default partition, `matches_other` and `posts_other`, for rows that no other takes: nothing depends
 * on a partition being there in time. One that cannot be made, because rows of its range are in the default one, is
 * left out; those rows are deleted one by one when their time comes.
 *
 * A partition of matches is dropped once every log is trimmed beyond it. Rows that a retry or a dead letter still needs
 * move to the default partition, in the same transaction. Making and dropping need a lock that everybody waits for, so
 * both give up when they do not have it at once, and are tried again at the next pass.
 */
import { snowflakeEpochMs } from "@sluice/api"
import { StoreUnavailable } from "../../store-faults.ts"
import { addToTotals, type ClusterDatabase, type Queries, type WriteTransaction } from "../connection/database.ts"
import { idEnds } from "../connection/keyset.ts"
import { forgetChainsWithin } from "./edits.ts"

const dayMs = 86_400_000

/** Time that a partition of posts spans. Ours: posts may be kept for years, and each read looks at each partition. */
export const postsSpanMs = 30 * dayMs

/** How many days ahead there is a partition of matches. Ours: so long may retention fail. */
const daysAhead = 3

/** Longest wait for a lock that holds up everybody who comes after. Ours. */
const lockMsMax = 200

/** Most matches that move to the default partition, while everybody waits: a partition with more stays. Ours. */
const movedMax = 10_000

/** SQLSTATE codes: a lock was not to be had in time, and a statement took too long. */
const triedAgain = new Set(["55P03", "57014"])

interface Partition {
  readonly name: string
  readonly parent: "matches" | "posts"
  /** Bounds of its key, inclusive and exclusive. */
  readonly from: string
  readonly to: string
  /** Unix ms: all that belongs into it is older. */
  readonly endMs: number
}

/** The least id of a moment. */
export function idAtMs(atMs: number): string {
  return String(BigInt(Math.max(0, Math.ceil(atMs - snowflakeEpochMs))) << 22n)
}

/** Makes the partitions of a moment and of what follows, unless they are there. */
export async function ensurePartitions(database: ClusterDatabase, nowMs: number): Promise<void> {
  const day = Math.floor(nowMs / dayMs)
  const days = Array.from({ length: daysAhead + 1 }, (_, ahead) => matchesAt((day + ahead) * dayMs))
  const wanted = [...days, postsAt(nowMs), postsAt(nowMs + postsSpanMs)]
  const there = new Set([...(await namesOf(database, "matches")), ...(await namesOf(database, "posts"))])
  for (const partition of wanted) {
    if (!there.has(partition.name)) await ifLocked(database, (transaction) => make(transaction, partition))
  }
}

/** Most partitions that are made at once for what is there already; what is older goes to the default ones. Ours. */
const madeMax = 400

/** Makes the partitions of rows that are about to come: of matches of these days, and posts with ids like these. */
export async function makePartitionsFor(
  transaction: WriteTransaction,
  { matchDays, postIds }: { readonly matchDays: readonly number[]; readonly postIds: readonly string[] },
): Promise<void> {
  const posts = postIds.map((id) => postsAt(Number(BigInt(id) >> 22n) + snowflakeEpochMs))
  for (const partition of [...matchDays.map(matchesAt).slice(0, madeMax), ...posts.slice(0, madeMax)]) {
    if (isPossible(partition)) await make(transaction, partition)
  }
}

/** Whether its name says what it holds, and its bounds are ids: not so of the times of a clock that was wrong by decades. */
function isPossible({ name, to }: Partition): boolean {
  return partitionOf(name) !== undefined && BigInt(to) <= BigInt(idEnds.above)
}

function matchesAt(startMs: number): Partition {
  const endMs = startMs + dayMs
  return { name: `matches_${dateOf(startMs)}`, parent: "matches", from: String(startMs), to: String(endMs), endMs }
}

function postsAt(atMs: number): Partition {
  const startMs = Math.floor(atMs / postsSpanMs) * postsSpanMs
  const endMs = startMs + postsSpanMs
  return { name: `posts_${dateOf(startMs)}`, parent: "posts", from: idAtMs(startMs), to: idAtMs(endMs), endMs }
}

/** A day as `20261122`. */
function dateOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10).replaceAll("-", "")
}

/** The partition that has this name; `undefined` for a table that is none of these. */
function partitionOf(name: string): Partition | undefined {
  const [, parent, year, month, day] = /^(matches|posts)_(\d{4})(\d\d)(\d\d)$/.exec(name) ?? []
  if (parent === undefined) return undefined
  const startMs = Date.UTC(Number(year), Number(month) - 1, Number(day))
  const found = parent === "matches" ? matchesAt(startMs) : postsAt(startMs)
  return found.name === name ? found : undefined
}

async function namesOf(queries: Queries, parent: Partition["parent"]): Promise<readonly string[]> {
  const rows = await queries.rows<{ name: string }>(
    `SELECT relname::text AS "name" FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
     WHERE inhparent = to_regclass($1) ORDER BY relname`,
    parent,
  )
  return rows.map(({ name }) => name)
}

/** Partitions of which everything is older than `beforeMs`, by the range of their key; the oldest first. */
async function oldPartitions(
  queries: Queries,
  parent: Partition["parent"],
  beforeMs: number,
): Promise<readonly Partition[]> {
  const all = (await namesOf(queries, parent)).map(partitionOf)
  return all.filter((one) => one !== undefined).filter(({ endMs }) => endMs <= beforeMs)
}

/** The result of a write that takes no lock for which it would have to wait; `undefined` when it did not come to pass. */
async function ifLocked<Result>(
  database: ClusterDatabase,
  write: (transaction: WriteTransaction) => Promise<Result>,
): Promise<Result | undefined> {
  try {
    return await database.write(async (transaction) => {
      await transaction.script(`SET LOCAL lock_timeout = ${lockMsMax}`)
      return write(transaction)
    })
  } catch (error) {
    const cause =
      error instanceof StoreUnavailable ? (error.cause as { readonly code?: unknown } | undefined) : undefined
    if (typeof cause?.code === "string" && triedAgain.has(cause.code)) return undefined
    throw error
  }
}

const isOccupied = {
  matches: `SELECT EXISTS (SELECT 1 FROM matches_other WHERE at_ms >= $1 AND at_ms < $2) AS "isTrue"`,
  posts: `SELECT EXISTS (SELECT 1 FROM posts_other WHERE id >= $1 AND id < $2) AS "isTrue"`,
}

async function make(transaction: WriteTransaction, { name, parent, from, to }: Partition): Promise<void> {
  const hasRows = async () => (await transaction.row<{ isTrue: boolean }>(isOccupied[parent], from, to))?.isTrue
  // One of several processes makes it. The second check is for rows inserted between the first one and the lock.
  await transaction.script(`LOCK TABLE ONLY ${parent} IN SHARE UPDATE EXCLUSIVE MODE`)
  if (await hasRows()) return
  await transaction.script(`LOCK TABLE ${parent}_other IN ACCESS EXCLUSIVE MODE`)
  if (await hasRows()) return
  await transaction.script(
    `CREATE TABLE IF NOT EXISTS ${name} PARTITION OF ${parent} FOR VALUES FROM (${from}) TO (${to})`,
  )
  if (parent === "posts") await transaction.script(withoutStatistics(name))
}

/** A partition does not inherit it: statistics would hold samples of texts that are deleted later. */
function withoutStatistics(name: string): string {
  return `ALTER TABLE ${name} ALTER COLUMN core SET STATISTICS 0, ALTER COLUMN envelope SET STATISTICS 0`
}

/** Drops the partitions of matches that were appended before `beforeMs` and that every log is trimmed beyond. */
export async function dropPassedMatches(database: ClusterDatabase, beforeMs: number): Promise<void> {
  for (const partition of await oldPartitions(database, "matches", beforeMs)) {
    if (!(await isDroppable(database, partition))) continue
    await ifLocked(database, async (transaction) => {
      await transaction.script("LOCK TABLE matches IN ACCESS EXCLUSIVE MODE")
      if (await isDroppable(transaction, partition)) await transaction.script(dropSql(partition))
    })
  }
}

/** Whether every log is trimmed beyond a partition of matches, and what has to be kept of it is little enough to move. */
async function isDroppable(queries: Queries, { from, to }: Partition): Promise<boolean> {
  const log = await queries.row<{ isPassed: boolean }>(
    `SELECT NOT EXISTS (
       SELECT 1 FROM match_logs CROSS JOIN LATERAL (
         SELECT 1 FROM matches
         WHERE matches.app_id = match_logs.app_id AND seq > trimmed_to AND at_ms >= $1 AND at_ms < $2 LIMIT 1)
         AS not_passed) AS "isPassed"`,
    from,
    to,
  )
  // Counting reads every retry and every dead letter, and most partitions stay for days.
  if (log?.isPassed !== true) return false
  const kept = await queries.row<{ count: number }>(
    `SELECT count(*) AS "count" FROM (${needed}) AS needed JOIN matches USING (app_id, seq)
     WHERE at_ms >= $1 AND at_ms < $2`,
    from,
    to,
  )
  return kept !== undefined && kept.count <= movedMax
}

/** Matches that a retry or a dead letter needs. */
const needed = "SELECT app_id, seq FROM retries UNION SELECT app_id, seq FROM dead_letters"

/** The default partition takes rows of a range only once no other partition has it. */
function dropSql({ name }: Partition): string {
  const columns = "app_id, seq, post_id, at_ms, rules_seq, rules"
  return `
    ALTER TABLE matches DETACH PARTITION ${name};
    INSERT INTO matches (${columns}) SELECT ${columns} FROM (${needed}) AS needed JOIN ${name} USING (app_id, seq);
    DROP TABLE ${name};`
}

/**
 * Drops the partitions of posts that were all made before `beforeMs`, and that no match needs: not even one that is gone
 * and whose own partition is still there. Returns the number of their posts.
 */
export async function dropPassedPosts(database: ClusterDatabase, beforeMs: number): Promise<number> {
  let dropped = 0
  for (const partition of await oldPartitions(database, "posts", beforeMs)) {
    if (await hasMatches(database, partition)) continue
    dropped += (await ifLocked(database, (transaction) => dropPosts(transaction, partition, beforeMs))) ?? 0
  }
  return dropped
}

async function hasMatches(queries: Queries, { from, to }: Partition): Promise<boolean> {
  const sql = `SELECT EXISTS (SELECT 1 FROM matches WHERE post_id >= $1 AND post_id < $2) AS "isTrue"`
  return (await queries.row<{ isTrue: boolean }>(sql, from, to))?.isTrue === true
}

async function dropPosts(transaction: WriteTransaction, partition: Partition, beforeMs: number): Promise<number> {
  const { name, from, to } = partition
  // From here on no post is added to it. Posts can be read meanwhile.
  await transaction.script(`LOCK TABLE ${name} IN SHARE ROW EXCLUSIVE MODE`)
  if (await hasMatches(transaction, partition)) return 0
  const posts = await transaction.row<{ count: number; newestMs: number | null }>(
    `SELECT count(*) AS "count", max(created_at_ms) AS "newestMs" FROM posts WHERE id >= $1 AND id < $2`,
    from,
    to,
  )
  if (posts === undefined || (posts.newestMs ?? 0) >= beforeMs) return 0
  await transaction.script(`DROP TABLE ${name}`)
  await forgetChainsWithin(transaction, from, to)
  await transaction.run("DELETE FROM shown_posts WHERE post_id >= $1 AND post_id < $2", from, to)
  if (posts.count > 0) await addToTotals(transaction, "posts_trimmed", posts.count)
  return posts.count
}
