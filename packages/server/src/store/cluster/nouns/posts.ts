/** Posts: the timelines of users, the newest of all, and the users that posts show. */
import type { PostStore } from "../../port/post-store.ts"
import type { PostId, UserId } from "../../../model/ids.ts"
import type { AcceptedPost, PostShape, StoredPost } from "../../../model/post.ts"
import { idBoundsOf, idEdgeOf } from "../../id-bounds.ts"
import { holdsTime } from "../../id-time.ts"
import type { UserPostsRange, UserPostsScan } from "../../port/post-store.ts"
import { scanFilterOf } from "../../rows/post.ts"
import { columnsOf } from "../../rows/record.ts"
import type { Queries, WriteTransaction } from "../connection/database.ts"
import { textArray } from "../connection/text-array.ts"
import { currentEra } from "./arrivals.ts"
import { isSuperseded, saveChains } from "./edits.ts"
import { withoutDeleted } from "../../ledger/deletions.ts"
import { deletedIdsOf, noteShown } from "./deletions.ts"
import { saveUsers } from "./users.ts"

/** Most rows that one statement of a long read returns. Ours: some milliseconds. */
const chunkRowsMax = 500

/** Most bytes of texts that one statement of a long read returns; the last row may go over it. Ours. */
const chunkBytesMax = 1_048_576

/** The reads of posts and users. */
export function createPostReads(queries: Queries): PostStore {
  return {
    userPosts: (range) => scanUserPosts(queries, range),

    async isUserKnown(id) {
      return (await queries.row("SELECT 1 FROM users WHERE id = $1", id)) !== undefined
    },

    post: (id) => queries.row<StoredPost>(`SELECT id, envelope AS "json" FROM posts WHERE id = $1`, id),

    async postsById({ ids, shape, bytesMax }) {
      const rows = await queries.rows<StoredPost & { readonly found: number }>(byIds[shape], ids, bytesMax)
      const last = rows.at(-1)
      return {
        posts: rows.map(({ id, json }) => ({ id, json })),
        damaged: [],
        ...(last !== undefined && rows.length < last.found && { stoppedAt: last.id }),
      }
    },

    async posts({ direction, from, limit, bytesMax }) {
      const read = direction === "newer" ? readNewer : readOlder
      const { rows, isCut } = await read(queries, { from, limit, bytesMax })
      const last = rows.at(-1)
      return {
        posts: direction === "newer" ? rows.toReversed() : rows,
        damaged: [],
        ...(isCut && last !== undefined && { stoppedAt: last.id }),
      }
    },

    async *recentPosts({ limit, bytesMax }) {
      let from: PostId | undefined
      let [count, bytes] = [0, 0]
      while (count < limit && (bytes < bytesMax || count === 0)) {
        const rowsMax = Math.min(chunkRowsMax, limit - count)
        const chunk = { limit: rowsMax, bytesMax: Math.min(chunkBytesMax, bytesMax - bytes) }
        const { rows, isCut } = await readOlder(queries, { from, ...chunk })
        yield* rows
        if (!isCut && rows.length < rowsMax) return
        for (const { json } of rows) bytes += Buffer.byteLength(json)
        count += rows.length
        from = rows.at(-1)?.id
      }
    },
  }
}

/** Posts in the order of their ids, as many as the bytes allow. The database sums them up, so it sends no more. */
function byIdsSql(shape: PostShape): string {
  return `
    SELECT id, json, found FROM (
      SELECT id, json, place, count(*) OVER () AS found,
        sum(octet_length(json)) OVER (ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes
      FROM (
        SELECT posts.id, ${shape} AS json, place
        FROM unnest($1::bigint[]) WITH ORDINALITY AS given (id, place) JOIN posts ON posts.id = given.id) AS stored) AS sized
    WHERE bytes IS NULL OR bytes < $2 ORDER BY place`
}

const byIds = { core: byIdsSql("core"), envelope: byIdsSql("envelope") }

/** A part of the list of all posts. */
interface PostsPart {
  /** Exclusive. */
  readonly from: PostId | undefined
  readonly limit: number
  readonly bytesMax: number
}

