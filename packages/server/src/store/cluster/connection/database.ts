/**
 * Statements on PostgreSQL: a pool of connections, prepared statements, and transactions that are run again when
 * PostgreSQL asks for it. Connections themselves: `connections.ts`.
 *
 * Rows come as objects under the names that the SQL gives them (`AS "createdAtMs"`). A `bigint` is text when its name
 * says that it is an id, since a snowflake does not fit a double; any other is a number.
 */
import { createHash } from "node:crypto"
import pg from "pg"
import type { Clock } from "../../../runtime/clock.ts"
import { databaseServersIn } from "../../../runtime/database-url.ts"
import { modelColumns } from "../../rows/model-columns.ts"
import type { StoreChange } from "../../store.ts"
import { StoreUnavailable } from "../../store-faults.ts"
import { beginSession, chooseServer, connectionOf, destroy, type ClusterSettings } from "./connections.ts"
import { clusterFault, isLost, isWorthRepeating, unavailablePrefix } from "./postgres-faults.ts"

/** A parameter of a statement. Ids are text. Arrays are for `unnest` and `ANY`. */
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
  /** As `rows`, by a statement that is planned for these values and is not kept. */
  rowsOnce<Row>(sql: string, ...values: readonly SqlValue[]): Promise<readonly Row[]>
  /** The number of rows that the statement changed. */
  run(sql: string, ...values: readonly SqlValue[]): Promise<number>
}

/** A transaction, in which a write does all that it does. */
export interface WriteTransaction extends Queries {
  /** Notes a change. Listeners of all processes are notified of it after the commit. */
  announce(change: StoreChange): void
  /** Counts and notes a change of apps, rules, webhooks, links or replays, unless `isChanged` is false. Returns it. */
  announceControl(isChanged?: boolean): Promise<boolean>
  /** Runs several statements without parameters, as a migration has. */
  script(sql: string): Promise<void>
}

/** The context that the writes of all nouns share. */
export interface WriteContext {
  readonly clock: Pick<Clock, "nowMs">
}

/** Most runs of a transaction that deadlocks or cannot be serialised. Ours. */
const runsMax = 10

/** A commit that PostgreSQL reports as done although a failover may lose it. Source: "Synchronous Replication". */
const withoutStandby =
  "PostgreSQL is not available: the wait for the synchronous standby was cancelled, so the transaction may be lost"

/**
 * A pool of connections to one server of the database. When the server cannot be reached or no longer accepts writes,
 * the pool chooses another one; until then statements fail as unavailable.
 */
export class ClusterDatabase implements Queries, AsyncDisposable {
  readonly #settings: ClusterSettings
  readonly #hasOneServer: boolean
  /** The pool's connections, also those that are being made. */
  #clients = new Set<pg.ClientBase>()
  /** Rejects each statement that waits for a connection of the pool. */
  #waiting = new Set<(reason: Error) => void>()
  /** Connections whose session has begun. */
  #begun = new WeakSet<pg.PoolClient>()
  /** Connections on which PostgreSQL has warned of something. */
  readonly #warned = new WeakSet<pg.PoolClient>()
  /** The URL of the pool's server. */
  #server: string
  #pool: pg.Pool
  #isChosen: boolean
  #choosing: Promise<void> | undefined
  readonly #committed: (changes: readonly StoreChange[]) => void

  /** `committed` is called after each commit that announced something, before its caller gets the result. */
  constructor(settings: ClusterSettings, committed: (changes: readonly StoreChange[]) => void) {
    const [server = settings.url, ...others] = databaseServersIn(settings.url).urls
    this.#settings = settings
    this.#committed = committed
    this.#server = server
    this.#hasOneServer = others.length === 0
    this.#isChosen = this.#hasOneServer
    this.#pool = this.#newPool()
  }

