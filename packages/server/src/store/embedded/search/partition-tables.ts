/** Statements on the partitions of an index: a table of FTS5 for each, with the tokens of posts and their ids as rowids. */
import type { DatabaseSync } from "node:sqlite"
import { LRUCache } from "lru-cache"
import type { PostId } from "../../../model/ids.ts"
import type { SearchRange } from "../../search-index.ts"
import { tokenSigns, type Token } from "../../search-terms.ts"
import { prepare, type Statement } from "../connection/statements.ts"

/** Most statements that are kept prepared. Ours: those of some hundred partitions. */
const statementsMax = 500

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

  count(from: bigint, expression: string, { above, upTo }: Pick<SearchRange, "above" | "upTo">): number {
    const table = nameOf(from)
    const sql = `SELECT count(*) AS count FROM ${table} WHERE ${table} MATCH ? AND rowid > ? AND rowid <= ?`
    return this.#prepared<{ count: number }>(sql).get(expression, above, upTo)?.count ?? 0
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
