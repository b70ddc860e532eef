/** Posts: the timelines of users, the newest of all, and the users that posts show. */
import type { DatabaseSync } from "node:sqlite"
import type { PostId, UserId } from "../../../model/ids.ts"
import type { AcceptedPost, PostShape, StoredPost } from "../../../model/post.ts"
import { idBoundsOf, idEdgeOf } from "../../id-bounds.ts"
import { holdsTime } from "../../id-time.ts"
import { readerOf, serverItself } from "../../readers.ts"
import { isReadFault, RecordDamaged } from "../../store-faults.ts"
import type { StoreReads } from "../../store.ts"
import type { UserPostsScan } from "../../port/post-store.ts"
import { scanFilterOf } from "../../rows/post.ts"
import { bytesChecksum, headChecksum, textChecksum, type PostHead } from "../connection/checksums.ts"
import { chunkBytesMax, chunkRowsMax, inChunks, textBytes } from "../connection/row-chunks.ts"
import { columnsAs, prepare, type Statement } from "../connection/statements.ts"
import { isSuperseded, prepareSaveChains } from "./edits.ts"
import { withoutDeleted } from "../../ledger/deletions.ts"
import { prepareDeletedOf, prepareNoteShown } from "./deletions.ts"
import { prepareSaveUsers } from "./users.ts"
import type { ReadContext, SyncReads } from "../serving/sync-store.ts"

interface PostRow {
  id: PostId
  json: string
  checksum: number
}

interface ScanRow extends PostHead {
  id: PostId
  /** Whether the filter takes the post. */
  taken: number
  /** Absent when it does not: then the text is not even read. */
  json: string | null
  checksum: number | null
  headChecksum: number
}

const selectPosts = "SELECT CAST (id AS TEXT) AS id, envelope AS json, envelope_checksum AS checksum FROM posts"

/** The columns of a post's head, and their checksum. */
export const headColumns = "id, author_id, created_at_ms, is_reply, is_repost, head_checksum"

/** The reads of users. */
export function createUserReads(
  db: DatabaseSync,
  { turns, faults }: ReadContext,
): Pick<SyncReads, "userPosts" | "isUserKnown"> {
  const user = prepare<{ ids_hold_time: number }>(db, "SELECT ids_hold_time FROM users WHERE users.id = ?")
  const isTaken = `(is_reply <= ?4 AND is_repost <= ?5 AND created_at_ms >= ?6 AND created_at_ms < ?7
    AND NOT ${isSuperseded("posts.id")})`
  const scan = (shape: PostShape, order: "" | "DESC"): Statement<ScanRow> =>
    prepare(
      db,
      `SELECT ${columnsAs("posts", headColumns)}, ${isTaken} AS taken, CASE WHEN ${isTaken} THEN ${shape} END AS json,
         CASE WHEN ${isTaken} THEN ${shape}_checksum END AS checksum
       FROM posts WHERE author_id = ?1 AND posts.id > ?2 AND posts.id <= ?3 ORDER BY posts.id ${order} LIMIT ?8`,
    )
  // Reads the index alone, which names a post even when the post itself cannot be read.
  const firstId = (order: "" | "DESC"): Statement<{ readonly id: PostId }> =>
    prepare(
      db,
      `SELECT CAST (posts.id AS TEXT) AS id FROM posts INDEXED BY posts_of_author
       WHERE author_id = ?1 AND posts.id > ?2 AND posts.id <= ?3 ORDER BY posts.id ${order} LIMIT 1`,
    )
  const firstIds = { older: firstId("DESC"), newer: firstId("") }
  const scans = {
    core: { older: scan("core", "DESC"), newer: scan("core", "") },
    envelope: { older: scan("envelope", "DESC"), newer: scan("envelope", "") },
  }
  return {
    async userPosts(range) {
      const { userId, direction, shape, limit, scanMax, bytesMax } = range
      const statement = scans[shape][direction]
      const filter = scanFilterOf(range).map(Number)
      let { above, upTo } = idBoundsOf(range, user.get(BigInt(userId))?.ids_hold_time === 1)
      const posts: StoredPost[] = []
      const damaged: PostId[] = []
      let [scanned, bytes] = [0, 0]
      let last: PostId | undefined
      let fault: unknown
      const result = async (stoppedAt?: PostId): Promise<UserPostsScan> => ({
        damaged: direction === "newer" ? damaged.toReversed() : damaged,
        posts: direction === "newer" ? posts.toReversed() : posts,
        ...(stoppedAt !== undefined && { stoppedAt }),
        ...(fault !== undefined && { fault: faults === undefined ? fault : await faults.named(fault) }),
      })
      const goOnAfter = (id: PostId): void => {
        last = id
        if (direction === "newer") above = BigInt(id)
        else upTo = BigInt(id) - 1n
      }
      for (;;) {
        const chunkEnd = { scanned: scanned + chunkRowsMax, bytes: bytes + chunkBytesMax }
        let isChunkOver = false
        try {
          // One more than a chunk has, to know whether there are more.
          for (const row of statement.iterate(BigInt(userId), above, upTo, ...filter, chunkRowsMax + 1)) {
            if (posts.length === limit || scanned >= scanMax || bytes >= bytesMax) return result(last)
            isChunkOver = scanned === chunkEnd.scanned || bytes >= chunkEnd.bytes
            if (isChunkOver) break
            scanned += 1
            bytes += textBytes(row.json)
            last = row.id
            // The filter cannot judge a damaged post, so the post is named in any case.
            if (!isScanWhole(row)) damaged.push(row.id)
            else if (row.json !== null) posts.push({ id: row.id, json: row.json })
          }
          if (!isChunkOver || last === undefined) return result()
          goOnAfter(last)
        } catch (error) {
          if (!isReadFault(error)) throw error
          fault ??= error
          if (last !== undefined) goOnAfter(last)
          const unreadable = firstIds[direction].get(BigInt(userId), above, upTo)
          if (unreadable === undefined) throw error
          scanned += 1
          damaged.push(unreadable.id)
          goOnAfter(unreadable.id)
          // Unreadable rows are not returned, so the bound is checked here.
          if (scanned >= scanMax) return result(last)
        }
        await turns.next(readerOf.userPosts(range))
      }
    },

    isUserKnown: (id) => user.get(BigInt(id)) !== undefined,
  }
}

