/**
 * Posts in the order in which they arrived.
 *
 *     era of the database ─► transaction ─► place in the batch ─► id        all of them columns of the post
 *
 * Several processes append at once, and their transactions commit in any order. So a reader stops before the oldest
 * transaction of this database that is still running: what it has read is complete, and nothing comes before it later.
 * Why so, and not by a lock as for matches, is in docs/decisions/order-of-arrival.md.
 *
 * A database that was restored into another server has transaction ids of another counter. So posts have the era of the
 * database too: how often the store was found in another database (`connection/adopted-database.ts`). All transactions of
 * earlier eras have ended.
 */
import type { PostId } from "../../../model/ids.ts"
import { idEnds } from "../connection/keyset.ts"
import type { ArrivalReads } from "../../port/arrival-store.ts"
import { numbersOf, positionOf } from "../../rows/arrival.ts"
import type { Queries } from "../connection/database.ts"

/** SQL: the era of the database. */
export const currentEra = "coalesce((SELECT max(era) FROM database_identity), 0)"

/** SQL: the columns by which posts are in order, and those of a row as `PlaceRow`. */
const place = "arrival_era, arrival_xid, arrival, id"
const placeColumns = `arrival_era AS "era", arrival_xid AS "xid", arrival, id`

/**
 * SQL: the oldest transaction that may still store posts. The snapshot has those of all databases, and a long one of
 * another database must hold up nothing. One that has just ended has no backend any more, and counts as one of this.
 */
const oldestRunning = `(
  SELECT coalesce(min(running), pg_snapshot_xmax(pg_current_snapshot()))
  FROM pg_snapshot_xip(pg_current_snapshot()) AS running
  WHERE NOT EXISTS (
    SELECT 1 FROM pg_stat_get_activity(NULL) WHERE backend_xid = running::xid
      AND datid <> (SELECT oid FROM pg_database WHERE datname = current_database())))`

/** SQL of a condition: the post's transaction has ended, and so have all before it. A bound of the index, not a filter. */
const isSettled = `(arrival_era, arrival_xid) < (${currentEra}, ${oldestRunning})`

function arrivedSql(condition: string): string {
  return `
    SELECT era, xid, arrival, id, json FROM (
      SELECT *, sum(octet_length(json))
        OVER (ORDER BY era, xid, arrival, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes
      FROM (
        SELECT ${placeColumns}, envelope AS json FROM posts
        WHERE (${place}) > ($1::integer, $2::xid8, $3::bigint, $4::bigint) AND ${condition}
        ORDER BY ${place} LIMIT $5) AS next) AS sized
    WHERE bytes IS NULL OR bytes < $6 ORDER BY era, xid, arrival, id`
}

const settledSql = arrivedSql(isSettled)
const allSql = arrivedSql("true")

const headSql = `
  SELECT ${placeColumns} FROM posts WHERE ${isSettled}
  ORDER BY arrival_era DESC, arrival_xid DESC, arrival DESC, id DESC LIMIT 1`

function placesSql(direction: "newer" | "older", hasFrom: boolean): string {
  const [side, order] = direction === "newer" ? [">", "ASC"] : ["<", "DESC"]
  const from = hasFrom ? `AND (${place}) ${side} ($2::integer, $3::xid8, $4::bigint, $5::bigint)` : ""
  return `SELECT ${placeColumns} FROM posts WHERE ${isSettled} ${from}
    ORDER BY ${place.replaceAll(/\w+/g, `$& ${order}`)} LIMIT $1`
}

interface PlaceRow {
  readonly era: number
  /** Digits. */
  readonly xid: string
  readonly arrival: number
  readonly id: PostId
}

/** The numbers before every place. */
const first = ["0", "0", "0", idEnds.below]

/** The reads of posts in the order in which they arrived. */
export function createArrivalReads(queries: Queries): ArrivalReads {
  return {
    async arrivedPosts({ after, limit, bytesMax, includeUnsettled = false }) {
      const rows = await queries.rows<PlaceRow & { readonly json: string }>(
        includeUnsettled ? allSql : settledSql,
        ...numbersOf(after, first),
        limit,
        bytesMax,
      )
      const last = rows.at(-1)
      return {
        posts: rows.map(({ id, json }) => ({ id, json })),
        damaged: [],
        ...(last !== undefined && { position: positionOfRow(last) }),
      }
    },

    async arrivalHead() {
      const row = await queries.row<PlaceRow>(headSql)
      return row && positionOfRow(row)
    },

    async arrivalPlaces({ direction, from, limit }) {
      const numbers = from === undefined ? [] : numbersOf(from, first)
      const rows = await queries.rows<PlaceRow>(placesSql(direction, from !== undefined), limit, ...numbers)
      return rows.map((row) => ({ id: row.id, position: positionOfRow(row) }))
    },
  }
}

function positionOfRow({ era, xid, arrival, id }: PlaceRow) {
  return positionOf(era, xid, arrival, id)
}
