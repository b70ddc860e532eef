/** Requirements on a PostgreSQL server. Source: PostgreSQL's documentation, "Reliability and the Write-Ahead Log". */
import type { DatabaseServer } from "../../engine.ts"
import { StoreFailed } from "../../store-faults.ts"
import type { ClusterSettings } from "./connections.ts"
import type { Queries } from "./database.ts"
import { findPooling, type Pooling } from "./pooler.ts"

/** A server's settings and state, as a session of Sluice sees them. */
export interface ServerFacts {
  readonly versionNumber: number
  readonly version: string
  readonly fsync: string
  readonly fullPageWrites: string
  readonly synchronousCommit: string
  readonly encoding: string
  readonly checksums: string
  readonly synchronousStandbyNames: string
  /** Servers that receive its write-ahead log. */
  readonly standbys: number
  /** The number of these that a commit waits for. */
  readonly synchronousStandbys: number
  /** The number of these whose state the user of the URL may not see. */
  readonly hiddenStandbys: number
  readonly isReadOnly: boolean
  /** Milliseconds; 0: never. */
  readonly idleSessionTimeoutMs: number
  /** Most connections of the user of the URL to the database. */
  readonly connectionsMax: number
  /** Processes that share the store. */
  readonly processes: number
  /** Most connections of one process. */
  readonly connectionsPerProcess: number
}

/** Why no store works through a pooler; undefined when one does. */
function faultOfPooling(pooling: Pooling): string | undefined {
  if (pooling === "none" || pooling === "session") return undefined
  return (
    `is behind a pooler in ${pooling} mode, which keeps no sessions, and LISTEN and prepared statements need them. ` +
    "Set pool_mode = session, or connect to PostgreSQL itself."
  )
}

/** Each sentence goes behind the name of the database. */
export function judgeServer(facts: ServerFacts): Pick<DatabaseServer, "faults" | "warnings"> {
  return { faults: faultsOf(facts), warnings: warningsOf(facts) }
}

function faultsOf({ versionNumber, encoding, fsync, synchronousCommit: commit }: ServerFacts): readonly string[] {
  return [
    versionNumber < 150_000 && `is PostgreSQL ${Math.floor(versionNumber / 10_000)}: 15 or newer is needed.`,
    encoding !== "UTF8" && `has the encoding ${encoding}: create it with UTF8.`,
    fsync !== "on" && `has fsync = ${fsync}: what it acknowledges may be lost. Set it to on.`,
    commit !== "on" &&
      commit !== "remote_apply" &&
      `has synchronous_commit = ${commit}: what it acknowledges may be lost. Set it to on, or to remote_apply.`,
  ].filter((fault) => fault !== false)
}

function warningsOf(facts: ServerFacts): DatabaseServer["warnings"] {
  const { connectionsMax, processes, connectionsPerProcess, idleSessionTimeoutMs } = facts
  const processesMin = Math.max(1, processes)
  const connectionsNeeded = processesMin * connectionsPerProcess
  const counted = processesMin === 1 ? "1 process may" : `${processesMin} processes may`
  return [
    facts.checksums !== "on" && {
      text: "has no page checksums (data_checksums = off), so damage of its disk may go unnoticed.",
      advice: "Stop PostgreSQL and run `pg_checksums --enable`.",
    },
    facts.fullPageWrites !== "on" && {
      text: "has full_page_writes = off: a power cut may damage it, unless its disk writes pages whole.",
      advice: "Set it to on.",
    },
    facts.isReadOnly && {
      text: "is a standby, or read-only: every write is refused with 503.",
      advice: "Name all servers in the URL, so that Sluice chooses the one that accepts writes.",
    },
    ...standbyWarnings(facts),
    idleSessionTimeoutMs > 0 && {
      text: `ends sessions that are idle for ${idleSessionTimeoutMs} ms, the one that listens for hints too.`,
      advice: "Leave idle_session_timeout out of the options of the URL.",
    },
    connectionsMax < connectionsNeeded && {
      text: `allows ${connectionsMax} connections, and ${counted} open ${connectionsNeeded}.`,
      advice: "Raise max_connections (or the limit of the user or the database), or lower SLUICE_DATABASE_POOL_MAX.",
    },
  ].filter((one) => one !== false)
}