/** The reads of posts by id, of all users. */
export function createPostReads(
  db: DatabaseSync,
  { faults }: Pick<ReadContext, "faults">,
): Pick<SyncReads, "post" | "postsById" | "posts"> {
  const byId = prepare<PostRow>(db, `${selectPosts} WHERE posts.id = ?`)
  // CROSS keeps the order of the ids. To sort by it, SQLite would gather the texts of all of them first.
  const byIds = (shape: PostShape): Statement<PostRow> =>
    prepare(
      db,
      `SELECT CAST (posts.id AS TEXT) AS id, ${shape} AS json, ${shape}_checksum AS checksum
       FROM json_each(?) AS given CROSS JOIN posts ON posts.id = given.value`,
    )
  const byIdsOf = { core: byIds("core"), envelope: byIds("envelope") }
  const older = prepare<PostRow>(db, `${selectPosts} WHERE posts.id <= ? ORDER BY posts.id DESC LIMIT ?`)
  const newer = prepare<PostRow>(db, `${selectPosts} WHERE posts.id > ? ORDER BY posts.id LIMIT ?`)
  const isWhole = ({ id, json, checksum }: PostRow): boolean => textChecksum(id, json) === checksum
  return {
    post(id) {
      const row = byId.get(BigInt(id))
      if (row === undefined) return undefined
      if (!isWhole(row)) throw new RecordDamaged(`The post ${id} is not as it was stored.`)
      return { id: row.id, json: row.json }
    },

    async postsById({ ids, shape, bytesMax }) {
      const statement = byIdsOf[shape]
      const posts: StoredPost[] = []
      const damaged: PostId[] = []
      let bytes = 0
      let last: PostId | undefined
      let fault: unknown
      /** Takes the posts of these ids; returns whether the bytes end the read before another one. */
      const take = (some: readonly PostId[]): boolean => {
        for (const row of statement.iterate(`[${some.join(",")}]`)) {
          if (bytes >= bytesMax) return true
          last = row.id
          bytes += textBytes(row.json)
          if (isWhole(row)) posts.push({ id: row.id, json: row.json })
          else damaged.push(row.id)
        }
        return false
      }
      let isCut = false
      try {
        isCut = take(ids)
      } catch (error) {
        if (!isReadFault(error)) throw error
        fault = error
        // One by one, since a statement does not say which of its rows cannot be read.
        for (const id of ids.slice(last === undefined ? 0 : ids.indexOf(last) + 1)) {
          try {
            isCut = take([id])
          } catch (another) {
            if (!isReadFault(another)) throw another
            damaged.push(id)
            last = id
          }
          if (isCut) break
        }
      }
      return {
        posts,
        damaged,
        ...(isCut && last !== undefined && { stoppedAt: last }),
        ...(fault !== undefined && { fault: faults === undefined ? fault : await faults.named(fault) }),
      }
    },

    posts({ direction, from, limit, bytesMax }) {
      const isNewer = direction === "newer"
      const edge = idEdgeOf(direction, from)
      const rows: PostRow[] = []
      let [bytes, isCut] = [0, false]
      for (const row of (isNewer ? newer : older).iterate(edge, limit)) {
        isCut = bytes >= bytesMax
        if (isCut) break
        rows.push(row)
        bytes += textBytes(row.json)
      }
      const last = rows.at(-1)
      const ordered = isNewer ? rows.toReversed() : rows
      return {
        posts: ordered.filter(isWhole).map(({ id, json }) => ({ id, json })),
        damaged: ordered.filter((row) => !isWhole(row)).map(({ id }) => id),
        ...(isCut && last !== undefined && { stoppedAt: last.id }),
      }
    },
  }
}

