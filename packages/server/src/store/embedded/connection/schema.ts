/**
 * The schema of a store against that which its migrations make.
 *
 * A flipped bit of the schema's text may turn a name or a constraint into another that is as good to SQLite: a column
 * that is called `Status` is read by statements that name `status`, but the row then has no `status`.
 */
import { DatabaseSync } from "node:sqlite"
import { migrate } from "./migrations.ts"
import { prepare } from "./statements.ts"

type Schema = ReadonlyMap<string, string>

/** Describes the parts of the schema that differ from the migrations'. */
export function* damagedSchema(db: DatabaseSync): Iterable<string> {
  const [found, expected] = [schemaOf(db), schemaAsMade()]
  for (const [name, text] of expected) if (found.get(name) !== text) yield notAsMade(name)
}

/** Describes the extra parts of the schema: an index that was added, or a name that damage has changed. */
export function* strangeSchema(db: DatabaseSync): Iterable<string> {
  const expected = schemaAsMade()
  for (const name of schemaOf(db).keys()) if (!expected.has(name)) yield notAsMade(name)
}

function notAsMade(name: string): string {
  return `schema: ${name} is not as it was made`
}

let made: Schema | undefined

function schemaAsMade(): Schema {
  if (made !== undefined) return made
  using fresh = new DatabaseSync(":memory:")
  migrate(fresh)
  made = schemaOf(fresh)
  return made
}

function schemaOf(db: DatabaseSync): Schema {
  const schema = prepare<{ name: string; text: string }>(
    db,
    "SELECT type || ' ' || name AS name, coalesce(tbl_name || ' ' || sql, '') AS text FROM sqlite_schema",
  )
  return new Map(schema.all().map(({ name, text }) => [name, text]))
}