function standbyWarnings(facts: ServerFacts): DatabaseServer["warnings"] {
  const { standbys, synchronousStandbys, hiddenStandbys, synchronousStandbyNames: names } = facts
  if (names === "") {
    if (standbys === 0) return []
    return [
      {
        text: "has a standby, and synchronous_standby_names is empty: a failover loses what the standby has not received.",
        advice: "Name the standby in synchronous_standby_names.",
      },
    ]
  }
  if (synchronousStandbys > 0) return []
  if (hiddenStandbys > 0) {
    return [
      {
        text: "does not show its standbys to this user, so Sluice cannot tell whether a commit waits for one.",
        advice: "GRANT pg_monitor TO the user of the URL.",
      },
    ]
  }
  return [
    {
      text: `has synchronous_standby_names = ${names}, and none of these is connected: every write waits, and fails with 503.`,
      advice: "Start the standby, or set synchronous_standby_names to those that there are.",
    },
  ]
}

/** Reads what the server is, and what of it no store may be kept on. */
export async function inspectServer(
  queries: Queries,
  settings: ClusterSettings,
  { joining = 0 }: { readonly joining?: number } = {},
): Promise<DatabaseServer> {
  const fault = faultOfPooling(await findPooling(settings))
  // Without sessions the statements that follow fail, too.
  if (fault !== undefined) return { version: "unknown", synchronousCommit: "unknown", faults: [fault], warnings: [] }
  const facts = await factsOf(queries)
  const { version, synchronousCommit } = facts
  // One more while a rule is tested.
  const connectionsPerProcess = settings.poolMax + 1
  const processes = facts.processes + joining
  return { version, synchronousCommit, ...judgeServer({ ...facts, processes, connectionsPerProcess }) }
}

async function factsOf(queries: Queries): Promise<Omit<ServerFacts, "connectionsPerProcess">> {
  const facts = await queries.row<Omit<ServerFacts, "processes" | "connectionsPerProcess">>(
    `SELECT current_setting('server_version_num')::integer AS "versionNumber", current_setting('server_version') AS "version",
       current_setting('fsync') AS "fsync", current_setting('full_page_writes') AS "fullPageWrites",
       current_setting('synchronous_commit') AS "synchronousCommit", current_setting('server_encoding') AS "encoding",
       current_setting('data_checksums') AS "checksums",
       current_setting('synchronous_standby_names') AS "synchronousStandbyNames",
       standbys.*, pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean AS "isReadOnly",
       (SELECT setting::integer FROM pg_settings WHERE name = 'idle_session_timeout') AS "idleSessionTimeoutMs",
       LEAST(
         current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer
           - COALESCE(current_setting('reserved_connections', true)::integer, 0),
         (SELECT NULLIF(rolconnlimit, -1) FROM pg_roles WHERE rolname = current_user),
         (SELECT NULLIF(datconnlimit, -1) FROM pg_database WHERE datname = current_database())
       ) AS "connectionsMax"
     FROM (
       SELECT count(*)::integer AS "standbys",
         (count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')))::integer AS "synchronousStandbys",
         (count(*) FILTER (WHERE sync_state IS NULL))::integer AS "hiddenStandbys"
       FROM pg_stat_replication WHERE application_name IS DISTINCT FROM 'pg_basebackup'
     ) AS standbys`,
  )
  if (facts === undefined) throw new StoreFailed("PostgreSQL says nothing of its settings.")
  const [table] = await queries.rows<{ isThere: boolean }>(`SELECT to_regclass('processes') IS NOT NULL AS "isThere"`)
  const living = "SELECT count(*)::integer AS count FROM processes WHERE alive_until > clock_timestamp()"
  const counted = table?.isThere === true ? await queries.row<{ count: number }>(living) : undefined
  return { ...facts, processes: counted?.count ?? 0 }
}

/** Throws `StoreFailed` for a PostgreSQL that is too old, keeps no sessions, or may lose what it has acknowledged. */
export function refuseUnsafeServer({ faults: [fault] }: DatabaseServer, place: string): void {
  if (fault !== undefined) throw new StoreFailed(`The database ${place} ${fault}`)
}
