/**
 * Connections to PostgreSQL: which server of the URL they lead to, and the settings of their sessions.
 *
 *     chooseServer ─► connect ─► beginSession: settings; does the server accept writes? is it the same database?
 *
 * The settings are set by a statement and not while connecting, because pgbouncer refuses them there.
 */
import type { Duplex } from "node:stream"
import pg from "pg"
import { databaseServersIn } from "../../../runtime/database-url.ts"
import { StoreUnavailable } from "../../store-faults.ts"
import { requireDatabase } from "./database-identity.ts"
import { unavailablePrefix } from "./postgres-faults.ts"

/** How to reach the database, and how much to ask of it. */
export interface ClusterSettings {
  /** `postgres://…`, as `libpq` reads it, with one server or several. */
  readonly url: string
  /** Most connections of this thread. */
  readonly poolMax: number
  /** Longest that a statement may take. */
  readonly statementMsMax: number
  /** The required identity of the database; absent when any will do (`database-identity.ts`). */
  readonly identity?: string
  /** Longest wait for a connection, and beyond `statementMsMax` for a response. 10 s when absent. */
  readonly networkMsMax?: number
}

/** Longest wait for a connection: of the pool, and of the network. Ours. */
const defaultNetworkMsMax = 10_000

/** Longest wait for one of several servers while one is chosen. Ours. */
const choiceMsMax = 5_000

/** Longest pause between two statements of a transaction, whose locks others may wait for. Ours: `leases.ts` says why. */
const idleMsMax = 4_000

/** Longest wait for a lock that a statement needs. Ours: below the statements' own limit, so that the error says why. */
const lockMsMax = 10_000

/**
 * Settings of connections whose loss must be noticed soon. PostgreSQL ends their statements well before their responses
 * count as lost, so a wait without a response means that the network is gone, or PostgreSQL, and not that it is slow.
 */
export function withShortTimeouts(settings: ClusterSettings): ClusterSettings {
  return { ...settings, poolMax: 1, statementMsMax: Math.min(settings.statementMsMax, 2_500), networkMsMax: 2_000 }
}

/**
 * The URL of the server to connect to. It is the server that accepts writes: all are tried at the same time, so that
 * one that does not respond delays nothing. Throws `StoreUnavailable` when there is none.
 */
export async function chooseServer(settings: ClusterSettings): Promise<string> {
  const { urls } = databaseServersIn(settings.url)
  const [only] = urls
  if (urls.length === 1 && only !== undefined) return only
  const networkMsMax = Math.min(choiceMsMax, settings.networkMsMax ?? defaultNetworkMsMax)
  const chosen = new AbortController()
  try {
    return await Promise.any(
      urls.map(async (url) => {
        await tryServer({ ...settings, networkMsMax }, url, chosen.signal)
        return url
      }),
    )
  } catch (cause) {
    const errors: readonly unknown[] = cause instanceof AggregateError ? cause.errors : [cause]
    const reasons = errors.map((error, index) => {
      const message = error instanceof Error ? error.message : String(error)
      return `${new URL(urls[index] ?? "").host}: ${message.replace(unavailablePrefix, "")}`
    })
    throw new StoreUnavailable(`${unavailablePrefix}no server accepts writes: ${reasons.join("; ")}`, { cause })
  } finally {
    chosen.abort()
  }
}

/** Resolves when the server accepts writes. Gives up when another one was chosen. */
async function tryServer(settings: ClusterSettings, url: string, chosen: AbortSignal): Promise<void> {
  const client = new pg.Client(connectionOf(settings, url))
  chosen.addEventListener("abort", () => destroy(client), { once: true })
  // A connection that is lost fails its statement, too.
  client.on("error", () => undefined)
  try {
    await client.connect()
    await greet(client, settings)
  } finally {
    destroy(client)
  }
}

/** A connection to one server, as `pg` has it described. `beginSession` must follow. */
export function connectionOf(settings: ClusterSettings, url: string): pg.ClientConfig {
  const { networkMsMax = defaultNetworkMsMax } = settings
  return {
    connectionString: url,
    types: { getTypeParser },
    application_name: "sluice",
    connectionTimeoutMillis: networkMsMax,
    keepAlive: true,
    // PostgreSQL responds within its own limit; a network that is cut does not.
    query_timeout: settings.statementMsMax + networkMsMax,
  }
}

/** True in a session that cannot write: on a standby, and where `default_transaction_read_only` is on. */
const isReadOnlySql = "pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean"

/** Older servers lack some of the settings. */
const greeting = `SELECT ${isReadOnlySql} AS "isReadOnly", (
    SELECT count(set_config(name, value, false)) FROM unnest($1::text[], $2::text[]) AS setting (name, value)
    WHERE current_setting(name, true) IS NOT NULL
  )`

/**
 * Begins a session on a new connection. May be called again to check it. Throws `StoreUnavailable` when the server does
 * not accept writes although it must, and `StoreReplaced` when it has another database than the process began with.
 */
export async function beginSession(client: pg.ClientBase, settings: ClusterSettings): Promise<void> {
  await greet(client, settings)
  if (settings.identity !== undefined) await requireDatabase(client, settings.identity)
}

/** Sets the settings of a session, and finds out whether its server accepts writes. */
async function greet(client: pg.ClientBase, settings: ClusterSettings): Promise<void> {
  const { mustAcceptWrites } = databaseServersIn(settings.url)
  const session = Object.entries(sessionOf(settings))
  const { networkMsMax: query_timeout = defaultNetworkMsMax } = settings
  const values = [session.map(([name]) => name), session.map(([, value]) => String(value))]
  const query: pg.QueryConfig & pg.ClientConfig = { text: greeting, values, query_timeout }
  const { rows } = await client.query<{ isReadOnly: boolean }>(query)
  if (mustAcceptWrites && rows[0]?.isReadOnly === true) {
    throw new StoreUnavailable(`${unavailablePrefix}the server is a standby, or read-only`)
  }
}

/** Settings of every session, but for those that the options of the URL set. */
function sessionOf({ url, statementMsMax }: ClusterSettings): Readonly<Record<string, string | number>> {
  const settings = {
    statement_timeout: statementMsMax,
    lock_timeout: Math.min(lockMsMax, statementMsMax),
    // A process that is stopped in mid-transaction must not keep its locks.
    idle_in_transaction_session_timeout: idleMsMax,
    // The session that listens has nothing to say for long, and an audit is one long transaction.
    idle_session_timeout: 0,
    transaction_timeout: 0,
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
  const options = new URL(databaseServersIn(url).urls[0] ?? url).searchParams.get("options") ?? ""
  const given = new Set<string>()
  for (const [, name = ""] of options.matchAll(/(?:-c\s*|--)([\w.-]+)\s*=/g)) given.add(name.replaceAll("-", "_"))
  return Object.fromEntries(Object.entries(settings).filter(([name]) => !given.has(name)))
}

/** Closes a connection without a word to the other end, which might not hear it. */
export function destroy(client: pg.ClientBase): void {
  const { connection } = client as pg.ClientBase & { readonly connection: { readonly stream: Duplex } }
  connection.stream.destroy()
}

/** As `pg` does it, but for bytes: a plain array of them, as the model has it. */
function getTypeParser(...[type, format]: Parameters<typeof pg.types.getTypeParser>) {
  const parse: (text: string) => unknown = pg.types.getTypeParser(type, format)
  return type === pg.types.builtins.BYTEA && format !== "binary"
    ? (text: string) => new Uint8Array(parse(text) as Buffer)
    : parse
}
