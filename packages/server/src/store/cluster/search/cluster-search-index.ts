/**
 * The search index of the PostgreSQL store: tables of the same database.
 *
 *     search_indexes      for each version of the terms: position
 *     search_partitions   where each partition of a version begins, and how many posts it has
 *     search_<version>_<id>   a partition: id, terms as `tsvector`, with a GIN index
 *
 * One process at a time fills it, and all search it. A process that fills it while another one still does finds that the
 * position is not the one that its step begins with, and adds nothing. A program with terms of another version has an index
 * of its own, and drops those of earlier versions when it begins; processes of the earlier program go on without one.
 *
 * Commits do not wait for the disk (`synchronous_commit=off`): a crash may lose the last of them, the position with the posts, and
 * the index is filled from there. Each partition is a table of its own and no partition of a common one: one statement over
 * all of them would be planned for all of them, and to make and to drop one locks no other.
 */
import { cutTerm, type IndexQuery } from "@sluice/rules"
import pg from "pg"
import type { PostId } from "../../../model/ids.ts"
import { idEnds } from "../../id-bounds.ts"
import type { ArrivalPosition } from "../../port/arrival-store.ts"
import type { IndexedPost, IndexStep, SearchIndex, SearchIndexSettings, SearchRange } from "../../search-index.ts"
import {
  groupByPartition,
  partitionPostsMin,
  partitionsWithin,
  placePosts,
  type PlacedPosts,
  type SearchPartition,
} from "../../search-partitions.ts"
import { tokenQuery } from "../../search-query.ts"
import { tokenOf } from "../../search-terms.ts"
import { IndexMoved, StoreUnavailable } from "../../store-faults.ts"
import { ClusterDatabase, type Queries, type SqlValue, type WriteTransaction } from "../connection/database.ts"
import type { ClusterSettings } from "../connection/connections.ts"
import { textArray } from "../connection/text-array.ts"
import { textSearchQuery } from "./text-search-query.ts"

/** Most posts that one statement removes. Ours. */
const removedAtOnceMax = 5_000

/**
 * Numbers of posts at which the statistics of a partition are taken. Without them PostgreSQL cannot tell a frequent term from a
 * rare one, and autovacuum comes to a new table minutes later. Ours: each time takes a tenth of a second.
 */
const analysedAt = [1_000, 10_000, 100_000]

/** SQLSTATE: a table that is not there. */
const undefinedTable = "42P01"

/** Opens the index in the database of a store, and drops those of earlier versions. Throws the faults of a store. */
export async function openClusterSearchIndex(
  settings: ClusterSettings,
  indexSettings: SearchIndexSettings,
): Promise<ClusterSearchIndex> {
  const index = new ClusterSearchIndex(new ClusterDatabase(settings, () => undefined), indexSettings)
  try {
    await index.dropEarlier()
    return index
  } catch (error) {
    await index[Symbol.asyncDispose]()
    throw error
  }
}

class ClusterSearchIndex implements SearchIndex {
  readonly #database: ClusterDatabase
  readonly #version: number
  readonly #postsMin: number

  constructor(
    database: ClusterDatabase,
    { termsVersion, partitionPostsMin: postsMin = partitionPostsMin }: SearchIndexSettings,
  ) {
    this.#database = database
    this.#version = termsVersion
    this.#postsMin = postsMin
  }

  /** Gives up all connections, which are lost without notice. */
  reconnect(): void {
    this.#database.reconnect()
  }

