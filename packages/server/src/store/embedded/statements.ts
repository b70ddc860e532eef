import type { DatabaseSync, SQLInputValue, SQLOutputValue } from "node:sqlite"
import { storeFault, withStoreFaults } from "./sqlite-faults.ts"

/**
 * A prepared statement whose rows have a known shape. The one place where that shape is taken on trust. What the
 * disk does to it is thrown by its kind.
 */
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
 * fit a double; values of ids are bound as `BigInt`. A number that fits no double is damage: it comes rounded, so
 * that the rows beside it can be read, and whoever needs to know compares checksums.
 */
export function prepare<Row>(db: DatabaseSync, sql: string): Statement<Row> {
  const statement = db.prepare(sql)
  // Apart from the reads: `run` also answers the last row id, and throws when a double cannot hold it.
  const withBigInts = db.prepare(sql)
  withBigInts.setReadBigInts(true)
  return {
    all: (...values) =>
      reading(
        () => statement.all(...values) as unknown as readonly Row[],
        () => withBigInts.all(...values).map((row) => rounded<Row>(row)),
      ),
    *iterate(...values) {
      let come = 0
      try {
        for (const row of statement.iterate(...values)) {
          yield row as unknown as Row
          come += 1
        }
      } catch (error) {
        if (!isBeyondDouble(error)) throw storeFault(error)
        for (const row of withBigInts.iterate(...values)) {
          if (come === 0) yield rounded<Row>(row)
          else come -= 1
        }
      }
    },
    get: (...values) =>
      reading(
        () => statement.get(...values) as unknown as Row | undefined,
        () => {
          const row = withBigInts.get(...values)
          return row && rounded<Row>(row)
        },
      ),
    run: (...values) => withStoreFaults(() => Number(withBigInts.run(...values).changes)),
  }
}

function reading<Result>(read: () => Result, readWithBigInts: () => Result): Result {
  try {
    return read()
  } catch (error) {
    if (isBeyondDouble(error)) return withStoreFaults(readWithBigInts)
    throw storeFault(error)
  }
}

function isBeyondDouble(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ERR_OUT_OF_RANGE"
}

function rounded<Row>(row: Readonly<Record<string, SQLOutputValue>>): Row {
  const values = Object.entries(row).map(([name, value]) => [
    name,
    typeof value === "bigint" ? Number(value) : value,
  ])
  return Object.fromEntries(values) as Row
}