  /**
   * Gives up all connections, which are lost without notice. Statements in progress on them, and those that wait for one, fail
   * at once.
   */
  reconnect(): void {
    const [pool, clients, waiting] = [this.#pool, this.#clients, this.#waiting]
    this.#clients = new Set()
    this.#waiting = new Set()
    this.#isChosen = this.#hasOneServer
    this.#pool = this.#newPool()
    pool.end().catch(() => undefined)
    for (const client of clients) destroy(client)
    // A pool that ends leaves them waiting until their time is over.
    for (const reject of waiting) reject(new StoreUnavailable(`${unavailablePrefix}its connections were given up`))
    waiting.clear()
  }

  async rows<Row>(sql: string, ...values: readonly SqlValue[]): Promise<readonly Row[]> {
    return rowsOf(await this.#query(prepared(sql, values)))
  }

  async rowsOnce<Row>(sql: string, ...values: readonly SqlValue[]): Promise<readonly Row[]> {
    return rowsOf(await this.#query(unprepared(sql, values)))
  }

  async row<Row>(sql: string, ...values: readonly SqlValue[]): Promise<Row | undefined> {
    return (await this.rows<Row>(sql, ...values))[0]
  }

  async run(sql: string, ...values: readonly SqlValue[]): Promise<number> {
    return (await this.#query(prepared(sql, values))).rowCount ?? 0
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

  /** Runs one statement as a write. When it changes a row, announces a change of control data and returns true. */
  runControl(sql: string, ...values: readonly SqlValue[]): Promise<boolean> {
    return this.write(async (transaction) => transaction.announceControl((await transaction.run(sql, ...values)) > 0))
  }

  async #writeOnce<Result>(write: (transaction: WriteTransaction) => Promise<Result>): Promise<Result> {
    const client = await this.#connect()
    const changes: StoreChange[] = []
    const transaction = new ClientTransaction(client, changes)
    let broken: Error | undefined
    let result: Result
    try {
      await client.query("BEGIN")
      result = await write(transaction)
      this.#warned.delete(client)
      await client.query("COMMIT")
      // PostgreSQL has no other warning here than that the wait for the standby was cancelled.
      if (this.#warned.has(client)) throw new StoreUnavailable(withoutStandby)
    } catch (error) {
      if (isLost(error)) this.#isChosen = this.#hasOneServer
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

  /** Runs one statement on any connection. */
  async #query(query: pg.QueryConfig): Promise<pg.QueryResult> {
    const client = await this.#connect()
    try {
      const result = await client.query(query)
      client.release()
      return result
    } catch (error) {
      client.release(error as Error)
      if (isLost(error)) this.#isChosen = this.#hasOneServer
      throw clusterFault(error)
    }
  }

  /** A connection of the pool to the server that was chosen. */
  async #connect(): Promise<pg.PoolClient> {
    let client: pg.PoolClient | undefined
    try {
      if (!this.#isChosen) await this.#chooseServer()
      client = await this.#pooled()
      if (!this.#begun.has(client)) await beginSession(client, this.#settings)
      this.#begun.add(client)
      return client
    } catch (error) {
      client?.release(error as Error)
      // It may have given its place to another one.
      this.#isChosen = this.#hasOneServer
      throw clusterFault(error)
    }
  }

  /** A connection of the pool, as soon as one is free. Rejects when the pool is given up. */
  #pooled(): Promise<pg.PoolClient> {
    const [pool, waiting] = [this.#pool, this.#waiting]
    const { promise, resolve, reject } = Promise.withResolvers<pg.PoolClient>()
    waiting.add(reject)
    const begun = (client: pg.PoolClient): void => (waiting.has(reject) ? resolve(client) : client.release(true))
    pool.connect().then(begun, reject)
    return promise.finally(() => waiting.delete(reject))
  }

  /** Callers that come meanwhile wait for the same choice. */
  #chooseServer(): Promise<void> {
    this.#choosing ??= (async () => {
      try {
        const server = await chooseServer(this.#settings)
        if (server !== this.#server) {
          this.#server = server
          this.reconnect()
        }
        this.#isChosen = true
      } finally {
        this.#choosing = undefined
      }
    })()
    return this.#choosing
  }

  #newPool(): pg.Pool {
    const clients = this.#clients
    class Client extends pg.Client {
      constructor(config?: pg.ClientConfig) {
        super(config)
        clients.add(this)
        this.once("end", () => clients.delete(this))
      }
    }
    const { poolMax: max } = this.#settings
    const pool = new pg.Pool({ ...connectionOf(this.#settings, this.#server), max, Client })
    // An idle connection was lost: the pool opens another one when it is needed.
    pool.on("error", () => undefined)
    // One that is lost during a statement: the statement fails, too.
    pool.on("connect", (client) => {
      client.on("error", () => undefined)
      client.on("notice", () => this.#warned.add(client))
    })
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

  async rowsOnce<Row>(sql: string, ...values: readonly SqlValue[]): Promise<readonly Row[]> {
    return rowsOf(await this.#client.query(unprepared(sql, values)))
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

  async announceControl(isChanged = true): Promise<boolean> {
    if (isChanged) {
      await addToTotals(this, "control_changes", 1)
      this.announce({ kind: "control" })
    }
    return isChanged
  }
}

/** A count kept in shards, so that no two transactions wait for each other's count. */
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

const statementNames = new Map<string, string>()

/** The same text has the same name, so each connection parses and plans it once. */
function prepared(sql: string, values: readonly SqlValue[]): pg.QueryConfig {
  let name = statementNames.get(sql)
  if (name === undefined) {
    name = createHash("sha256").update(sql).digest("base64url").slice(0, 20)
    statementNames.set(sql, name)
  }
  return { name, ...unprepared(sql, values) }
}

function unprepared(sql: string, values: readonly SqlValue[]): pg.QueryConfig {
  return { text: sql, values: values.map(storable) }
}

/** PostgreSQL's texts hold no NUL. A NUL in hostile text becomes the replacement character. */
function storable(value: SqlValue): SqlValue {
  if (typeof value === "string") return value.includes("\0") ? value.replaceAll("\0", "\uFFFD") : value
  return Array.isArray(value) ? value.map((one) => (typeof one === "string" ? storable(one) : one) as string) : value
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
  return modelColumns(table, columns, (id) => id)
}
