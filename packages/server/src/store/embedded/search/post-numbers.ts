/**
 * The numbers of posts in a partition, which rise with their ids.
 *
 *     ids       …000 ─ …187 ─ …191 ─ …192 ─ …305
 *     numbers    16     32     48     56     64       …192 came after …305, and took the middle of the gap
 *
 * FTS5 keeps the posts of a token as differences between their rowids. Those between ids of posts take five bytes each, and those
 * between numbers mostly one. Gaps leave room for posts that come out of order, as those of several sources do.
 */
import type { DatabaseSync } from "node:sqlite"
import type { PostId } from "../../../model/ids.ts"
import type { Statement } from "../connection/statements.ts"

/** Makes the table of the numbers of a partition. */
export function createNumbers(db: DatabaseSync, table: string): void {
  db.exec(`CREATE TABLE ${table} (number INTEGER PRIMARY KEY, id INTEGER NOT NULL)`)
}

/** Prepares a statement, or returns it as it was prepared before. */
export type Prepare = <Row>(sql: string) => Statement<Row>

/** Difference between the numbers of posts that come in order. Measured: see docs/decisions/search-index.md. */
const gap = 16

/** A number of a post. */
interface NumberedId {
  readonly number: number
  readonly id: bigint
}

/** The numbers of one partition, in a table of this name. */
export class PostNumbers {
  readonly table: string
  readonly #prepared: Prepare

  constructor(table: string, prepared: Prepare) {
    this.table = table
    this.#prepared = prepared
  }

  /** The number of a post that has one. */
  numberOf(id: bigint): number | undefined {
    const found = this.#last(id)
    return found?.id === id ? found.number : undefined
  }

  /** The greatest number of the ids up to this one; `undefined` when there is none. */
  numberUpTo(id: bigint): number | undefined {
    return this.#last(id)?.number
  }

  /**
   * Gives numbers to posts that have none, whose ids rise: `undefined` where no number is left between those of a post's
   * neighbours.
   */
  assign(ids: readonly bigint[]): readonly (number | undefined)[] {
    const numbers: (number | undefined)[] = []
    for (let [first] = ids; first !== undefined; first = ids[numbers.length]) {
      const below = this.#last(first)
      const above = below === undefined ? this.#oldest() : this.#row("WHERE number > ? ORDER BY number", below.number)
      const rest = ids.slice(numbers.length)
      const among = above === undefined ? rest : rest.filter((id) => id < above.id)
      numbers.push(...numbersBetween(below?.number, above?.number, among.length))
    }
    const insert = this.#prepared(`INSERT INTO ${this.table} (number, id) VALUES (?, ?)`)
    for (const [at, number] of numbers.entries()) if (number !== undefined) insert.run(number, ids[at] ?? 0n)
    return numbers
  }

  release(number: number): void {
    this.#prepared(`DELETE FROM ${this.table} WHERE number = ?`).run(number)
  }

  /** The first ids up to this one, at most `limit`. */
  idsUpTo(id: bigint, limit: number): readonly PostId[] {
    const last = this.numberUpTo(id)
    if (last === undefined) return []
    const sql = `SELECT CAST (id AS TEXT) AS id FROM ${this.table} WHERE number <= ? ORDER BY number LIMIT ?`
    return this.#prepared<{ id: PostId }>(sql)
      .all(last, limit)
      .map((row) => row.id)
  }

  /** The post with the greatest id up to this one. */
  #last(id: bigint): NumberedId | undefined {
    const newest = this.#newest()
    if (newest === undefined || newest.id <= id) return newest
    const oldest = this.#oldest()
    if (oldest === undefined || oldest.id > id) return undefined
    let found = oldest
    // The answer is `found` or lies between `low` and `high`, and the post of `high` is greater than `id`.
    for (let [low, high] = [oldest.number, newest.number]; high - low > 1;) {
      const middle = Math.floor((low + high) / 2)
      const row = this.#row("WHERE number <= ? ORDER BY number DESC", middle) ?? oldest
      if (row.id <= id) {
        found = row
        low = middle
      } else high = row.number
    }
    return found
  }

  #newest(): NumberedId | undefined {
    return this.#row("ORDER BY number DESC")
  }

  #oldest(): NumberedId | undefined {
    return this.#row("ORDER BY number")
  }

  #row(which: string, number?: number): NumberedId | undefined {
    const sql = `SELECT number, CAST (id AS TEXT) AS id FROM ${this.table} ${which} LIMIT 1`
    const row = this.#prepared<{ number: number; id: string }>(sql).get(...(number === undefined ? [] : [number]))
    return row && { number: row.number, id: BigInt(row.id) }
  }
}

/** Rising numbers of so many posts between two others, as far apart as there is room, and none for those without room. */
function numbersBetween(
  below: number | undefined,
  above: number | undefined,
  count: number,
): readonly (number | undefined)[] {
  const least = below ?? (above === undefined ? 0 : above - gap * (count + 1))
  const step = above === undefined ? gap : Math.max(1, (above - least) / (count + 1))
  const numbers = Array.from({ length: count }, (_, at) => Math.floor(least + step * (at + 1)))
  return numbers.map((number) => (above === undefined || number < above ? number : undefined))
}
