/**
 * Which database a store is in. A database that was restored, or that another server has taken over, may lack what the one
 * before has given out, so a new epoch begins in it when it is opened (`store/epochs.ts`, `adopted-database.ts`). A process
 * that meets another database than it began with starts again: rules, cursors and counts that it holds may be of what is gone.
 *
 *     system identifier / timeline / database / table
 *
 * - the system identifier differs after a restore into another cluster, and after an upgrade by pg_upgrade
 * - the timeline differs after a promotion of a standby, and after a recovery to a moment in the past
 * - the oid of the database differs after a restore into another database of the same cluster
 * - the oid of the table that holds this identity differs after a restore into the same database
 *
 * A snapshot of the disk has the same identity, and so has a base backup or another copy of the files that is started
 * without `recovery.signal`: PostgreSQL takes that for a crash and stays on its timeline. There the operator begins the
 * epoch. Any role may call these functions, unless an administrator has revoked that. Source: PostgreSQL's documentation,
 * "System Information Functions", "System Administration Functions" and "Continuous Archiving".
 */
import pg from "pg"
import { StoreReplaced, StoreUnavailable } from "../../store-faults.ts"
import { unavailablePrefix } from "./postgres-faults.ts"

/**
 * SQL: the identity. The timeline is the one that is written now; that of the last checkpoint stays the old one for a while
 * after a promotion. NULL on a standby, which writes none.
 */
export const identitySql = `SELECT (SELECT system_identifier FROM pg_control_system()) || '/' ||
    CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) END || '/' ||
    (SELECT oid FROM pg_database WHERE datname = current_database()) || '/' ||
    coalesce(to_regclass('database_identity')::oid, 0) AS "identity"`

/** The row that the statement returns. */
export interface IdentityRow {
  readonly identity: string | null
}

/**
 * The identity in the row that `read` gets by the statement. Throws `StoreUnavailable` for a standby, and where the
 * server refuses the functions: without them a restored database would go unnoticed.
 */
export async function identityBy(read: () => Promise<IdentityRow | undefined>): Promise<string> {
  const row = await read().catch((error: unknown) => {
    throw refusal(error) ?? error
  })
  if (typeof row?.identity === "string") return row.identity
  throw new StoreUnavailable(`${unavailablePrefix}it is a standby, which only reads.`)
}

/** SQLSTATE codes: a right is missing, and a feature is not supported. */
const [insufficientPrivilege, notSupported] = ["42501", "0A000"]

/** The functions that the statement calls, as GRANT names them. */
const functions = "pg_control_system(), pg_current_wal_insert_lsn(), pg_walfile_name(pg_lsn)"

function refusal(cause: unknown): StoreUnavailable | undefined {
  if (!(cause instanceof pg.DatabaseError)) return undefined
  const why = `it does not say which database this is (${cause.message}), so a restore of it would go unnoticed.`
  if (cause.code === insufficientPrivilege) {
    const grant = `GRANT EXECUTE ON FUNCTION ${functions} TO the user of the URL`
    return new StoreUnavailable(`${unavailablePrefix}${why} Let an administrator run in this database: ${grant}.`, {
      cause,
    })
  }
  if (cause.code === notSupported) {
    return new StoreUnavailable(`${unavailablePrefix}${why} Use a server that has ${functions}.`, { cause })
  }
  return undefined
}

/** Throws `StoreReplaced` when a new connection leads to another database than the one that a process began with. */
export async function requireDatabase(client: pg.ClientBase, expected: string): Promise<void> {
  const found = await identityBy(async () => (await client.query<IdentityRow>(identitySql)).rows[0])
  if (found === expected) return
  throw new StoreReplaced(
    `PostgreSQL is not available: the database was restored or another server has taken over (${found} in place of ` +
      `${expected}), so what this process knows of it may not hold any more. The process has to start again.`,
  )
}
