/**
 * The versions of edited posts. A history of a post is rows under its first id, so histories that come in any order make the
 * same rows. A post of one version has none: each statement ends at an index that does not have its id.
 */
import type { DatabaseSync } from "node:sqlite"
import type { PostId } from "../../../model/ids.ts"
import type { AcceptedPost } from "../../../model/post.ts"
import type { EditReads } from "../../port/edit-store.ts"
import { chainRowsMax, chainsOfRows, versionRows, type ChainRow } from "../../rows/edit-chain.ts"
import { prepare } from "../connection/statements.ts"
import type { SyncReads } from "../serving/sync-store.ts"

/** SQL: whether a newer version of the post with this id is stored. */
export function isSuperseded(id: string): string {
  return `EXISTS (
    SELECT 1 FROM edit_versions AS own CROSS JOIN edit_versions AS newer CROSS JOIN posts AS stored
    WHERE own.id = ${id} AND newer.first_id = own.first_id AND newer.id > ${id} AND stored.id = newer.id)`
}

/** The reads of versions. */
export function createEditReads(db: DatabaseSync): SyncReads<EditReads> {
  const chains = prepare<ChainRow>(
    db,
    `SELECT DISTINCT CAST (own.id AS TEXT) AS askedId, CAST (version.id AS TEXT) AS id
     FROM json_each(?) AS given CROSS JOIN edit_versions AS own ON own.id = given.value
     CROSS JOIN edit_versions AS version ON version.first_id = own.first_id
     ORDER BY own.id, version.id LIMIT ?`,
  )
  const superseded = prepare<{ readonly id: PostId }>(
    db,
    `SELECT CAST (given.value AS TEXT) AS id FROM json_each(?) AS given WHERE ${isSuperseded("given.value")}`,
  )
  const within = prepare<{ readonly id: PostId }>(
    db,
    `SELECT DISTINCT CAST (edit_versions.id AS TEXT) AS id
     FROM edit_versions INDEXED BY edit_versions_by_id CROSS JOIN posts ON posts.id = edit_versions.id
     WHERE edit_versions.id > ?1 AND edit_versions.id <= ?2 AND ${isSuperseded("edit_versions.id")}
     ORDER BY edit_versions.id LIMIT ?3`,
  )
  return {
    chainsOf: (ids) => chainsOfRows(chains.all(`[${ids.join(",")}]`, chainRowsMax)),
    supersededOf: (ids) => new Set(superseded.all(`[${ids.join(",")}]`).map(({ id }) => id)),
    supersededWithin: ({ above, upTo, limit }) => within.all(above, upTo, limit).map(({ id }) => id),
  }
}

/** Prepares the insertion of the chains that posts name. */
export function prepareSaveChains(db: DatabaseSync): (posts: Iterable<Pick<AcceptedPost, "chain">>) => void {
  const insert = prepare(db, "INSERT OR IGNORE INTO edit_versions (first_id, id) VALUES (?, ?)")
  return (posts) => {
    for (const { firstId, id } of versionRows(posts)) insert.run(BigInt(firstId), BigInt(id))
  }
}

/** Prepares the deletion of the chains of deleted posts of which no version is stored any more. */
export function prepareForgetChains(db: DatabaseSync): (deleted: readonly PostId[]) => void {
  const forget = prepare(
    db,
    `DELETE FROM edit_versions WHERE first_id IN (
       SELECT own.first_id FROM json_each(?) AS given CROSS JOIN edit_versions AS own ON own.id = given.value)
     AND NOT EXISTS (
       SELECT 1 FROM edit_versions AS other CROSS JOIN posts ON posts.id = other.id
       WHERE other.first_id = edit_versions.first_id)`,
  )
  return (deleted) => {
    if (deleted.length > 0) forget.run(`[${deleted.join(",")}]`)
  }
}
