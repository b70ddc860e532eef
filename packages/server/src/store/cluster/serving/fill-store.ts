/**
 * Fills an empty PostgreSQL store with all rows of another store.
 *
 *     one transaction:  schema ─► partitions ─► rows, table by table ─► counters ─► audit ─► check ─► commit
 *
 * A process that opens the store meanwhile waits, and finds it empty or complete. A copy that is killed half-way leaves
 * nothing, and one that does not pass the check is undone. A transaction of any size costs PostgreSQL no memory; the
 * files of tables made in it are deleted when it is undone.
 */
import { systemClock } from "../../../runtime/clock.ts"
import { crashPoint } from "../../../runtime/crash-points.ts"
import { placeOf } from "../../../runtime/database-url.ts"
import { systemRandom } from "../../../runtime/random.ts"
import { chooseEpoch } from "../../epochs.ts"
import { StoreFailed } from "../../store-faults.ts"
import type { StoreAudit } from "../../store-audit.ts"
import {
  columnTypesOf,
  storedTables,
  type RowValue,
  type StoredRows,
  type StoredTable,
  type StoredTableName,
} from "../../stored-rows.ts"
import { audit, auditMsMax } from "./audit.ts"
import { ClusterDatabase, type SqlValue, type WriteTransaction } from "../connection/database.ts"
import { replaceKnownTime } from "../nouns/known-time.ts"
import { noteDatabase } from "../connection/adopted-database.ts"
import { beginEpochIn } from "../nouns/log-epochs.ts"
import { migrateWithin } from "../connection/migrations.ts"
import { makePartitionsFor, postsSpanMs } from "../nouns/partitions.ts"
import { inspectServer, refuseUnsafeServer } from "../connection/server-settings.ts"

/** Most rows in a statement, and most bytes of their texts; the last row may go over it. Ours. */
const batch = { rows: 1_000, bytes: 4_194_304 }

/** The store once everything is copied. */
interface FilledStore {
  readonly audit: StoreAudit
  readonly counts: ReadonlyMap<StoredTableName, number>
  /** Texts in which a NUL was replaced by U+FFFD, since PostgreSQL takes none. */
  readonly textsChanged: number
}

/** Callbacks that follow the copying and decide at its end. */
export interface Filling {
  /** So many rows of all tables are copied. */
  readonly progressed: (rows: number) => void
  /** Everything is copied, and is now read again. */
  readonly verifying: () => void
  /** Throws to have everything undone. */
  readonly check: (filled: FilledStore) => void
}

/**
 * Fills the store of a database, and creates it. Throws `StoreFailed` for a database that is not empty, that is in use,
 * or that may lose what it has acknowledged, and what `check` throws; then the database is as it was.
 */
export async function fillStore(url: string, rows: StoredRows, filling: Filling): Promise<void> {
  const place = `The database ${placeOf(url)}`
  const settings = { url, poolMax: 1, statementMsMax: auditMsMax }
  await using database = new ClusterDatabase(settings, () => undefined)
  refuseUnsafeServer(await inspectServer(database, settings), placeOf(url))
  await database.write(async (transaction) => {
    // A row of the other store may come late, and an audit reads whole tables.
    await transaction.script("SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL enable_seqscan = on")
    await takeStore(transaction, place)
    await makePartitionsFor(transaction, {
      matchDays: rows.matchDays,
      postIds: rows.postIdsOfSpans(postsSpanMs),
    })
    const textsChanged = await copyRows(transaction, rows, filling.progressed)
    await setNumbers(transaction, rows)
    filling.verifying()
    await transaction.script("ANALYZE")
    filling.check({ audit: await audit(transaction), counts: await countsOf(transaction), textsChanged })
    rows.requireUnchanged()
    if (rows.isCopy) await beginEpochIn(transaction, chooseEpoch(systemClock, systemRandom))
    await noteDatabase(transaction)
  })
}

/** Makes the store if it is not there, and keeps everybody else from it. */
async function takeStore(transaction: WriteTransaction, place: string): Promise<void> {
  const names = storedTables.map(({ name }) => name)
  try {
    await migrateWithin(transaction)
    await transaction.script(`LOCK TABLE ${names.join(", ")}, processes IN EXCLUSIVE MODE`)
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== lockNotAvailable) throw error
    throw new StoreFailed(`${place} is in use by another process. Stop it first.`, { cause: error })
  }
  const served = await transaction.run("SELECT 1 FROM processes WHERE alive_until > clock_timestamp()")
  if (served > 0) throw new StoreFailed(`${place} is in use by a Sluice server. Stop it first.`)
  for (const name of names) {
    if ((await transaction.run(`SELECT 1 FROM ${name} LIMIT 1`)) === 0) continue
    throw new StoreFailed(`${place} has a store that is not empty (${name}). Name another database.`)
  }
}