/** Posts in the order of the read, as many as the bytes allow. */
interface ReadPosts {
  readonly rows: readonly StoredPost[]
  /** Whether there was another one, which the bytes left out. */
  readonly isCut: boolean
}

const readOlder = readPosts("id <= $1", "DESC")
const readNewer = readPosts("id > $1", "ASC")

/** The read of posts on one side of an id. The database sums up the bytes, so it sends no more than are taken. */
function readPosts(side: "id <= $1" | "id > $1", order: "DESC" | "ASC") {
  const sql = `
    SELECT id, json, found FROM (
      SELECT id, json, count(*) OVER () AS found,
        sum(octet_length(json)) OVER (ORDER BY id ${order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes
      FROM (SELECT id, envelope AS json FROM posts WHERE ${side} ORDER BY id ${order} LIMIT $2) AS next) AS sized
    WHERE bytes IS NULL OR bytes < $3 ORDER BY id ${order}`
  return async (queries: Queries, { from, limit, bytesMax }: PostsPart): Promise<ReadPosts> => {
    const edge = String(idEdgeOf(order === "ASC" ? "newer" : "older", from))
    const rows = await queries.rows<StoredPost & { readonly found: number }>(sql, edge, limit, bytesMax)
    return {
      rows: rows.map(({ id, json }) => ({ id, json })),
      isCut: rows.length < (rows[0]?.found ?? 0),
    }
  }
}

interface ScanRow {
  readonly id: PostId
  /** Whether the chunk ends before this row: its texts are complete, or its posts are as many as are wanted. */
  readonly isOver: boolean
  /** Absent when the filter leaves the post out, and in a row over the end. */
  readonly json: string | null
}

const isTaken = `(is_reply <= $4 AND is_repost <= $5 AND created_at_ms >= $6 AND created_at_ms < $7
  AND NOT ${isSuperseded("posts.id")})`

/** A chunk of a scan: `$8` rows, of them `$9` that the filter takes, with about `$10` bytes of text. */
function scanSql(shape: PostShape, order: "DESC" | "ASC"): string {
  return `
    SELECT id, is_over AS "isOver", CASE WHEN NOT is_over THEN json END AS "json" FROM (
      SELECT id, json, coalesce(sum(octet_length(json)) OVER before >= $10, false)
        OR count(json) OVER before >= $9 AS is_over
      FROM (
        SELECT id, CASE WHEN ${isTaken} THEN ${shape} END AS json FROM posts
        WHERE author_id = $1 AND id > $2 AND id <= $3 ORDER BY id ${order} LIMIT $8) AS next
      WINDOW before AS (ORDER BY id ${order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)) AS sized
    ORDER BY id ${order}`
}

const scans = {
  core: { older: scanSql("core", "DESC"), newer: scanSql("core", "ASC") },
  envelope: { older: scanSql("envelope", "DESC"), newer: scanSql("envelope", "ASC") },
}

async function scanUserPosts(queries: Queries, range: UserPostsRange): Promise<UserPostsScan> {
  const { userId, direction, shape, limit, scanMax, bytesMax } = range
  const filter = scanFilterOf(range)
  const bounds = idBoundsOf(range, await readIdsHoldTime(queries, range))
  let [above, upTo] = [String(bounds.above), String(bounds.upTo)]
  const posts: StoredPost[] = []
  let [scanned, bytes] = [0, 0]
  let last: PostId | undefined
  const result = (stoppedAt?: PostId): UserPostsScan => ({
    posts: direction === "newer" ? posts.toReversed() : posts,
    damaged: [],
    ...(stoppedAt !== undefined && { stoppedAt }),
  })
  for (;;) {
    const wanted = limit - posts.length
    const rowsMax = Math.min(chunkRowsMax, scanMax - scanned, isFiltered(range) ? chunkRowsMax : wanted)
    const chunkBytes = Math.min(chunkBytesMax, bytesMax - bytes)
    const chunk = [rowsMax + 1, wanted, chunkBytes]
    // One more than the chunk has, to know whether there are more.
    const rows = await queries.rows<ScanRow>(scans[shape][direction], userId, above, upTo, ...filter, ...chunk)
    const end = rows.findIndex(({ isOver }, index) => isOver || index === rowsMax)
    const isOver = end !== -1
    for (const { id, json } of isOver ? rows.slice(0, end) : rows) {
      scanned += 1
      last = id
      if (json === null) continue
      bytes += Buffer.byteLength(json)
      posts.push({ id, json })
    }
    if (!isOver || last === undefined) return result()
    if (posts.length === limit || scanned === scanMax || bytes >= bytesMax) return result(last)
    if (direction === "newer") above = last
    else upTo = String(idEdgeOf("older", last))
  }
}

