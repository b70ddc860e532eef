/**
 * The tables of the partitions of an index. A partition goes by the id with which it begins, and has
 *
 *     posts_<id>     posts with a number each
 *     numbers_<id>   these numbers
 *     late_<id>      posts that came when there was no number left between those of their neighbours, by id
 */
import type { DatabaseSync } from "node:sqlite"
import { LRUCache } from "lru-cache"
import type { PostId } from "../../../model/ids.ts"
import type { Token } from "../../search-terms.ts"
import { prepare, type Statement } from "../connection/statements.ts"
import { createNumbers, PostNumbers, type Prepare } from "./post-numbers.ts"
import { createPostTable, PostTable } from "./post-table.ts"

/** Most statements that are kept prepared. Ours: those of some hundred partitions. */
const statementsMax = 500

/** A post with its tokens. */
export interface TokenizedPost {
  readonly id: bigint
  readonly tokens: readonly Token[]
}

/** In which of its tables a partition has a post. */
export type PostPlace = "numbered" | "late"

/** The tables of one partition. */
interface Tables {
  readonly numbers: PostNumbers
  readonly numbered: PostTable
  readonly late: PostTable
}

/** The tables of one connection. */
export class PartitionTables {
  readonly #db: DatabaseSync
  readonly #statements = new LRUCache<string, Statement<unknown>>({ max: statementsMax })

  constructor(db: DatabaseSync) {
    this.#db = db
  }

  create(from: bigint): void {
    createPostTable(this.#db, `posts_${from}`)
    createNumbers(this.#db, `numbers_${from}`)
    createPostTable(this.#db, `late_${from}`)
  }

  drop(from: bigint): void {
    for (const table of ["posts", "numbers", "late"]) this.#db.exec(`DROP TABLE ${table}_${from}`)
  }

  has(from: bigint, id: bigint): boolean {
    const { numbers, late } = this.#of(from)
    return numbers.numberOf(id) !== undefined || late.has(id)
  }

  /** Adds posts that are not there, in the order of their ids. Returns how many of them came late. */
  add(from: bigint, posts: readonly TokenizedPost[]): number {
    const { numbers, numbered, late } = this.#of(from)
    const assigned = numbers.assign(posts.map(({ id }) => id))
    for (const [at, { id, tokens }] of posts.entries()) {
      const number = assigned[at]
      if (number === undefined) late.add(id, tokens)
      else numbered.add(BigInt(number), tokens)
    }
    return assigned.filter((number) => number === undefined).length
  }

  /** Removes a post. Returns where it was; `undefined` when it was not there. */
  remove(from: bigint, id: bigint): PostPlace | undefined {
    const { numbers, numbered, late } = this.#of(from)
    const number = numbers.numberOf(id)
    if (number === undefined) return late.remove(id) ? "late" : undefined
    numbers.release(number)
    numbered.remove(BigInt(number))
    return "numbered"
  }

  /** Gives a post other tokens. Returns false when it is not there. */
  replace(from: bigint, id: bigint, tokens: readonly Token[]): boolean {
    const { numbers, numbered, late } = this.#of(from)
    const number = numbers.numberOf(id)
    const [table, rowid] = number === undefined ? [late, id] : [numbered, BigInt(number)]
    const isThere = table.remove(rowid)
    if (isThere) table.add(rowid, tokens)
    return isThere
  }

  /** Some ids of a partition up to this one, at most `limit` of each table. */
  idsUpTo(from: bigint, id: bigint, limit: number): readonly PostId[] {
    const { numbers, late } = this.#of(from)
    return [...numbers.idsUpTo(id, limit), ...late.rowidsUpTo(id, limit)]
  }

  /** The tables with posts; each post is in one of them. */
  postTables(from: bigint): readonly [numbered: PostTable, late: PostTable] {
    const { numbered, late } = this.#of(from)
    return [numbered, late]
  }

  #of(from: bigint): Tables {
    const prepared: Prepare = (sql) => this.#prepared(sql)
    const numbers = new PostNumbers(`numbers_${from}`, prepared)
    return {
      numbers,
      numbered: new PostTable(`posts_${from}`, prepared, numbers),
      late: new PostTable(`late_${from}`, prepared),
    }
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
