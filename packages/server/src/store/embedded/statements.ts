import type { DatabaseSync, SQLInputValue } from "node:sqlite"

/** A prepared statement whose rows have a known shape. The one place where that shape is taken on trust. */
export interface Statement<Row> {
  all(...values: readonly SQLInputValue[]): readonly Row[]
  /** The same rows one by one, for who may stop early. */
  iterate(...values: readonly SQLInputValue[]): IterableIterator<Row>
  get(...values: readonly SQLInputValue[]): Row | undefined
  /** Number of rows changed. */
  run(...values: readonly SQLInputValue[]): number
}

/**
 * Prepares a statement. Columns that hold ids are read as text (`CAST (id AS TEXT)`), since a snowflake does not
 * fit a double; values of ids are bound as `BigInt`.
 */
export function prepare<Row>(db: DatabaseSync, sql: string): Statement<Row> {
  const statement = db.prepare(sql)
  // Apart from the reads: `run` also answers the last row id, and throws when a double cannot hold it.
  const writing = db.prepare(sql)
  writing.setReadBigInts(true)
  return {
    all: (...values) => statement.all(...values) as unknown as readonly Row[],
    iterate: (...values) => statement.iterate(...values) as unknown as IterableIterator<Row>,
    get: (...values) => statement.get(...values) as unknown as Row | undefined,
    run: (...values) => Number(writing.run(...values).changes),
  }
}