  async dropEarlier(): Promise<void> {
    const earlier = await this.#database.rows<{ version: number }>(
      "SELECT terms_version AS version FROM search_indexes WHERE terms_version < $1",
      this.#version,
    )
    for (const { version } of earlier) {
      await this.#empty(version)
      await this.#database.run("DELETE FROM search_indexes WHERE terms_version = $1", version)
    }
  }

  async position(): Promise<ArrivalPosition | undefined> {
    return (await readPosition(this.#database, this.#version)) ?? undefined
  }

  async add(posts: readonly IndexedPost[], { after, position }: IndexStep): Promise<void> {
    await this.#database.write(async (transaction) => {
      await transaction.script("SET LOCAL synchronous_commit = off")
      const current = await lockIndex(transaction, this.#version)
      if ((current ?? undefined) !== after) throw new IndexMoved("The search index is not where the step begins.")
      const partitions = await this.#partitions(transaction)
      for (const placed of placePosts(partitions, posts, this.#postsMin)) await this.#addTo(transaction, placed)
      await transaction.run("UPDATE search_indexes SET position = $2 WHERE terms_version = $1", this.#version, position)
    })
  }

  async find(query: IndexQuery, range: SearchRange): Promise<readonly PostId[]> {
    const { above, upTo, direction } = range
    const found: PostId[] = []
    for (const { from } of partitionsWithin(await this.#searchedPartitions(), range)) {
      if (found.length === range.limit) break
      const ids = await this.#search<{ id: PostId }>(query, ({ condition, parameters }) => ({
        sql: `SELECT id FROM ${this.#tableOf(from)} WHERE ${condition} AND id > $1 AND id <= $2
          ORDER BY id ${direction === "older" ? "DESC" : "ASC"} LIMIT $3`,
        values: [String(above), String(upTo), range.limit - found.length, ...parameters],
      }))
      for (const { id } of ids) found.push(id)
    }
    return found
  }

  async count(query: IndexQuery, edges: readonly bigint[]): Promise<readonly number[]> {
    const counts = Array.from({ length: Math.max(0, edges.length - 1) }, () => 0)
    const [first = 0n, last = 0n] = [edges[0], edges.at(-1)]
    const within = { above: first - 1n, upTo: last - 1n, direction: "newer" } as const
    for (const { from } of partitionsWithin(await this.#searchedPartitions(), within)) {
      const buckets = await this.#search<{ bucket: number; count: number }>(query, ({ condition, parameters }) => ({
        sql: `SELECT width_bucket(id, $3::bigint[]) AS bucket, count(*) AS count FROM ${this.#tableOf(from)}
          WHERE ${condition} AND id >= $1 AND id < $2 GROUP BY 1`,
        values: [String(first), String(last), edges.map(String), ...parameters],
      }))
      for (const { bucket, count } of buckets) counts[bucket - 1] = (counts[bucket - 1] ?? 0) + count
    }
    return counts
  }

  async hasCutPosts({ above, upTo }: Pick<SearchRange, "above" | "upTo">): Promise<boolean> {
    const end = upTo < idEnds.above ? upTo + 1n : upTo
    // A count: for the first of posts that are not there, PostgreSQL would read all of the range in the order of their ids.
    const [cut] = await this.count({ kind: "term", term: cutTerm }, [above + 1n, end])
    return cut !== 0
  }

  async replace(posts: readonly IndexedPost[]): Promise<void> {
    const byId = new Map(posts.map((post) => [post.id, post]))
    await this.#database.write(async (transaction) => {
      await lockIndex(transaction, this.#version)
      for (const [from, ids] of groupByPartition(await this.#partitions(transaction), [...byId.keys()])) {
        const table = this.#tableOf(from)
        await transaction.rowsOnce(
          `UPDATE ${table} SET terms = array_to_tsvector(string_to_array(tokens, ' '))
           FROM unnest($1::bigint[], $2::text[]) AS given (id, tokens) WHERE ${table}.id = given.id`,
          ids,
          textArray(ids.map((id) => (byId.get(id)?.terms ?? []).map(tokenOf).join(" "))),
        )
      }
    })
  }

  /** PostgreSQL frees the space of deleted rows by itself. */
  async eraseRemoved(): Promise<void> {}

  async compact(): Promise<boolean> {
    return false
  }

  async remove(ids: readonly PostId[]): Promise<void> {
    for (const [from, group] of groupByPartition(await this.#partitions(), ids)) {
      await this.#removeFrom(from, "id = ANY ($1::bigint[])", group)
    }
  }

  async removeBelow(id: bigint): Promise<void> {
    for (const { from, lastId } of await this.#partitions()) {
      if (lastId < id) await this.#drop(this.#version, from)
    }
    for (const { from } of partitionsWithin(await this.#partitions(), {
      above: -1n,
      upTo: id - 1n,
      direction: "newer",
    })) {
      const old = `id IN (SELECT id FROM ${this.#tableOf(from)} WHERE id < $1 ORDER BY id LIMIT ${removedAtOnceMax})`
      while ((await this.#removeFrom(from, old, String(id))) > 0);
    }
  }

  async clear(): Promise<void> {
    await this.#empty(this.#version)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#database[Symbol.asyncDispose]()
  }

  /** In the order of their ids. */
  async #partitions(queries: Queries = this.#database): Promise<readonly SearchPartition[]> {
    return partitionsOf(queries, this.#version)
  }

  #searchedPartitions(): Promise<readonly SearchPartition[]> {
    return partitionsOf(this.#database, this.#version, { areSearched: true })
  }

  #tableOf(from: bigint): string {
    return tableOf(this.#version, from)
  }

  async #addTo(transaction: WriteTransaction, { from, isNew, posts: placed }: PlacedPosts<IndexedPost>): Promise<void> {
    const table = this.#tableOf(from)
    if (isNew) await transaction.script(tableSql(table))
    const ids = placed.map(({ id }) => id)
    const tokens = placed.map(({ terms }) => terms.map(tokenOf).join(" "))
    const [added] = await transaction.rowsOnce<{ count: number }>(
      `WITH added AS (
         INSERT INTO ${table} (id, terms)
         SELECT id, array_to_tsvector(string_to_array(tokens, ' ')) FROM unnest($1::bigint[], $2::text[]) AS given (id, tokens)
         ON CONFLICT (id) DO NOTHING RETURNING 1)
       SELECT count(*) AS count FROM added`,
      ids,
      textArray(tokens),
    )
    const count = added?.count ?? 0
    const partition = await transaction.row<{ posts: number }>(
      `INSERT INTO search_partitions AS known (terms_version, from_id, posts, last_id) VALUES ($1, $2, $3, $4)
       ON CONFLICT (terms_version, from_id) DO UPDATE
       SET posts = known.posts + excluded.posts, last_id = greatest(known.last_id, excluded.last_id)
       RETURNING posts`,
      this.#version,
      String(from),
      count,
      ids.at(-1) ?? String(idEnds.below),
    )
    const posts = partition?.posts ?? 0
    if (analysedAt.some((at) => posts >= at && posts - count < at)) await transaction.script(`ANALYZE ${table}`)
  }

  /** Reads a partition; nothing of one that was dropped meanwhile. The plan depends on how many posts have a token. */
  async #search<Row>(
    query: IndexQuery,
    statement: (of: { readonly condition: string; readonly parameters: readonly string[] }) => {
      readonly sql: string
      readonly values: readonly SqlValue[]
    },
  ): Promise<readonly Row[]> {
    const tokens = tokenQuery(query)
    if (tokens === false) return []
    const isEvery = tokens === true
    const { sql, values } = statement({
      condition: isEvery ? "true" : "terms @@ $4::tsquery",
      parameters: isEvery ? [] : [textSearchQuery(tokens)],
    })
    try {
      return await this.#database.rowsOnce<Row>(sql, ...values)
    } catch (error) {
      if (!(error instanceof pg.DatabaseError && error.code === undefinedTable)) throw error
      // Retention drops partitions of an index that goes on; one that is emptied has lost its position before.
      if ((await readPosition(this.#database, this.#version)) !== null) return []
      throw new StoreUnavailable("The search index was emptied meanwhile, and is filled again.", { cause: error })
    }
  }

  /** Removes the posts of a partition for which a condition with one parameter holds. Returns how many. */
  #removeFrom(from: bigint, condition: string, value: string | readonly string[]): Promise<number> {
    return this.#database.write(async (transaction) => {
      await lockIndex(transaction, this.#version)
      const isThere = (await this.#partitions(transaction)).some((partition) => partition.from === from)
      if (!isThere) return 0
      const [removed] = await transaction.rowsOnce<{ count: number }>(
        `WITH removed AS (DELETE FROM ${this.#tableOf(from)} WHERE ${condition} RETURNING 1)
         SELECT count(*) AS count FROM removed`,
        value,
      )
      await transaction.run(
        "UPDATE search_partitions SET posts = posts - $3 WHERE terms_version = $1 AND from_id = $2",
        this.#version,
        String(from),
        removed?.count ?? 0,
      )
      return removed?.count ?? 0
    })
  }

  /** Forgets the position first: an index that is half empty is filled from the first post on. */
  async #empty(version: number): Promise<void> {
    await this.#database.run("UPDATE search_indexes SET position = NULL WHERE terms_version = $1", version)
    for (const { from } of await partitionsOf(this.#database, version)) await this.#drop(version, from)
  }

  #drop(version: number, from: bigint): Promise<void> {
    return this.#database.write(async (transaction) => {
      await lockIndex(transaction, version)
      await transaction.run(
        "DELETE FROM search_partitions WHERE terms_version = $1 AND from_id = $2",
        version,
        String(from),
      )
      await transaction.script(`DROP TABLE IF EXISTS ${tableOf(version, from)}`)
    })
  }
}