/** The read of the newest posts. It takes its own turns, since it returns no promise. */
export function createRecentPosts(
  db: DatabaseSync,
  { turns, faults }: Pick<ReadContext, "turns" | "faults">,
): Pick<StoreReads, "recentPosts"> {
  const newest = prepare<PostRow>(db, `${selectPosts} WHERE posts.id <= ? ORDER BY posts.id DESC LIMIT ?`)
  const bytesOf = ({ json }: PostRow): number => textBytes(json)
  const read = (last: PostRow | undefined, rowsMax: number): Iterable<PostRow> =>
    newest.iterate(idEdgeOf("older", last?.id), rowsMax)
  async function* whole(limit: number, bytesMax: number): AsyncGenerator<StoredPost, void, void> {
    let [count, bytes] = [0, 0]
    for await (const row of inChunks({ turns, reader: serverItself }, read, bytesOf)) {
      if (textChecksum(row.id, row.json) === row.checksum) yield { id: row.id, json: row.json }
      count += 1
      bytes += bytesOf(row)
      if (count === limit || bytes >= bytesMax) return
    }
  }

  return {
    recentPosts({ limit, bytesMax }) {
      const posts = whole(limit, bytesMax)
      return faults === undefined ? posts : faults.namingRows(posts)
    },
  }
}

/**
 * Prepares the insertion of posts and the users that they show. It returns each post as it is stored, or `undefined` where
 * it is not new: of those with one id, stored or not, only the first is, and of what is deleted none. The caller counts the new ones in `totals`, in the same transaction.
 */
export function prepareInsertPosts(
  db: DatabaseSync,
): (posts: readonly AcceptedPost[]) => readonly (AcceptedPost | undefined)[] {
  const deletedOf = prepareDeletedOf(db)
  const noteShown = prepareNoteShown(db)
  // STRICT tables take no bytes for text, and a cast of bytes to text does not copy them.
  const insert = prepare(
    db,
    `INSERT OR IGNORE INTO posts (id, author_id, created_at_ms, is_reply, is_repost, core, envelope,
       head_checksum, core_checksum, envelope_checksum, arrival)
     VALUES (?, ?, ?, ?, ?, CAST (? AS TEXT), CAST (? AS TEXT), ?, ?, ?, ?)`,
  )
  const insertUsers = prepare(db, "INSERT OR IGNORE INTO users (id) SELECT value FROM json_each(?)")
  const saveUsers = prepareSaveUsers(db)
  const saveChains = prepareSaveChains(db)
  const noteOtherIds = prepare(db, "UPDATE users SET ids_hold_time = 0 WHERE id = ? AND ids_hold_time = 1")
  // Not the greatest arrival of the posts: with the newest post, retention would delete it, and the number would come again.
  const accepted = prepare<{ posts: number }>(db, "SELECT posts_accepted AS posts FROM totals")

  function insertPost({ id, authorId, createdAtMs, core, envelope, ...kind }: AcceptedPost, arrival: number): boolean {
    const [isReply, isRepost] = [kind.isReply ? 1 : 0, kind.isRepost ? 1 : 0]
    const inserted = insert.run(
      BigInt(id),
      authorId === undefined ? null : BigInt(authorId),
      createdAtMs,
      isReply,
      isRepost,
      core,
      envelope,
      headChecksum(id, { authorId: authorId ?? null, createdAtMs, isReply, isRepost }),
      bytesChecksum(id, core),
      bytesChecksum(id, envelope),
      arrival,
    )
    return inserted === 1
  }

  return (given) => {
    const deleted = deletedOf(given)
    const posts = deleted === undefined ? given : given.map((post) => withoutDeleted(post, deleted))
    let arrived = accepted.get()?.posts ?? 0
    const stored = posts.map((post) => {
      if (post === undefined || !insertPost(post, arrived + 1)) return undefined
      arrived += 1
      noteShown(post)
      return post
    })
    const newPosts = stored.filter((post) => post !== undefined)
    const users = new Set<UserId>()
    const withOtherIds = new Set<UserId>()
    for (const { id, authorId, createdAtMs, userIds } of newPosts) {
      for (const userId of userIds) users.add(userId)
      if (authorId !== undefined && !holdsTime(id, createdAtMs)) withOtherIds.add(authorId)
    }
    // Most are known, and most of a batch stand in it several times: one statement for all, each once.
    if (users.size > 0) insertUsers.run(`[${[...users].join(",")}]`)
    for (const userId of withOtherIds) noteOtherIds.run(BigInt(userId))
    saveUsers(newPosts)
    saveChains(newPosts)
    return stored
  }
}

function isScanWhole({ taken, json, ...row }: ScanRow): boolean {
  const isTextWhole = taken === 0 || textChecksum(row.id, json) === row.checksum
  return isTextWhole && headChecksum(row.id, row) === row.headChecksum
}
