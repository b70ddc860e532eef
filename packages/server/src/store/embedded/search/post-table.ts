/** A table of FTS5: posts with their tokens, whose rowids are their numbers in the partition, or their ids. */
import type { DatabaseSync } from "node:sqlite"
import type { PostId } from "../../../model/ids.ts"
import type { SearchRange } from "../../search-index.ts"
import { idEnds } from "../../id-bounds.ts"
import { tokenSigns, type Token } from "../../search-terms.ts"
import { StoreDamaged } from "../../store-faults.ts"
import type { IdRange, Steps, Tally } from "./partition-search.ts"
import type { PostNumbers, Prepare } from "./post-numbers.ts"

/** Most posts that one statement counts. Ours: some milliseconds. */
const talliedMax = 10_000

/** Pages that are merged at a time. Ours: some milliseconds. */
const mergedPages = 256

/**
 * Bytes of a page of a table. FTS5 finds the page of a post, and then reads it from its beginning: in pages of 1,000 bytes,
 * instead of FTS5's own 4,050, a query that leaves out a frequent token took a fifth to two fifths of the time, for 4 bytes
 * more a post. Measured. Four of them fill a page of SQLite.
 */
const pageBytes = 1_000

/** Makes a table: contentless, and `detail=none`, it has which posts have a token, not where. Deletions are by rowid alone. */
export function createPostTable(db: DatabaseSync, name: string): void {
  db.exec(
    `CREATE VIRTUAL TABLE ${name} USING fts5(tokens, content='', contentless_delete=1, detail=none,
       tokenize="ascii tokenchars '${tokenSigns}'")`,
  )
  db.exec(`INSERT INTO ${name} (${name}, rank) VALUES ('pgsz', ${pageBytes})`)
}

/** The table of this name. Without numbers, the rowids are ids. */
export class PostTable {
  readonly #name: string
  readonly #prepared: Prepare
  readonly #numbers: PostNumbers | undefined
  /** SQL of the posts that the expression `?1` finds, with rowids above `?2` up to `?3`; and of the id of one. */
  readonly #found: string
  readonly #id: string

  constructor(name: string, prepared: Prepare, numbers?: PostNumbers) {
    this.#name = name
    this.#prepared = prepared
    this.#numbers = numbers
    const matching = `${name} MATCH ?1 AND ${name}.rowid > ?2 AND ${name}.rowid <= ?3`
    this.#id = numbers === undefined ? `${name}.rowid` : `${numbers.table}.id`
    // A left join: a number without an id is damage, and must not go unnoticed.
    const ids = numbers === undefined ? "" : `LEFT JOIN ${numbers.table} ON number = ${name}.rowid`
    this.#found = `FROM ${name} ${ids} WHERE ${matching}`
  }

  has(rowid: bigint): boolean {
    return this.#prepared(`SELECT 1 FROM ${this.#name}_docsize WHERE id = ?`).get(rowid) !== undefined
  }

  add(rowid: bigint, tokens: readonly Token[]): void {
    this.#prepared(`INSERT INTO ${this.#name} (rowid, tokens) VALUES (?, ?)`).run(rowid, tokens.join(" "))
  }

  /** Whether there was such a post. */
  remove(rowid: bigint): boolean {
    return this.#prepared(`DELETE FROM ${this.#name} WHERE rowid = ?`).run(rowid) > 0
  }

  /**
   * Merges some pages, so that what was removed is no longer there. Returns false when nothing was left to merge. Source:
   * sqlite.org, "The 'merge' Command".
   */
  merge({ isFirst }: { readonly isFirst: boolean }): boolean {
    const changes = this.#prepared<{ count: number }>("SELECT total_changes() AS count")
    const before = changes.get()?.count ?? 0
    const pages = isFirst ? -mergedPages : mergedPages
    this.#prepared(`INSERT INTO ${this.#name} (${this.#name}, rank) VALUES ('merge', ?)`).run(pages)
    return (changes.get()?.count ?? 0) - before >= 2
  }

  /** The first rowids up to this one, at most `limit`. */
  rowidsUpTo(rowid: bigint, limit: number): readonly PostId[] {
    const sql = `SELECT CAST (id AS TEXT) AS id FROM ${this.#name}_docsize WHERE id <= ? ORDER BY id LIMIT ?`
    return this.#prepared<{ id: PostId }>(sql)
      .all(rowid, limit)
      .map(({ id }) => id)
  }

  /** Ids of posts that an expression finds, in the order of the direction. */
  find(expression: string, { above, upTo, direction, limit }: SearchRange): readonly PostId[] {
    const rows = this.#rows({ above, upTo })
    if (rows === undefined) return []
    const order = direction === "older" ? "DESC" : "ASC"
    return this.#prepared<{ id: PostId | null }>(
      `SELECT CAST (${this.#id} AS TEXT) AS id ${this.#found} ORDER BY ${this.#name}.rowid ${order} LIMIT ?4`,
    )
      .all(expression, rows.above, rows.upTo, limit)
      .map((row) => present(row.id))
  }

  /** Counts the first posts of a range, at most `talliedMax`. */
  tally(expression: string, { above, upTo }: IdRange, steps: Steps): Tally {
    const rows = this.#rows({ above, upTo })
    if (rows === undefined) return { steps: [] }
    const first = `${this.#found} ORDER BY ${this.#name}.rowid LIMIT ?4`
    // Without a bound the rows of a day would be sorted in memory. The inner rows come in the order of their ids.
    const counted = this.#prepared<{ step: number | null; count: number }>(
      `SELECT step, count(*) AS count FROM (SELECT (${this.#id} - ?5) / ?6 AS step ${first}) GROUP BY step`,
    ).all(expression, rows.above, rows.upTo, talliedMax, steps.from, steps.length)
    const all = counted.map(({ step, count }) => ({ step: present(step), count }))
    if (all.reduce((sum, { count }) => sum + count, 0) < talliedMax) return { steps: all }
    const last = Math.max(...all.map(({ step }) => step))
    const whole = all.filter(({ step }) => step < last)
    // The last step may have more posts, and is counted by the next statement. To ask for the last post would take as long again.
    if (whole.length > 0) return { steps: whole, stoppedAt: steps.from + BigInt(last) * steps.length - 1n }
    const lastPost = this.#prepared<{ id: string | null }>(`SELECT CAST (${this.#id} AS TEXT) AS id ${first} OFFSET ?5`)
    const [row] = lastPost.all(expression, rows.above, rows.upTo, 1, talliedMax - 1)
    return { steps: all, ...(row !== undefined && { stoppedAt: BigInt(present(row.id)) }) }
  }

  /**
   * Rowids of a range of ids; `undefined` when there are none. As `bigint`, since others are bound as reals, by which FTS5 finds no
   * place in its lists: it would read each from its end.
   */
  #rows({ above, upTo }: IdRange): IdRange | undefined {
    if (this.#numbers === undefined) return { above, upTo }
    const last = upTo === idEnds.above ? Number.MAX_SAFE_INTEGER : this.#numbers.numberUpTo(upTo)
    const before = above === idEnds.below ? undefined : this.#numbers.numberUpTo(above)
    return last === undefined ? undefined : { above: BigInt(before ?? Number.MIN_SAFE_INTEGER), upTo: BigInt(last) }
  }
}

/** A value of a post that was found. Throws `StoreDamaged` when its number has no id. */
function present<Value>(value: Value | null): Value {
  if (value === null) throw new StoreDamaged("A post of the search index has no id.")
  return value
}