async function readPosition(queries: Queries, version: number): Promise<ArrivalPosition | null> {
  const row = await queries.row<{ position: ArrivalPosition | null }>(
    "SELECT position FROM search_indexes WHERE terms_version = $1",
    version,
  )
  return row?.position ?? null
}

/** Locks an index against other writes until the transaction ends, and returns its position. */
async function lockIndex(transaction: WriteTransaction, version: number): Promise<ArrivalPosition | null> {
  const row = await transaction.row<{ position: ArrivalPosition | null }>(
    `INSERT INTO search_indexes (terms_version) VALUES ($1)
     ON CONFLICT (terms_version) DO UPDATE SET terms_version = excluded.terms_version RETURNING position`,
    version,
  )
  return row?.position ?? null
}

/**
 * The partitions of an index in the order of their ids. Those that are searched: none while an index without a position is
 * being emptied or has been left half empty.
 */
async function partitionsOf(
  queries: Queries,
  version: number,
  { areSearched = false } = {},
): Promise<readonly SearchPartition[]> {
  const rows = await queries.rows<{ fromId: string; posts: number; lastId: string }>(
    `SELECT from_id AS "fromId", posts, last_id AS "lastId" FROM search_partitions
     WHERE terms_version = $1 AND (NOT $2 OR EXISTS (
       SELECT 1 FROM search_indexes WHERE terms_version = $1 AND position IS NOT NULL)) ORDER BY from_id`,
    version,
    areSearched,
  )
  return rows.map(({ fromId, posts, lastId }) => ({ from: BigInt(fromId), posts, lastId: BigInt(lastId) }))
}

function tableOf(version: number, from: bigint): string {
  return `search_${version}_${from}`
}

/**
 * New posts wait in GIN's pending list, which a search reads from end to end, until they are merged into the index. Its length is
 * a bound on both: on how often posts are merged, and on what a search reads.
 */
function tableSql(table: string): string {
  return `
    CREATE TABLE ${table} (id bigint PRIMARY KEY, terms tsvector NOT NULL);
    CREATE INDEX ON ${table} USING gin (terms) WITH (gin_pending_list_limit = ${pendingBytesMax / 1_024});`
}

/**
 * Most bytes of the list of posts that are still to be merged into an index. Ours: a search reads it in a third of a millisecond.
 */
const pendingBytesMax = 1_048_576
