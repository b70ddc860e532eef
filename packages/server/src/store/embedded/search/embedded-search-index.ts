/**
 * The search index of the embedded store: a file of its own, which one thread has open and both fills and searches.
 *
 * A search reads one partition after the other, and stops at its limit. It gives way to others when its turn has ended, so that
 * a search over years, or a query that takes long, holds up no other.
 */
import { cutTerm, type IndexQuery } from "@sluice/rules"
import type { DatabaseSync } from "node:sqlite"
import type { PostId } from "../../../model/ids.ts"
import { systemClock } from "../../../runtime/clock.ts"
import { Turns, type Turn } from "../../../runtime/turns.ts"
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
import { idEnds } from "../../id-bounds.ts"
import { everyPost, tokenOf, type Token } from "../../search-terms.ts"
import { IndexMoved, StoreDamaged, StoreUnavailable } from "../../store-faults.ts"
import { prepare, type Statement } from "../connection/statements.ts"
import { storeFault } from "../connection/sqlite-faults.ts"
import { countIntervals, intervalsOf } from "./count-intervals.ts"
import { searchFor, type IdRange, type PartitionReader, type PartitionSearch } from "./partition-search.ts"
import { PartitionTables } from "./partition-tables.ts"
import { removeSearchFile } from "../connection/derived-files.ts"
import { inTransaction, openSearchFile } from "./search-file.ts"

/** Most posts that are removed in one turn of the event loop. Ours: some milliseconds. */
const removedAtOnceMax = 500

const cutSearch = searchFor({ kind: "term", term: cutTerm })

/**
 * Opens the index of a file. One that is missing, damaged, another program's or of other terms is begun anew. Throws the
 * faults of a store.
 */
export async function openEmbeddedSearchIndex(file: string, settings: SearchIndexSettings): Promise<SearchIndex> {
  return new EmbeddedSearchIndex(file, settings)
}

/** A partition, with how many of its posts came late: without any, that table need not be read. */
interface EmbeddedPartition extends SearchPartition {
  readonly late: number
}

/** A file that is open. */
interface OpenFile {
  readonly db: DatabaseSync
  readonly tables: PartitionTables
  readonly position: Statement<{ position: ArrivalPosition | null }>
  readonly setPosition: Statement<never>
  readonly setPartition: Statement<never>
  readonly forgetPartition: Statement<never>
  /** In the order of their ids. */
  partitions: readonly EmbeddedPartition[]
}

/** A read of the index that goes on in turns. */
interface OngoingRead {
  /** The file with which it began. */
  readonly open: OpenFile
  readonly turn: Turn
}

class EmbeddedSearchIndex implements SearchIndex {
  readonly #turns = new Turns(systemClock)
  readonly #file: string
  readonly #termsVersion: number
  readonly #postsMin: number
  /** Absent when a file that had to be begun anew could not be. The next call tries again. */
  #openFile: OpenFile | undefined
  /** Partitions with entries of posts that were removed, by the id with which each begins. */
  readonly #changed = new Set<bigint>()
  /** Partitions that are to be compacted, by the id with which each begins, and whether that of the first has begun. */
  readonly #complete = new Set<bigint>()
  #isCompacting = false
  /** Partitions that were found to have no post with `cutTerm`, by the id with which each begins. */
  readonly #withoutCut = new Set<bigint>()

  constructor(file: string, { termsVersion, partitionPostsMin: postsMin = partitionPostsMin }: SearchIndexSettings) {
    this.#file = file
    this.#termsVersion = termsVersion
    this.#postsMin = postsMin
    this.#openFile = openFile(file, termsVersion)
    this.#noteComplete(this.#openFile)
  }

  async position(): Promise<ArrivalPosition | undefined> {
    return this.#whole(positionOf)
  }

