/**
 * The versions of edited posts. A history of a post is rows under its first id, so histories that come in any order make the
 * same rows. A post of one version has none: each statement ends at an index that does not have its id.
 */
import type { PostId } from "../../../model/ids.ts"
import type { AcceptedPost } from "../../../model/post.ts"
import type { EditReads } from "../../port/edit-store.ts"
import { chainRowsMax, chainsOfRows, versionRows, type ChainRow } from "../../rows/edit-chain.ts"
import { columnsOf } from "../../rows/record.ts"
import type { Queries, WriteTransaction } from "../connection/database.ts"

/**
 * SQL: whether a newer version of the post with this id is stored. A limit keeps the look into the posts one by one: without
 * statistics the database might read all of them.
 */
export function isSuperseded(id: string): string {
  return `EXISTS (
    SELECT 1 FROM edit_versions AS own JOIN edit_versions AS newer ON newer.first_id = own.first_id
    WHERE own.id = ${id} AND newer.id > ${id} AND ${isStored("newer.id")} LIMIT 1)`
}

function isStored(id: string): string {
  return `(SELECT true FROM posts AS stored WHERE stored.id = ${id} LIMIT 1)`
}

/** The reads of versions. */
export function createEditReads(queries: Queries): EditReads {
  return {
    async chainsOf(ids) {
      const rows = await queries.rows<ChainRow>(
        `SELECT DISTINCT own.id AS "askedId", version.id FROM edit_versions AS own
         JOIN edit_versions AS version ON version.first_id = own.first_id
         WHERE own.id = ANY ($1::bigint[]) ORDER BY own.id, version.id LIMIT $2`,
        ids,
        chainRowsMax,
      )
      return chainsOfRows(rows)
    },

    async supersededOf(ids) {
      const rows = await queries.rows<{ readonly id: PostId }>(
        `SELECT DISTINCT edit_versions.id FROM edit_versions
         WHERE edit_versions.id = ANY ($1::bigint[]) AND ${isSuperseded("edit_versions.id")}`,
        ids,
      )
      return new Set(rows.map(({ id }) => id))
    },

    async supersededWithin({ above, upTo, limit }) {
      const rows = await queries.rows<{ readonly id: PostId }>(
        `SELECT DISTINCT edit_versions.id FROM edit_versions
         WHERE edit_versions.id > $1 AND edit_versions.id <= $2 AND ${isStored("edit_versions.id")}
           AND ${isSuperseded("edit_versions.id")}
         ORDER BY edit_versions.id LIMIT $3`,
        String(above),
        String(upTo),
        limit,
      )
      return rows.map(({ id }) => id)
    },
  }
}

/** Inserts the chains that posts name; nothing for posts of one version. */
export async function saveChains(
  transaction: WriteTransaction,
  posts: Iterable<Pick<AcceptedPost, "chain">>,
): Promise<void> {
  const rows = versionRows(posts)
  if (rows.length === 0) return
  await transaction.run(
    `INSERT INTO edit_versions (first_id, id)
     SELECT * FROM unnest($1::bigint[], $2::bigint[]) AS given (first_id, id) ORDER BY first_id, id
     ON CONFLICT DO NOTHING`,
    ...columnsOf(rows, ["firstId", "id"]),
  )
}

/** Deletes the chains of deleted posts of which no version is stored any more. */
export async function forgetChains(transaction: WriteTransaction, deleted: readonly PostId[]): Promise<void> {
  await transaction.run(forgetSql("id = ANY ($1::bigint[])"), deleted)
}

/** The same for the posts of a range of ids, the end exclusive, all of which are deleted. */
export async function forgetChainsWithin(transaction: WriteTransaction, from: string, to: string): Promise<void> {
  await transaction.run(forgetSql("id >= $1 AND id < $2"), from, to)
}

function forgetSql(deleted: string): string {
  return `DELETE FROM edit_versions WHERE first_id IN (SELECT first_id FROM edit_versions WHERE ${deleted})
    AND NOT EXISTS (
      SELECT 1 FROM edit_versions AS other
      WHERE other.first_id = edit_versions.first_id AND ${isStored("other.id")} LIMIT 1)`
}
