/** Users as they came last with posts. */
import type { PostId, UserId } from "../../../model/ids.ts"
import { saveChains } from "./edits.ts"
import { takeShown } from "./deletions.ts"
import { idEdgeOf } from "../../id-bounds.ts"
import {
  newestUsers,
  usersToWrite,
  wordChanges,
  type SeenUser,
  type StoredSight,
  type UserRow,
  type UserBearer,
} from "../../ledger/user-changes.ts"
import type { FoundUser, UserReads, UserWrites } from "../../port/user-store.ts"
import { columnsOf } from "../../rows/record.ts"
import { foundUser, prefixEnd, wordsScanOf, type UserObjectRow, type WordRow } from "../../rows/user.ts"
import {
  columnsAs,
  type ClusterDatabase,
  type Queries,
  type WriteTransaction,
  type WriteContext,
} from "../connection/database.ts"
import { textArray } from "../connection/text-array.ts"

const selected = columnsAs("user_objects", "id, username, object")

/** SQL: whether no other user was seen with the username later. */
const isOwner = `NOT EXISTS (
  SELECT 1 FROM user_objects AS later WHERE later.username = user_objects.username
    AND (later.seen_at_ms, later.id) > (user_objects.seen_at_ms, user_objects.id))`

/** The reads of users. */
export function createUserReads(queries: Queries): UserReads {
  const find = async (condition: string, ...values: Parameters<Queries["rows"]>[1][]): Promise<readonly FoundUser[]> =>
    (await queries.rows<UserObjectRow>(`SELECT ${selected} FROM user_objects WHERE ${condition}`, ...values)).map(
      (row) => foundUser(row),
    )
  return {
    usersById: (ids) => find("id = ANY ($1::bigint[])", ids),
    usersByName: (usernames) => find(`username = ANY ($1::text[]) AND ${isOwner}`, usernames),
    usersByPrefix({ prefix, after, limit }) {
      const condition = `username ${after === undefined ? ">=" : ">"} $1 AND username < $2 AND ${isOwner}
        ORDER BY username LIMIT $3`
      return find(condition, after ?? prefix, prefixEnd(prefix), limit)
    },
    async usersByWords({ words: [first = "", ...others], below, limit, scanMax }) {
      const rows = await queries.rows<WordRow>(
        `SELECT found.user_id AS id, (
           SELECT count(*) FROM user_words AS other
           WHERE other.word = ANY ($2::text[]) AND other.user_id = found.user_id) AS words
         FROM user_words AS found WHERE found.word = $1 AND found.user_id <= $3 ORDER BY found.user_id DESC LIMIT $4`,
        first,
        others,
        String(idEdgeOf("older", below)),
        scanMax,
      )
      const { ids, ...scan } = wordsScanOf(rows, { others: others.length, limit, scanMax })
      return { users: await find("id = ANY ($1::bigint[]) ORDER BY id DESC", ids), ...scan }
    },
    async userFill() {
      return (await queries.row<{ upToId: PostId }>(`SELECT up_to AS "upToId" FROM user_fill`))?.upToId
    },
  }
}

/** Changes what is kept of users to what came with new posts. */
export async function saveUsers(transaction: WriteTransaction, posts: Iterable<UserBearer>): Promise<void> {
  const seen = newestUsers(posts)
  if (seen.size === 0) return
  // Most are as they are stored, so this is all that a batch costs, and it locks no row.
  const sights = await transaction.rows<StoredSight>(
    `SELECT ${columnsAs("user_objects", "id, seen_at_ms, fingerprint")} FROM user_objects
     WHERE id = ANY ($1::bigint[])`,
    [...seen.keys()],
  )
  const changed = new Map<UserId, SeenUser>()
  for (const { id } of usersToWrite(seen, sights)) {
    const user = seen.get(id)
    if (user !== undefined) changed.set(id, user)
  }
  if (changed.size > 0) await replaceUsers(transaction, changed)
}

/** Decides again under the locks of the rows: another process may have changed them meanwhile. */
async function replaceUsers(transaction: WriteTransaction, seen: ReadonlyMap<UserId, SeenUser>): Promise<void> {
  const stored = await transaction.rows<StoredSight & { readonly object: string }>(
    `SELECT ${columnsAs("user_objects", "id, seen_at_ms, fingerprint, object")} FROM user_objects
     WHERE id = ANY ($1::bigint[]) ORDER BY id FOR NO KEY UPDATE`,
    [...seen.keys()],
  )
  const rows = usersToWrite(seen, stored)
  if (rows.length === 0) return
  // A row that another process has inserted meanwhile stays when it is newer.
  await transaction.run(
    `INSERT INTO user_objects (id, username, seen_at_ms, fingerprint, object)
     SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::text[])
       AS given (id, username, seen_at_ms, fingerprint, object)
     ORDER BY given.id
     ON CONFLICT (id) DO UPDATE SET username = excluded.username, seen_at_ms = excluded.seen_at_ms,
       fingerprint = excluded.fingerprint, object = excluded.object
     WHERE user_objects.seen_at_ms <= excluded.seen_at_ms`,
    ...columnsOf(rows, ["id", "username", "seenAtMs", "fingerprint"]),
    textArray(rows.map(({ object }) => object)),
  )
  await replaceWords(transaction, rows, new Map(stored.map(({ id, object }) => [id, object])))
}

async function replaceWords(
  transaction: WriteTransaction,
  rows: readonly UserRow[],
  before: ReadonlyMap<UserId, string>,
): Promise<void> {
  const changes = rows
    .filter(({ isChanged }) => isChanged)
    .map(({ id, object }) => ({ id, ...wordChanges(before.get(id), object) }))
  const removed = changes.flatMap(({ id, removed: words }) => words.map((word) => ({ word, id })))
  const added = changes.flatMap(({ id, added: words }) => words.map((word) => ({ word, id })))
  const given = "unnest($1::text[], $2::bigint[]) AS given (word, user_id)"
  if (removed.length > 0) {
    await transaction.run(
      `DELETE FROM user_words USING ${given} WHERE user_words.word = given.word AND user_words.user_id = given.user_id`,
      ...columnsOf(removed, ["word", "id"]),
    )
  }
  if (added.length > 0) {
    await transaction.run(
      `INSERT INTO user_words (word, user_id) SELECT * FROM ${given} ORDER BY user_id, word ON CONFLICT DO NOTHING`,
      ...columnsOf(added, ["word", "id"]),
    )
  }
}

/** The writes of users. */
export function createUserWrites(database: ClusterDatabase, { clock }: WriteContext): UserWrites {
  return {
    takeUsers: (posts, upTo) =>
      database.write(async (transaction) => {
        const kept = await takeShown(transaction, posts, clock.nowMs())
        await saveUsers(transaction, kept)
        await saveChains(transaction, kept)
        if (upTo === undefined) await transaction.run("DELETE FROM user_fill")
        // Another process may be further.
        else await transaction.run("UPDATE user_fill SET up_to = $1 WHERE up_to > $1", upTo)
      }),
  }
}