  async add(posts: readonly IndexedPost[], { after, position }: IndexStep): Promise<void> {
    let hasNew = false
    this.#change((open) => {
      if (positionOf(open) !== after) throw new IndexMoved("The search index is not where the step begins.")
      for (const placed of placePosts(open.partitions, posts, this.#postsMin)) {
        addTo(open, placed)
        hasNew ||= placed.isNew
        if (placed.posts.some(isCut)) this.#withoutCut.delete(placed.from)
      }
      open.setPosition.run(position)
    })
    if (hasNew) this.#noteComplete(this.#open)
  }

  async find(query: IndexQuery, range: SearchRange): Promise<readonly PostId[]> {
    const [search, read] = [searchFor(query), await this.#begin()]
    const found: PostId[] = []
    for (const partition of partitionsWithin(read.open.partitions, range)) {
      const limit = range.limit - found.length
      if (limit === 0) break
      found.push(...(await this.#findIn(read, partition, search, { ...range, limit })))
    }
    return found
  }

  async count(query: IndexQuery, edges: readonly bigint[]): Promise<readonly number[]> {
    const [search, read] = [searchFor(query), await this.#begin()]
    const { partitions } = read.open
    const counts = Array.from({ length: Math.max(0, edges.length - 1) }, () => 0)
    const intervals = intervalsOf(edges)
    const range = { above: (edges[0] ?? 0n) - 1n, upTo: (edges.at(-1) ?? 0n) - 1n, direction: "newer" } as const
    for (const partition of partitionsWithin(partitions, range)) {
      const bounds = { least: leastIdOf(partition, partitions), greatest: partition.lastId }
      for (const reader of this.#readersOf(read, partition)) {
        await countIntervals(search, { reader, ...bounds }, intervals, counts)
      }
    }
    return counts
  }

  async hasCutPosts(ids: IdRange): Promise<boolean> {
    const read = await this.#begin()
    const range = { ...ids, direction: "newer", limit: 1 } as const
    for (const partition of partitionsWithin(read.open.partitions, range)) {
      // Nearly all partitions have none: then a search needs no statement to know it.
      if (this.#withoutCut.has(partition.from)) continue
      const hasAny = async (among: SearchRange): Promise<boolean> =>
        (await this.#findIn(read, partition, cutSearch, among)).length > 0
      if (!(await hasAny({ ...range, above: idEnds.below, upTo: idEnds.above }))) this.#withoutCut.add(partition.from)
      else if (await hasAny(range)) return true
    }
    return false
  }

  async replace(posts: readonly IndexedPost[]): Promise<void> {
    const byId = new Map(posts.map((post) => [post.id, post]))
    this.#change((open) => {
      for (const [from, ids] of groupByPartition(open.partitions, [...byId.keys()])) {
        for (const id of ids) {
          const post = byId.get(id)
          if (post === undefined || !open.tables.replace(from, BigInt(id), tokensOf(post.terms))) continue
          if (isCut(post)) this.#withoutCut.delete(from)
          this.#changed.add(from)
        }
      }
    })
  }

  async eraseRemoved(): Promise<void> {
    for (const from of this.#changed) {
      // Before the merge: a partition in which posts are removed meanwhile is merged once more.
      this.#changed.delete(from)
      try {
        let isFirst = true
        // Until there are no more entries of removed posts to leave out.
        while (await this.#mergeSome(from, isFirst)) isFirst = false
      } catch (error) {
        this.#changed.add(from)
        throw error
      }
    }
    this.#whole(({ db }) => db.exec("PRAGMA wal_checkpoint(TRUNCATE)"))
  }

  async compact(): Promise<boolean> {
    const [from] = this.#complete
    if (from === undefined) return false
    // FTS5 adds lists of tokens, and merges some of them. One list has each token once, and a search reads it once.
    this.#isCompacting = await this.#mergeSome(from, !this.#isCompacting)
    if (!this.#isCompacting) this.#complete.delete(from)
    return this.#complete.size > 0
  }

  async remove(ids: readonly PostId[]): Promise<void> {
    this.#change((open) => {
      for (const [from, group] of groupByPartition(open.partitions, ids)) {
        removeFrom(open, from, group)
        this.#changed.add(from)
      }
    })
  }

  async removeBelow(id: bigint): Promise<void> {
    this.#change(({ partitions, tables, forgetPartition }) => {
      for (const { from } of partitions.filter(({ lastId }) => lastId < id)) {
        tables.drop(from)
        forgetPartition.run(from)
      }
    })
    const range = { above: idEnds.below, upTo: id - 1n, direction: "newer" } as const
    for (const { from } of partitionsWithin(this.#open.partitions, range)) {
      let old: readonly PostId[]
      do {
        const read = await this.#begin()
        old = await this.#reading(read, from, ({ tables }) => tables.idsUpTo(from, id - 1n, removedAtOnceMax), [])
        await this.remove(old)
      } while (old.length > 0)
    }
  }

  async clear(): Promise<void> {
    this.#beginAnew()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#openFile?.db.close()
  }

  /** Merges some pages of a partition, in a turn of its own. Returns whether there may be more to merge. */
  async #mergeSome(from: bigint, isFirst: boolean): Promise<boolean> {
    const merge = ({ tables }: OpenFile): boolean =>
      tables
        .postTables(from)
        .map((table) => table.merge({ isFirst }))
        .includes(true)
    return this.#reading(await this.#begin(), from, merge, false)
  }

  /** Posts are mostly added to the newest partition. */
  #noteComplete({ partitions }: OpenFile): void {
    for (const { from } of partitions.slice(0, -1)) this.#complete.add(from)
  }

  /** Begins a read, in the first turn that is free. */
  async #begin(): Promise<OngoingRead> {
    const turn = this.#turns.open()
    await turn.begin()
    return { open: this.#open, turn }
  }

  get #open(): OpenFile {
    return (this.#openFile ??= openFile(this.#file, this.#termsVersion))
  }

  /** A change is one transaction. */
  #change(work: (open: OpenFile) => void): void {
    this.#whole((open) => {
      inTransaction(open.db, () => work(open))
      open.partitions = readPartitions(open.db)
    })
  }

  /** Ids of posts of a partition, out of all its tables. */
  async #findIn(
    read: OngoingRead,
    partition: EmbeddedPartition,
    search: PartitionSearch,
    range: SearchRange,
  ): Promise<readonly PostId[]> {
    const lists: (readonly PostId[])[] = []
    for (const reader of this.#readersOf(read, partition)) lists.push(await search.find(reader, range))
    const [ids = [], late = []] = lists
    return late.length === 0 ? ids : inOrder([...ids, ...late], range.direction).slice(0, range.limit)
  }

  #readersOf(read: OngoingRead, { from, late }: EmbeddedPartition): readonly PartitionReader[] {
    const [numbered, lateOnes] = read.open.tables.postTables(from)
    const tables = late === 0 ? [numbered] : [numbered, lateOnes]
    return tables.map((table) => ({
      find: (expression, range) =>
        this.#reading(
          read,
          from,
          ({ partitions }, partition) => {
            return table.find(expression, { ...range, ...openEnds(range, partition, partitions) })
          },
          [],
        ),
      tally: (expression, range, steps) =>
        this.#reading(
          read,
          from,
          ({ partitions }, partition) => {
            return table.tally(expression, openEnds(range, partition, partitions), steps)
          },
          { steps: [] },
        ),
    }))
  }

  /**
   * The result of a statement about a partition, in this turn of the read or the next; `instead` when the partition is gone by
   * then. Throws `StoreUnavailable` when the index is another one than that with which the read began.
   */
  async #reading<Result>(
    { open, turn }: OngoingRead,
    from: bigint,
    work: (open: OpenFile, partition: EmbeddedPartition) => Result,
    instead: Result,
  ): Promise<Result> {
    await turn.spend()
    return this.#whole((now) => {
      if (now !== open) throw new StoreUnavailable("The search index was emptied meanwhile, and is filled again.")
      const partition = now.partitions.find((one) => one.from === from)
      return partition === undefined ? instead : work(now, partition)
    })
  }

  /** The result of work on a file that is whole. A file that turns out to be damaged is begun anew, and the work fails. */
  #whole<Result>(work: (open: OpenFile) => Result): Result {
    try {
      return work(this.#open)
    } catch (error) {
      const fault = faultOf(error)
      if (!(fault instanceof StoreDamaged)) throw fault
      this.#beginAnew()
      throw new StoreUnavailable("The search index was damaged, and is filled again.", { cause: fault })
    }
  }

  #beginAnew(): void {
    this.#openFile?.db.close()
    this.#openFile = undefined
    this.#withoutCut.clear()
    this.#complete.clear()
    this.#isCompacting = false
    removeSearchFile(this.#file)
    this.#openFile = openFile(this.#file, this.#termsVersion)
  }
}

