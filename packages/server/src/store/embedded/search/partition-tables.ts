/** Statements on the partitions of an index: a table of FTS5 for each, with the tokens of posts and their ids as rowids. */
import type { DatabaseSync } from "node:sqlite"
import { LRUCache } from "lru-cache"
import type { PostId } from "../../../model/ids.ts"
import type { SearchRange } from "../../search-index.ts"
import { tokenSigns, type Token } from "../../search-terms.ts"
import { prepare, type Statement } from "../connection/statements.ts"
import type { IdRange, Steps, Tally } from "./partition-search.ts"

/** Most statements that are kept prepared. Ours: those of some hundred partitions. */
const statementsMax = 500

/** Most posts that one statement counts. Ours: some milliseconds. */
const talliedMax = 10_000

/** Pages that are merged at a time. Ours: some milliseconds. */
const mergedPages = 64

/** The tables of one connection. A partition goes by the id with which it begins. */
export class PartitionTables {
  readonly #db: DatabaseSync
  readonly #statements = new LRUCache<string, Statement<unknown>>({ max: statementsMax })

  constructor(db: DatabaseSync) {
    this.#db = db
  }

  /** Contentless, and `detail=none`: it has which posts have a token, not where. Deletions are by rowid alone. */
  create(from: bigint): void {
    this.#db.exec(
      `CREATE VIRTUAL TABLE ${nameOf(from)} USING fts5(tokens, content='', contentless_delete=1, detail=none,
         tokenize="ascii tokenchars '${tokenSigns}'")`,
    )
  }

  drop(from: bigint): void {
    this.#db.exec(`DROP TABLE ${nameOf(from)}`)
  }

  has(from: bigint, id: bigint): boolean {
    return this.#prepared(`SELECT 1 FROM ${nameOf(from)}_docsize WHERE id = ?`).get(id) !== undefined
  }

  add(from: bigint, id: bigint, tokens: readonly Token[]): void {
    this.#prepared(`INSERT INTO ${nameOf(from)} (rowid, tokens) VALUES (?, ?)`).run(id, tokens.join(" "))
  }

  /** Whether the post was there. */
  remove(from: bigint, id: bigint): boolean {
    return this.#prepared(`DELETE FROM ${nameOf(from)} WHERE rowid = ?`).run(id) > 0
  }

  /**
   * Merges some pages of a partition, so that what was removed from it is no longer there. Returns false when nothing was left
   * to merge. Source: sqlite.org, "The 'merge' Command".
   */
  merge(from: bigint, { isFirst }: { readonly isFirst: boolean }): boolean {
    const table = nameOf(from)
    const changes = this.#prepared<{ count: number }>("SELECT total_changes() AS count")
    const before = changes.get()?.count ?? 0
    const pages = isFirst ? -mergedPages : mergedPages
    this.#prepared(`INSERT INTO ${table} (${table}, rank) VALUES ('merge', ?)`).run(pages)
    return (changes.get()?.count ?? 0) - before >= 2
  }

  /** The first ids of a partition below another one, at most `limit`. */
  idsBelow(from: bigint, below: bigint, limit: number): readonly PostId[] {
    const sql = `SELECT CAST (id AS TEXT) AS id FROM ${nameOf(from)}_docsize WHERE id < ? ORDER BY id LIMIT ?`
    return this.#prepared<{ id: PostId }>(sql).all(below, limit).map(idOf)
  }

  find(from: bigint, expression: string, { above, upTo, direction, limit }: SearchRange): readonly PostId[] {
    const table = nameOf(from)
    const order = direction === "older" ? "DESC" : "ASC"
    const sql = `SELECT CAST (rowid AS TEXT) AS id FROM ${table}
      WHERE ${table} MATCH ? AND rowid > ? AND rowid <= ? ORDER BY rowid ${order} LIMIT ?`
    return this.#prepared<{ id: PostId }>(sql).all(expression, above, upTo, limit).map(idOf)
  }

  /** Counts the first posts of a range, at most `talliedMax`. */
  tally(from: bigint, expression: string, { above, upTo }: IdRange, steps: Steps): Tally {
    const table = nameOf(from)
    const found = `FROM ${table} WHERE ${table} MATCH ?1 AND rowid > ?2 AND rowid <= ?3 ORDER BY rowid LIMIT ?4`
    // Without a bound the rows of a day would be sorted in memory. The inner rows come in the order of their ids.
    const counted = this.#prepared<{ step: number; count: number }>(
      `SELECT step, count(*) AS count FROM (SELECT (rowid - ?5) / ?6 AS step ${found}) GROUP BY step`,
    ).all(expression, above, upTo, talliedMax, steps.from, steps.length)
    const tallied = counted.reduce((sum, { count }) => sum + count, 0)
    if (tallied < talliedMax) return { steps: counted }
    // Asked on its own: the greatest id of each step would take half of the time of the counts.
    const last = this.#prepared<{ id: string }>(`SELECT CAST (rowid AS TEXT) AS id ${found} OFFSET ?5`)
    const [row] = last.all(expression, above, upTo, 1, talliedMax - 1)
    return { steps: counted, ...(row !== undefined && { stoppedAt: BigInt(row.id) }) }
  }

  #prepared<Row>(sql: string): Statement<Row> {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = prepare<unknown>(this.#db, sql)
      this.#statements.set(sql, statement)
    }
    return statement as Statement<Row>
  }
}

function nameOf(from: bigint): string {
  return `posts_${from}`
}

function idOf({ id }: { readonly id: PostId }): PostId {
  return id
}
