import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from "node:sqlite"
import { modelColumns } from "../../rows/model-columns.ts"
import { storeFault, withStoreFaults } from "./sqlite-faults.ts"

/**
 * A prepared statement whose rows have a known shape: the one place where that shape is taken on trust. Errors of the
 * disk are thrown as the fault of their kind.
 */
export interface Statement<Row> {
  all(...values: readonly SQLInputValue[]): readonly Row[]
  /** The same rows one by one, for callers that may stop early. */
  iterate(...values: readonly SQLInputValue[]): IterableIterator<Row>
  get(...values: readonly SQLInputValue[]): Row | undefined
  /** Number of rows changed. */
  run(...values: readonly SQLInputValue[]): number
}

/**
 * A statement, which is compiled when it is first used: SQL that is wrong throws then. Columns that hold ids are read as text (`CAST (id AS TEXT)`), since a snowflake does not
 * fit a double; values of ids are bound as `BigInt`. A number that fits no double is damage: it is rounded, so
 * that the other rows can be read, and the comparison of checksums finds it.
 */
export function prepare<Row>(db: DatabaseSync, text: string): Statement<Row> {
  const sql = withSteadyLimits(text)
  let prepared: StatementSync | undefined
  let preparedWithBigInts: StatementSync | undefined
  let names: readonly string[] = []
  // A store has hundreds of statements, and most processes use few of them: each is compiled when it is first used.
  const statement = (): StatementSync => {
    if (prepared !== undefined) return prepared
    const made = db.prepare(sql)
    made.setReturnArrays(true)
    names = made.columns().map(({ name }) => name)
    return (prepared = made)
  }
  // Node makes each row that is an object a dictionary. A hundred rows took 91 µs so, and take 59 µs as arrays.
  const rowOf = (values: unknown): Row => {
    const row: Record<string, SQLOutputValue> = {}
    for (const [index, name] of names.entries()) row[name] = (values as readonly SQLOutputValue[])[index] ?? null
    return row as Row
  }
  // Apart from the reads: `run` also returns the last row id, and throws when a double cannot hold it.
  const withBigInts = (): StatementSync => {
    if (preparedWithBigInts !== undefined) return preparedWithBigInts
    const made = db.prepare(sql)
    made.setReadBigInts(true)
    return (preparedWithBigInts = made)
  }
  return {
    all: (...values) =>
      reading(
        () =>
          statement()
            .all(...values)
            .map(rowOf),
        () =>
          withBigInts()
            .all(...values)
            .map((row) => rounded<Row>(row)),
      ),
    *iterate(...values) {
      let come = 0
      try {
        for (const row of statement().iterate(...values)) {
          yield rowOf(row)
          come += 1
        }
      } catch (error) {
        if (!isBeyondDouble(error)) throw storeFault(error)
        for (const row of withBigInts().iterate(...values)) {
          if (come === 0) yield rounded<Row>(row)
          else come -= 1
        }
      }
    },
    get: (...values) =>
      reading(
        () => {
          const row = statement().get(...values)
          return row && rowOf(row)
        },
        () => {
          const row = withBigInts().get(...values)
          return row && rounded<Row>(row)
        },
      ),
    run: (...values) => withStoreFaults(() => Number(withBigInts().run(...values).changes)),
  }
}

/**
 * SQL in which a limit is no parameter alone: whenever one is bound, SQLite compiles the statement anew, since its value may
 * change the plan. The read of a page without rows took 13 µs, and takes 1.5 µs. Source: SQLite's src/expr.c,
 * `sqlite3ExprIsInteger`; measured with 3.53.
 */
function withSteadyLimits(sql: string): string {
  return sql.replaceAll(/\bLIMIT (\?\d*)/g, "LIMIT $1 + 0")
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
  const values = Object.entries(row).map(([name, value]) => [name, typeof value === "bigint" ? Number(value) : value])
  return Object.fromEntries(values) as Row
}

/**
 * SQL that reads columns of a table, a list with commas, under the names of the model: `app_id` as `appId`. A column of
 * ids is read as text.
 */
export function columnsAs(table: string, columns: string): string {
  return modelColumns(table, columns, (id) => `CAST (${id} AS TEXT)`)
}