function positionOf({ position }: OpenFile): ArrivalPosition | undefined {
  return position.get()?.position ?? undefined
}

/** The least id that a partition may have. */
function leastIdOf({ from }: SearchPartition, partitions: readonly SearchPartition[]): bigint {
  return from === partitions[0]?.from ? 0n : from
}

/** The same ids of a partition, without the ends of the range that lie beyond it: an end costs a search for its number. */
function openEnds(
  { above, upTo }: IdRange,
  partition: SearchPartition,
  partitions: readonly SearchPartition[],
): IdRange {
  return {
    above: above < leastIdOf(partition, partitions) ? idEnds.below : above,
    upTo: upTo >= partition.lastId ? idEnds.above : upTo,
  }
}

function isCut({ terms }: IndexedPost): boolean {
  return terms[0] === cutTerm
}

function addTo({ tables, setPartition, partitions }: OpenFile, { from, isNew, posts }: PlacedPosts<IndexedPost>): void {
  if (isNew) tables.create(from)
  const { posts: count, lastId, late } = partitions.find((one) => one.from === from) ?? emptyPartition
  const numbered = posts.map(({ id, terms }) => ({ id: BigInt(id), terms }))
  const added = numbered
    // Most posts come in the order of their ids.
    .filter(({ id }, at) => id !== numbered[at - 1]?.id && (id > lastId || !tables.has(from, id)))
    .map(({ id, terms }) => ({ id, tokens: tokensOf(terms) }))
  const lateAdded = tables.add(from, added)
  const greatest = numbered.at(-1)?.id ?? lastId
  setPartition.run(from, count + added.length, greatest > lastId ? greatest : lastId, late + lateAdded)
}

