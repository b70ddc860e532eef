/**
 * Posts in the order in which they arrived.
 *
 * A post's `arrival` says how many posts had been accepted with it. One connection writes, so commits are in that order
 * too. Posts from before arrivals were numbered have 0, and come before all others, by id. The number has no checksum: a
 * flipped bit in it can only have a reader miss or repeat a post, and the audit finds it in the index.
 */
import type { DatabaseSync } from "node:sqlite"
import type { PostId } from "../../../model/ids.ts"
import type { StoredPost } from "../../../model/post.ts"
import { idEnds } from "../../id-bounds.ts"
import type { ArrivalReads } from "../../port/arrival-store.ts"
import { serverItself } from "../../readers.ts"
import { numbersOf, positionOf } from "../../rows/arrival.ts"
import { isReadFault } from "../../store-faults.ts"
import { textChecksum } from "../connection/checksums.ts"
import { chunkBytesMax, chunkRowsMax, textBytes, upToBytes } from "../connection/row-chunks.ts"
import { prepare } from "../connection/statements.ts"
import type { ReadContext, SyncReads } from "../serving/sync-store.ts"

interface Place {
  /** Digits: a damaged number may fit no double. */
  readonly arrival: string
  readonly id: PostId
}

interface ArrivedRow extends Place {
  /** Absent, as its checksum, for a post that cannot be read. */
  readonly json: string | null
  readonly checksum: number | null
}

const place = "CAST (arrival AS TEXT) AS arrival, CAST (id AS TEXT) AS id"
const inOrder = "FROM posts INDEXED BY posts_by_arrival"

/** The numbers before every place. */
const first = ["0", String(idEnds.below)]

/** The numbers after every place. */
const last = [String(idEnds.above), String(idEnds.above)]

/** The reads of posts in the order in which they arrived. */
export function createArrivalReads(db: DatabaseSync, { turns }: Pick<ReadContext, "turns">): SyncReads<ArrivalReads> {
  const next = prepareNext<ArrivedRow>(db, `${place}, envelope AS json, envelope_checksum AS checksum`)
  // Reads the index alone, which names a post even when the post itself cannot be read.
  const nextPlace = prepareNext<Place>(db, place)
  const previousPlace = preparePrevious<Place>(db, place)
  const newest = prepare<Place>(db, `SELECT ${place} ${inOrder} ORDER BY posts.arrival DESC, posts.id DESC LIMIT 1`)

  /** The next rows, up to one that cannot be read. */
  function* rowsAfter(after: readonly bigint[], limit: number): Iterable<ArrivedRow> {
    let reached = after
    try {
      for (const row of next(after, limit)) {
        yield row
        reached = [BigInt(row.arrival), BigInt(row.id)]
      }
    } catch (error) {
      const [unreadable] = isReadFault(error) ? nextPlace(reached, 1) : []
      if (unreadable === undefined) throw error
      yield { ...unreadable, json: null, checksum: null }
    }
  }

  return {
    async arrivedPosts({ after: begin, limit, bytesMax }) {
      const posts: StoredPost[] = []
      const damaged: PostId[] = []
      let position = begin
      let [count, bytes] = [0, 0]
      for (;;) {
        const rowsMax = Math.min(chunkRowsMax, limit - count)
        const chunk = rowsAfter(numbersOf(position, first).map(BigInt), rowsMax)
        const { rows, isCut } = upToBytes(chunk, bytesOf, Math.min(chunkBytesMax, bytesMax - bytes))
        for (const { arrival, id, json, checksum } of rows) {
          if (json !== null && textChecksum(id, json) === checksum) posts.push({ id, json })
          else damaged.push(id)
          position = positionOf(arrival, id)
        }
        count += rows.length
        bytes += rows.reduce((sum, row) => sum + bytesOf(row), 0)
        const isOver = count === limit || bytes >= bytesMax || (!isCut && rows.length < rowsMax)
        if (isOver) return { posts, damaged, ...(count > 0 && position !== undefined && { position }) }
        await turns.next(serverItself)
      }
    },

    arrivalHead() {
      const row = newest.get()
      return row && positionOf(row.arrival, row.id)
    },

    arrivalPlaces({ direction, from, limit }) {
      const rows =
        direction === "newer"
          ? nextPlace(numbersOf(from, first).map(BigInt), limit)
          : previousPlace(numbersOf(from, last).map(BigInt), limit)
      return Array.from(rows, ({ arrival, id }) => ({ id, position: positionOf(arrival, id) }))
    },
  }
}

/** Prepares the read of rows after a place. One comparison of both numbers would read all posts that have arrival 0. */
function prepareNext<Row>(
  db: DatabaseSync,
  columns: string,
): (after: readonly bigint[], limit: number) => Iterable<Row> {
  const select = `SELECT ${columns} ${inOrder}`
  const same = prepare<Row>(db, `${select} WHERE posts.arrival = ?1 AND posts.id > ?2 ORDER BY posts.id LIMIT ?3`)
  const later = prepare<Row>(db, `${select} WHERE posts.arrival > ?1 ORDER BY posts.arrival, posts.id LIMIT ?2`)
  return function* ([arrival = 0n, id = 0n], limit) {
    let count = 0
    for (const row of same.iterate(arrival, id, limit)) {
      yield row
      count += 1
    }
    if (count < limit) yield* later.iterate(arrival, limit - count)
  }
}

/** As `prepareNext`, of rows before a place, the newest first. */
function preparePrevious<Row>(
  db: DatabaseSync,
  columns: string,
): (before: readonly bigint[], limit: number) => Iterable<Row> {
  const select = `SELECT ${columns} ${inOrder}`
  const same = prepare<Row>(db, `${select} WHERE posts.arrival = ?1 AND posts.id < ?2 ORDER BY posts.id DESC LIMIT ?3`)
  const earlier = prepare<Row>(
    db,
    `${select} WHERE posts.arrival < ?1 ORDER BY posts.arrival DESC, posts.id DESC LIMIT ?2`,
  )
  return function* ([arrival = 0n, id = 0n], limit) {
    let count = 0
    for (const row of same.iterate(arrival, id, limit)) {
      yield row
      count += 1
    }
    if (count < limit) yield* earlier.iterate(arrival, limit - count)
  }
}

function bytesOf({ json }: ArrivedRow): number {
  return textBytes(json)
}
