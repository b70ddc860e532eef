/** Rows of a store as records of the model, whichever database they come from. */

/** A row as a record of the model, where a member is absent instead of NULL. */
type RecordOf<Row> = {
  [Name in keyof Row as null extends Row[Name] ? never : Name]: Row[Name]
} & {
  [Name in keyof Row as null extends Row[Name] ? Name : never]?: Exclude<Row[Name], null>
}

/** The record of a row: its members that are not NULL. */
export function recordOf<Row extends object>(row: Row): RecordOf<Row> {
  const record: Partial<Row> = {}
  // By the keys: on the rows of a large list, several times as fast as by the entries.
  for (const name of Object.keys(row) as (keyof Row)[]) if (row[name] !== null) record[name] = row[name]
  return record as unknown as RecordOf<Row>
}

/** The members of many records as columns for `unnest`, in the order of `names`: NULL for a member that is absent. */
export function columnsOf<Row, Name extends keyof Row>(
  rows: readonly Row[],
  names: readonly Name[],
): readonly (readonly (Exclude<Row[Name], undefined> | null)[])[] {
  return names.map((name) => rows.map((row) => (row[name] ?? null) as Exclude<Row[Name], undefined> | null))
}

/** A column that holds true or false: SQLite has 1 and 0. */
export type StoredBoolean = boolean | number

/** Whether it holds true. */
export function isTrue(value: StoredBoolean): boolean {
  return value === true || value === 1
}
