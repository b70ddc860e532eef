/**
 * Connections to PostgreSQL: a pool, prepared statements, and transactions that are run again when PostgreSQL asks for it.
 *
 * Rows come as objects under the names that the SQL gives them (`AS "createdAtMs"`). A `bigint` is text when its name
 * says that it is an id, since a snowflake does not fit a double, and else a number.
 */
import { createHash } from "node:crypto"
import type { Duplex } from "node:stream"
import pg from "pg"
import type { Clock } from "../../runtime/clock.ts"
import type { StoreChange } from "../store.ts"
import { clusterFault, isLost, isWorthRepeating } from "./postgres-faults.ts"

/** What PostgreSQL is given as a parameter. Ids are text. Arrays are for `unnest` and `ANY`. */
export type SqlValue =
  | string
  | number
  | boolean
  | null
  | Uint8Array
  | readonly (string | number | boolean | null | Uint8Array)[]

/** Statements on one connection, or each on any of the pool. They throw the faults of a store. */
export interface Queries {
  /** Runs a prepared statement, and returns its rows. */
  rows<Row>(sql: string, ...values: readonly SqlValue[]): Promise<readonly Row[]>
  /** The first row. */
  row<Row>(sql: string, ...values: readonly SqlValue[]): Promise<Row | undefined>
  /** The number of rows that the statement changed. */
  run(sql: string, ...values: readonly SqlValue[]): Promise<number>
}

/** A transaction, in which a write does all that it does. */
export interface WriteTransaction extends Queries {
  /** Notes a change. Listeners of all processes are notified of it after the commit. */
  announce(change: StoreChange): void
  /** Counts and notes a change of apps, rules, webhooks, links or replays. */
  announceControl(): Promise<void>
  /** Runs several statements without parameters, as a migration has. */
  script(sql: string): Promise<void>
}

/** What the writes of all nouns share. */
export interface WriteContext {
  readonly clock: Pick<Clock, "nowMs">
}

/** How to reach the database, and how much to ask of it. */
export interface ClusterSettings {
  /** `postgres://…`, as `libpq` reads it. */
  readonly url: string
  /** Most connections of this thread. */
  readonly poolMax: number
  /** Longest that a statement may take. */
  readonly statementMsMax: number
  /** Longest wait for a connection, and beyond `statementMsMax` for an answer. 10 s when absent. */
  readonly networkMsMax?: number
}

/** Longest wait for a connection: of the pool, and of the network. Ours. */
const networkMsMaxElse = 10_000

/** Longest pause between two statements of a transaction, whose locks others may wait for. Ours: `leases.ts` says why. */
const idleMsMax = 4_000

/**
 * Settings of connections whose loss must be noticed soon. PostgreSQL ends their statements well before their answers
 * count as lost, so a wait without an answer means that the network is gone, or PostgreSQL, and not that it is slow.
 */
export function promptly(settings: ClusterSettings): ClusterSettings {
  return { ...settings, poolMax: 1, statementMsMax: Math.min(settings.statementMsMax, 2_500), networkMsMax: 2_000 }
}

/** Longest wait for a lock that a statement needs. Ours: below the statements' own limit, so that the error says why. */
const lockMsMax = 10_000

/** Most runs of a transaction that deadlocks or cannot be serialised. Ours. */
const runsMax = 10

