/** All rows of an embedded store that no process serves, read without leaving a trace. */
import { statSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { snowflakeEpochMs } from "@sluice/api"
import { StoreFailed } from "../../store-faults.ts"
import {
  columnTypesOf,
  storedTables,
  type RowValue,
  type StoredNumbers,
  type StoredRows,
  type StoredTable,
  type StoredTableName,
} from "../../stored-rows.ts"
import { defineRowChecksum } from "../connection/checked-rows.ts"
import { prepareKnownTime } from "../nouns/known-time.ts"
import { prepareLastId } from "../connection/last-id.ts"
import { isMarkedAsCopy } from "../nouns/log-epochs.ts"
import { columnsAs, prepare } from "../connection/statements.ts"
import { placeToRead } from "../connection/unchanging-store.ts"

/** How long a statement waits for a command that writes. Ours. */
const busyMs = 5_000

const dayMs = 86_400_000

/** The result of `read`, which gets the rows of the store in a file as they are at one moment. */
export async function readStoredRows<Result>(
  file: string,
  read: (rows: StoredRows) => Promise<Result>,
): Promise<Result> {
  const before = stateOf(file)
  using db = new DatabaseSync(placeToRead(file), { timeout: busyMs, readOnly: true })
  defineRowChecksum(db)
  db.exec("BEGIN")
  return await read({
    numbers: numbersOf(db),
    isCopy: isMarkedAsCopy(db),
    counts: new Map(storedTables.map(({ name }) => [name, countOf(db, name)])),
    rows: (table) => rowsOf(db, table),
    matchDays: matchDaysOf(db),
    postIdsOfSpans: (spanMs) => postIdsOfSpans(db, spanMs),
    requireUnchanged() {
      if (stateOf(file) === before) return
      throw new StoreFailed(`The store ${file} has changed while it was read, by a command for example. Begin again.`)
    },
  })
}

/** A text that changes with every write to the store. */
function stateOf(file: string): string {
  return [file, `${file}-wal`]
    .map((path) => statSync(path, { bigint: true, throwIfNoEntry: false }))
    .map((stats) => (stats === undefined ? "none" : `${stats.ino} ${stats.size} ${stats.mtimeNs}`))
    .join(", ")
}

function* rowsOf(db: DatabaseSync, table: StoredTable): Iterable<readonly RowValue[]> {
  const { name, key } = table
  const columns = [...columnTypesOf(table).keys()].join(", ")
  const sql = `SELECT ${columnsAs(name, columns)} FROM ${name} ORDER BY ${keyOf(name, key)}`
  for (const row of prepare<Record<string, RowValue>>(db, sql).iterate()) yield Object.values(row)
}

/** The columns of the table: the names of the result would order ids as text. */
function keyOf(name: string, key: string): string {
  return key
    .split(", ")
    .map((column) => `${name}.${column}`)
    .join(", ")
}

function countOf(db: DatabaseSync, name: StoredTableName): number {
  return prepare<{ count: number }>(db, `SELECT count(*) AS count FROM ${name}`).get()?.count ?? 0
}

function numbersOf(db: DatabaseSync): StoredNumbers {
  const totals = prepare<Pick<StoredNumbers, "postsAccepted" | "postsTrimmed" | "controlChanges">>(
    db,
    `SELECT ${columnsAs("totals", "posts_accepted, posts_trimmed, control_changes")} FROM totals`,
  ).get()
  const sequence = prepare<{ seq: number }>(db, "SELECT seq FROM sqlite_sequence WHERE name = ?")
  return {
    postsAccepted: 0,
    postsTrimmed: 0,
    controlChanges: 0,
    ...totals,
    lastId: prepareLastId(db)(),
    knownTime: prepareKnownTime(db)(),
    lastDeadLetter: sequence.get("dead_letters")?.seq ?? 0,
    lastRuleChange: sequence.get("rule_changes")?.seq ?? 0,
  }
}

function matchDaysOf(db: DatabaseSync): readonly number[] {
  const days = prepare<{ atMs: number }>(
    db,
    `SELECT DISTINCT (at_ms / ${dayMs}) * ${dayMs} AS atMs FROM matches JOIN match_logs USING (app_id)
     WHERE seq > trimmed_to ORDER BY atMs DESC`,
  )
  return days.all().map(({ atMs }) => atMs)
}

function postIdsOfSpans(db: DatabaseSync, spanMs: number): readonly string[] {
  const ids = prepare<{ id: string }>(
    db,
    `SELECT CAST (min(posts.id) AS TEXT) AS id FROM posts
     GROUP BY ((posts.id >> 22) + ${snowflakeEpochMs}) / ${spanMs} ORDER BY min(posts.id) DESC`,
  )
  return ids.all().map(({ id }) => id)
}