/** Whether the ids of the user's posts say when they were made; not asked where it does not matter. */
async function readIdsHoldTime(queries: Queries, { userId, startMs, endMs }: UserPostsRange): Promise<boolean> {
  if (startMs === undefined && endMs === undefined) return false
  const user = await queries.row<{ holds: boolean }>(`SELECT ids_hold_time AS "holds" FROM users WHERE id = $1`, userId)
  return user?.holds === true
}

function isFiltered({ excludeReplies, excludeReposts, startMs, endMs }: UserPostsRange): boolean {
  return excludeReplies || excludeReposts || startMs !== undefined || endMs !== undefined
}

/**
 * Inserts posts and the users that they show, and returns the ids of those that were not stored yet and are not deleted.
 * The first of several posts with the same id is stored.
 */
export async function insertPosts(
  transaction: WriteTransaction,
  posts: readonly AcceptedPost[],
): Promise<ReadonlySet<PostId>> {
  const deleted = await deletedIdsOf(transaction, posts)
  const byId = new Map<PostId, AcceptedPost>()
  for (const post of posts) {
    const kept = deleted === undefined ? post : withoutDeleted(post, deleted)
    if (kept !== undefined && !byId.has(post.id)) byId.set(post.id, kept)
  }
  const given = [...byId.values()]
  // By id, so that of two transactions with the same posts one waits for the other, and never each for the other.
  const inserted = await transaction.rows<{ id: PostId }>(
    `INSERT INTO posts (id, author_id, created_at_ms, is_reply, is_repost, core, envelope, arrival, arrival_era)
     SELECT given.*, ${currentEra}
     FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::boolean[], $5::boolean[], $6::text[], $7::text[])
       WITH ORDINALITY AS given (id, author_id, created_at_ms, is_reply, is_repost, core, envelope, arrival)
     ORDER BY given.id ON CONFLICT (id) DO NOTHING RETURNING id`,
    ...columnsOf(given, ["id", "authorId", "createdAtMs", "isReply", "isRepost"]),
    textArray(given.map(({ core }) => core)),
    textArray(given.map(({ envelope }) => envelope)),
  )
  const newIds = new Set(inserted.map(({ id }) => id))
  const newPosts = given.filter(({ id }) => newIds.has(id))
  await noteShown(transaction, newPosts)
  await insertUsers(transaction, newPosts)
  await saveUsers(transaction, newPosts)
  await saveChains(transaction, newPosts)
  return newIds
}

/** Inserts the users that are new, and notes authors whose ids do not hold their times. Other rows are not even locked. */
async function insertUsers(transaction: WriteTransaction, posts: readonly AcceptedPost[]): Promise<void> {
  const holdTime = new Map<UserId, boolean>()
  for (const { userIds } of posts) for (const id of userIds) holdTime.set(id, true)
  for (const { id, authorId, createdAtMs } of posts) {
    if (authorId !== undefined && !holdsTime(id, createdAtMs)) holdTime.set(authorId, false)
  }
  if (holdTime.size === 0) return
  await transaction.run(
    `INSERT INTO users (id, ids_hold_time)
     SELECT * FROM unnest($1::bigint[], $2::boolean[]) AS given (id, ids_hold_time)
     WHERE NOT EXISTS (
       SELECT 1 FROM users WHERE users.id = given.id AND (given.ids_hold_time OR NOT users.ids_hold_time))
     ORDER BY given.id
     ON CONFLICT (id) DO UPDATE SET ids_hold_time = false WHERE users.ids_hold_time AND NOT excluded.ids_hold_time`,
    [...holdTime.keys()],
    [...holdTime.values()],
  )
}