/** Session settings that every connection has; those of the URL come last, and win. */
function sessionOf({ url, statementMsMax }: ClusterSettings): string {
  const settings = {
    statement_timeout: statementMsMax,
    lock_timeout: Math.min(lockMsMax, statementMsMax),
    // A process that is stopped in mid-transaction must not keep its locks.
    idle_in_transaction_session_timeout: idleMsMax,
    // Half-open connections end, and with them the locks that they hold.
    tcp_keepalives_idle: 10,
    tcp_keepalives_interval: 5,
    tcp_keepalives_count: 3,
    client_min_messages: "warning",
    // A statement that was planned while a table was small is kept: it must use the index when the table has grown.
    enable_seqscan: "off",
    // Compiling a statement takes longer than any of these runs.
    jit: "off",
  }
  return Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value}`)
    .concat(new URL(url).searchParams.get("options") ?? [])
    .join(" ")
}

/** A pool of connections to one database. */
export class ClusterDatabase implements Queries, AsyncDisposable {
  readonly #settings: ClusterSettings
  /** Those of the pool. */
  #clients = new Set<pg.PoolClient>()
  #pool: pg.Pool
  readonly #committed: (changes: readonly StoreChange[]) => void

  /** `committed` is called after each commit that announced something, before its caller gets the result. */
  constructor(settings: ClusterSettings, committed: (changes: readonly StoreChange[]) => void) {
    this.#settings = settings
    this.#committed = committed
    this.#pool = this.#newPool()
  }

  /** Gives up all connections, which are lost though nobody has said so. Statements in progress on them fail at once. */
  reconnect(): void {
    const [pool, clients] = [this.#pool, this.#clients]
    this.#clients = new Set()
    this.#pool = this.#newPool()
    pool.end().catch(() => undefined)
    for (const client of clients) destroy(client)
  }

  async rows<Row>(sql: string, ...values: readonly SqlValue[]): Promise<readonly Row[]> {
    return rowsOf(await withFaults(() => this.#pool.query(prepared(sql, values))))
  }

  async row<Row>(sql: string, ...values: readonly SqlValue[]): Promise<Row | undefined> {
    return (await this.rows<Row>(sql, ...values))[0]
  }

  async run(sql: string, ...values: readonly SqlValue[]): Promise<number> {
    return (await withFaults(() => this.#pool.query(prepared(sql, values)))).rowCount ?? 0
  }

  /**
   * The result of `write`, once its transaction is durable; it may run several times. When it rejects, nothing of it is
   * kept; only when the connection is lost during the commit that is not known.
   */
  async write<Result>(write: (transaction: WriteTransaction) => Promise<Result>): Promise<Result> {
    for (let run = 1; ; run += 1) {
      try {
        return await this.#writeOnce(write)
      } catch (error) {
        if (run === runsMax || !isWorthRepeating(error)) throw clusterFault(error)
      }
    }
  }

  async #writeOnce<Result>(write: (transaction: WriteTransaction) => Promise<Result>): Promise<Result> {
    const client = await withFaults(() => this.#pool.connect())
    const changes: StoreChange[] = []
    const transaction = new ClientTransaction(client, changes)
    let broken: Error | undefined
    let result: Result
    try {
      await client.query("BEGIN")
      result = await write(transaction)
      await client.query("COMMIT")
    } catch (error) {
      // A connection on which not even this succeeds is of no more use.
      broken = isLost(error)
        ? (error as Error)
        : await client.query("ROLLBACK").then(
            () => undefined,
            (rollbackError: Error) => rollbackError,
          )
      throw error
    } finally {
      client.release(broken)
    }
    if (changes.length > 0) this.#committed(changes)
    return result
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.end()
  }

  #newPool(): pg.Pool {
    const pool = new pg.Pool({ ...connectionOf(this.#settings), max: this.#settings.poolMax })
    const clients = this.#clients
    // A connection that is lost while nobody uses it: the pool opens another one when it is needed.
    pool.on("error", () => undefined)
    // One that is lost during a statement: the statement fails, too.
    pool.on("connect", (client) => {
      clients.add(client)
      client.on("error", () => undefined)
    })
    pool.on("remove", (client) => clients.delete(client))
    return pool
  }
}

class ClientTransaction implements WriteTransaction {
  readonly #client: pg.PoolClient
  readonly #changes: StoreChange[]

  constructor(client: pg.PoolClient, changes: StoreChange[]) {
    this.#client = client
    this.#changes = changes
  }

  // Errors stay PostgreSQL's own until the transaction is over: some of them are worth another run.
  async rows<Row>(sql: string, ...values: readonly SqlValue[]): Promise<readonly Row[]> {
    return rowsOf(await this.#client.query(prepared(sql, values)))
  }

  async row<Row>(sql: string, ...values: readonly SqlValue[]): Promise<Row | undefined> {
    return (await this.rows<Row>(sql, ...values))[0]
  }

  async run(sql: string, ...values: readonly SqlValue[]): Promise<number> {
    return (await this.#client.query(prepared(sql, values))).rowCount ?? 0
  }

  async script(sql: string): Promise<void> {
    await this.#client.query(sql)
  }

  announce(change: StoreChange): void {
    this.#changes.push(change)
  }

  async announceControl(): Promise<void> {
    await addToTotals(this, "control_changes", 1)
    this.announce({ kind: "control" })
  }
}

/** What is counted in shards, so that no two transactions wait for each other's count. */
type Total = "posts_accepted" | "posts_trimmed" | "control_changes"

/** Adds to a total, in a shard that no other transaction holds, or in a new one. */
export async function addToTotals(transaction: Queries, total: Total, count: number): Promise<void> {
  const added = await transaction.run(
    `UPDATE totals SET ${total} = ${total} + $1
     WHERE shard = (SELECT shard FROM totals ORDER BY shard LIMIT 1 FOR UPDATE SKIP LOCKED)`,
    count,
  )
  if (added === 0) await transaction.run(`INSERT INTO totals (${total}) VALUES ($1)`, count)
}

/** Closes a connection without a word to the other end, which would not hear it. */
function destroy(client: pg.PoolClient): void {
  const { connection } = client as pg.PoolClient & { readonly connection: { readonly stream: Duplex } }
  connection.stream.destroy()
}

/** What a connection of `pg` is made of. */
export function connectionOf(settings: ClusterSettings): pg.ClientConfig {
  const { networkMsMax = networkMsMaxElse } = settings
  const url = new URL(settings.url)
  url.searchParams.set("options", sessionOf(settings))
  return {
    connectionString: url.href,
    types: { getTypeParser },
    application_name: "sluice",
    connectionTimeoutMillis: networkMsMax,
    keepAlive: true,
    // PostgreSQL answers within its own limit; a network that is cut does not.
    query_timeout: settings.statementMsMax + networkMsMax,
  }
}

/** As `pg` does it, but for bytes: a plain array of them, as the model has it. */
function getTypeParser(...[type, format]: Parameters<typeof pg.types.getTypeParser>) {
  const parse: (text: string) => unknown = pg.types.getTypeParser(type, format)
  return type === pg.types.builtins.BYTEA && format !== "binary"
    ? (text: string) => new Uint8Array(parse(text) as Buffer)
    : parse
}

const statementNames = new Map<string, string>()

/** The same text has the same name, so each connection parses and plans it once. */
function prepared(sql: string, values: readonly SqlValue[]): pg.QueryConfig {
  let name = statementNames.get(sql)
  if (name === undefined) {
    name = createHash("sha256").update(sql).digest("base64url").slice(0, 20)
    statementNames.set(sql, name)
  }
  return { name, text: sql, values: values.map(storable) }
}

/** PostgreSQL's texts hold no NUL. Where hostile text has one, it becomes the character for what cannot be shown. */
function storable(value: SqlValue): SqlValue {
  if (typeof value === "string") return value.includes("\0") ? value.replaceAll("\0", "\uFFFD") : value
  return Array.isArray(value) ? value.map((one) => (typeof one === "string" ? storable(one) : one) as string) : value
}

async function withFaults<Result>(query: () => Promise<Result>): Promise<Result> {
  try {
    return await query()
  } catch (error) {
    throw clusterFault(error)
  }
}

const bigintType: number = pg.types.builtins.INT8
const numericType: number = pg.types.builtins.NUMERIC
function rowsOf<Row>({ rows, fields }: pg.QueryResult): readonly Row[] {
  const numbers = fields
    .filter(({ dataTypeID: type, name }) => (type === bigintType && !isIdName(name)) || type === numericType)
    .map(({ name }) => name)
  if (numbers.length === 0) return rows as readonly Row[]
  for (const row of rows as Record<string, unknown>[]) {
    for (const name of numbers) if (row[name] !== null) row[name] = Number(row[name])
  }
  return rows as readonly Row[]
}

function isIdName(name: string): boolean {
  return name === "id" || name.endsWith("Id") || name.endsWith("_id")
}

/** SQL that reads columns of a table, a list with commas, under the names of the model: `app_id` as `appId`. */
export function columnsAs(table: string, columns: string): string {
  return columns
    .split(", ")
    .map((column) => {
      const name = column.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
      return `${table}.${column} AS "${name}"`
    })
    .join(", ")
}