const emptyPartition = { posts: 0, late: 0, lastId: idEnds.below }

function tokensOf(terms: readonly string[]): readonly Token[] {
  return [everyPost, ...terms.map(tokenOf)]
}

function removeFrom({ tables, setPartition, partitions }: OpenFile, from: bigint, ids: readonly PostId[]): void {
  const { posts, lastId, late } = partitions.find((one) => one.from === from) ?? emptyPartition
  const places = ids.map((id) => tables.remove(from, BigInt(id))).filter((place) => place !== undefined)
  const ofLate = places.filter((place) => place === "late").length
  if (places.length > 0) setPartition.run(from, Math.max(0, posts - places.length), lastId, Math.max(0, late - ofLate))
}

/** Ids of a partition in the order of a search. */
function inOrder(ids: readonly PostId[], direction: SearchRange["direction"]): readonly PostId[] {
  const sign = direction === "newer" ? 1 : -1
  return ids.toSorted((a, b) => (BigInt(a) < BigInt(b) ? -sign : sign))
}

/** The fault of an error. FTS5 says nothing else of a table that it cannot make sense of. */
function faultOf(error: unknown): unknown {
  const fault = storeFault(error)
  const isUnusable =
    fault instanceof Error && /^vtable constructor failed|^no such table: (posts|numbers|late)_/.test(fault.message)
  return isUnusable ? new StoreDamaged(fault.message, { cause: fault }) : fault
}

function openFile(file: string, termsVersion: number): OpenFile {
  return openSearchFile(file, termsVersion, (db) => ({
    db,
    tables: new PartitionTables(db),
    position: prepare<{ position: ArrivalPosition | null }>(db, "SELECT position FROM search_index"),
    setPosition: prepare<never>(db, "UPDATE search_index SET position = ?"),
    setPartition: prepare<never>(
      db,
      "INSERT OR REPLACE INTO partitions (from_id, posts, last_id, late) VALUES (?, ?, ?, ?)",
    ),
    forgetPartition: prepare<never>(db, "DELETE FROM partitions WHERE from_id = ?"),
    partitions: readPartitions(db),
  }))
}

function readPartitions(db: DatabaseSync): readonly EmbeddedPartition[] {
  return prepare<{ from: string; posts: number; lastId: string; late: number }>(
    db,
    `SELECT CAST (from_id AS TEXT) AS "from", posts, CAST (last_id AS TEXT) AS lastId, late FROM partitions
     ORDER BY partitions.from_id`,
  )
    .all()
    .map(({ from, posts, lastId, late }) => ({ from: BigInt(from), posts, lastId: BigInt(lastId), late }))
}