/** SQLSTATE: a lock was not to be had in time. */
const lockNotAvailable = "55P03"

/** Copies all rows, and returns the number of texts that had to be changed. */
async function copyRows(
  transaction: WriteTransaction,
  rows: StoredRows,
  progressed: (rows: number) => void,
): Promise<number> {
  let [copied, textsChanged] = [0, 0]
  // While PostgreSQL stores one batch, the next is read.
  let storing = Promise.resolve(0)
  for (const table of storedTables) {
    const sql = insertOf(table)
    for (const { columns, changed } of batchesOf(table, rows.rows(table))) {
      textsChanged += changed
      copied += await storing
      progressed(copied)
      crashPoint("in-copying")
      storing = transaction.run(sql, ...columns)
      // It is awaited with the next batch; until then its failure has no handler.
      storing.catch(() => undefined)
    }
  }
  copied += await storing
  progressed(copied)
  return textsChanged
}

interface Batch {
  /** The values of all rows, column by column. */
  readonly columns: readonly (RowValue[] & SqlValue)[]
  readonly changed: number
}

function* batchesOf(table: StoredTable, rows: Iterable<readonly RowValue[]>): Iterable<Batch> {
  const width = columnTypesOf(table).size
  const empty = (): RowValue[][] => Array.from({ length: width }, () => [])
  let columns = empty()
  let [count, bytes, changed] = [0, 0, 0]
  for (const row of rows) {
    for (const [index, value] of row.entries()) {
      columns[index]?.push(value)
      if (typeof value !== "string") continue
      bytes += value.length
      if (value.includes("\0")) changed += 1
    }
    count += 1
    if (count < batch.rows && bytes < batch.bytes) continue
    yield { columns, changed }
    columns = empty()
    ;[count, bytes, changed] = [0, 0, 0]
  }
  if (count > 0) yield { columns, changed }
}

/** SQL of columns that only this store has, made of others. */
const derived: Readonly<Partial<Record<StoredTableName, { readonly column: string; readonly value: string }>>> = {
  rules: { column: "value_hash", value: "sha256(convert_to(value, 'UTF8'))" },
  webhooks: { column: "url_hash", value: "sha256(convert_to(url, 'UTF8'))" },
}

function insertOf(table: (typeof storedTables)[number]): string {
  const { name } = table
  const types = columnTypesOf(table)
  const names = [...types.keys()].join(", ")
  const given = Array.from(types.values(), (type, index) => `$${index + 1}::${type}[]`).join(", ")
  const { column, value } = derived[name] ?? {}
  return `INSERT INTO ${name} (${names}${column === undefined ? "" : `, ${column}`}) OVERRIDING SYSTEM VALUE
    SELECT ${names}${value === undefined ? "" : `, ${value}`} FROM unnest(${given}) AS given (${names})`
}

async function setNumbers(transaction: WriteTransaction, { numbers }: StoredRows): Promise<void> {
  const { postsAccepted, postsTrimmed, controlChanges, lastId, lastDeadLetter, lastRuleChange, knownTime } = numbers
  await transaction.run("DELETE FROM totals")
  await transaction.run(
    "INSERT INTO totals (posts_accepted, posts_trimmed, control_changes) VALUES ($1, $2, $3)",
    postsAccepted,
    postsTrimmed,
    controlChanges,
  )
  await transaction.run("UPDATE given_ids SET last_id = $1", lastId)
  if (knownTime !== undefined) await replaceKnownTime(transaction, knownTime)
  await transaction.run("UPDATE rule_history SET last_seq = $1", lastRuleChange)
  await transaction.run("UPDATE last_deletion SET last_seq = (SELECT coalesce(max(seq), 0) FROM deletions)")
  await transaction.rows(
    "SELECT setval(pg_get_serial_sequence('dead_letters', 'id'), greatest($1::bigint, 1), $1::bigint > 0)",
    lastDeadLetter,
  )
}

async function countsOf(transaction: WriteTransaction): Promise<ReadonlyMap<StoredTableName, number>> {
  const counts = new Map<StoredTableName, number>()
  for (const { name } of storedTables) {
    counts.set(name, (await transaction.row<{ count: number }>(`SELECT count(*) AS count FROM ${name}`))?.count ?? 0)
  }
  return counts
}
