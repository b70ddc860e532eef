/**
 * Overwrites the copies of deleted rows that SQLite has left in other pages.
 *
 * With `secure_delete` SQLite overwrites a row in the place where it is deleted. Rows move, though: when a page is full, or
 * nearly empty, some of its rows go to its neighbours, and their bytes may stay behind in its unused part. So the rows next to
 * a deleted one are deleted and inserted again, in one transaction. The pages around it become empty by that, and SQLite
 * overwrites an empty page as a whole. Source: SQLite's src/btree.c, `rebuildPage` and `freePage2`.
 *
 *     a deletion notes its place ──► 16 rows below · the place · 16 above: deleted, inserted ──► the note is removed
 *
 * Measured: of 631 rows that were deleted of 6,000 in random order, 11 were still in the file; after this, none, from 8
 * neighbours on. To copy the whole table (`VACUUM`) would take minutes of the writer in a large store.
 */
import type { DatabaseSync } from "node:sqlite"
import { crashPoint } from "../../../runtime/crash-points.ts"
import { isReadFault } from "../../store-faults.ts"
import { prepare } from "../connection/statements.ts"

/** Rows on each side of a deleted one that are written again. Ours: twice as many as were needed; see above. */
const neighbours = 16

/** Most rows and bytes that one step writes again; the last place may go over them. Ours: some milliseconds. */
const rewrittenMax = 300
const rewrittenBytesMax = 2_097_152

/** Most places that a step looks at. Ours. */
const placesMax = 100

/** Tables that hold texts of posts and users, and their keys. */
const keysOf = {
  posts: ["id"],
  attempts: ["link_id", "slot"],
  user_objects: ["id"],
} as const satisfies Readonly<Record<string, readonly string[]>>

type ErasedTable = keyof typeof keysOf

/** Notes that a row was deleted or shortened, by its key. */
export type NoteErasure = (table: ErasedTable, ...key: readonly bigint[]) => void

/** Prepares the note of a place whose neighbours are to be written again. */
export function prepareNoteErasure(db: DatabaseSync): NoteErasure {
  const insert = prepare(db, "INSERT OR IGNORE INTO erasures (in_table, first_key, second_key) VALUES (?, ?, ?)")
  return (table, first = 0n, second = 0n) => void insert.run(table, first, second)
}

/** Prepares a step over the noted places. It returns whether none is left. */
export function prepareErase(db: DatabaseSync): () => boolean {
  const next = prepare<{ table: ErasedTable }>(db, "SELECT in_table AS 'table' FROM erasures LIMIT 1")
  const steps = new Map((Object.keys(keysOf) as ErasedTable[]).map((table) => [table, prepareStep(db, table)]))
  return () => {
    const table = next.get()?.table
    if (table === undefined) return true
    steps.get(table)?.()
    return next.get() === undefined
  }
}

type Key = readonly bigint[]
type Row = Readonly<Record<string, string | number | Uint8Array | null>>

interface Kept {
  readonly key: Key
  readonly row: Row
}

/** Prepares a step over the places in one table, in the order of its key, so that what two of them share is written once. */
function prepareStep(db: DatabaseSync, table: ErasedTable): () => void {
  const keys: readonly string[] = keysOf[table]
  const [list, marks] = [keys.join(", "), keys.map(() => "?").join(", ")]
  const keyColumns = keys.map((key) => `CAST (${key} AS TEXT) AS ${key}`).join(", ")
  const places = prepare<{ first: string; second: string }>(
    db,
    `SELECT CAST (first_key AS TEXT) AS first, CAST (second_key AS TEXT) AS second FROM erasures
     WHERE in_table = '${table}' ORDER BY first_key, second_key LIMIT ${placesMax}`,
  )
  const forget = prepare(db, `DELETE FROM erasures WHERE in_table = '${table}' AND first_key = ? AND second_key = ?`)
  const below = prepare<Row>(
    db,
    `SELECT ${keyColumns} FROM ${table} WHERE (${list}) < (${marks})
     ORDER BY ${keys.map((key) => `${table}.${key} DESC`).join(", ")} LIMIT ${neighbours}`,
  )
  const above = prepare<Row>(
    db,
    `SELECT ${keyColumns} FROM ${table} WHERE (${list}) >= (${marks})
     ORDER BY ${keys.map((key) => `${table}.${key}`).join(", ")} LIMIT ${neighbours + 1}`,
  )
  const columns = prepare<{ name: string; type: string }>(
    db,
    `SELECT name, type FROM pragma_table_info('${table}')`,
  ).all()
  const isKey = keys.map((key) => `${table}.${key} = ?`).join(" AND ")
  // Texts as bytes: what damage has made of one comes back as it is.
  const read = prepare<Row>(
    db,
    `SELECT ${columns.map(({ name, type }) => (type === "REAL" ? name : `CAST (${name} AS BLOB) AS ${name}`)).join(", ")}
     FROM ${table} WHERE ${isKey}`,
  )
  const remove = prepare(db, `DELETE FROM ${table} WHERE ${isKey}`)
  const insert = prepare(
    db,
    `INSERT INTO ${table} (${columns.map(({ name }) => name).join(", ")})
     VALUES (${columns.map(({ type }) => (type === "REAL" ? "?" : `CAST (CAST (? AS TEXT) AS ${type})`)).join(", ")})`,
  )
  const keyOf = (row: Row): Key => keys.map((key) => BigInt(String(row[key])))

  /** A row that cannot be read stays where it is. */
  function readOrNone(key: Key): Row | undefined {
    try {
      return read.get(...key)
    } catch (error) {
      if (isReadFault(error)) return undefined
      throw error
    }
  }

  /** The rows around some places, by their keys, and these places. */
  function gather(): { readonly rows: ReadonlyMap<string, Kept>; readonly done: readonly Key[] } {
    const rows = new Map<string, Kept>()
    const done: Key[] = []
    let bytes = 0
    for (const { first, second } of places.all()) {
      const place = [BigInt(first), BigInt(second)]
      const at = place.slice(0, keys.length)
      for (const key of [...below.all(...at), ...above.all(...at)].map(keyOf)) {
        const row = rows.has(key.join(" ")) ? undefined : readOrNone(key)
        if (row === undefined) continue
        rows.set(key.join(" "), { key, row })
        bytes += bytesOf(row)
      }
      done.push(place)
      if (rows.size >= rewrittenMax || bytes >= rewrittenBytesMax) break
    }
    return { rows, done }
  }

  return () => {
    const { rows, done } = gather()
    const kept = [...rows.values()].toSorted(({ key: one }, { key: other }) => compareKeys(one, other))
    for (const { key } of kept) remove.run(...key)
    crashPoint("in-deletion")
    for (const { row } of kept) insert.run(...columns.map(({ name }) => row[name] ?? null))
    for (const place of done) forget.run(...place)
  }
}

function bytesOf(row: Row): number {
  return Object.values(row).reduce<number>((sum, value) => sum + (value instanceof Uint8Array ? value.length : 8), 0)
}

function compareKeys(one: Key, other: Key): number {
  for (const [index, key] of one.entries()) {
    const against = other[index] ?? 0n
    if (key !== against) return key < against ? -1 : 1
  }
  return 0
}
