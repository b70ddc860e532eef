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
 * A snapshot of the disk has the same identity: there the operator begins the epoch. Any role may call these functions,
 * unless an administrator has revoked that. Source: PostgreSQL's documentation, "System Information Functions" and "System
 * Administration Functions".
 */
import type pg from "pg"
import { StoreReplaced, StoreUnavailable } from "../store-faults.ts"

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

/** The identity in a row. Throws `StoreUnavailable` for a standby. */
export function identityIn(row: IdentityRow | undefined): string {
  if (typeof row?.identity === "string") return row.identity
  throw new StoreUnavailable("PostgreSQL is not available: it is a standby, which only reads.")
}

/** Throws `StoreReplaced` when a new connection leads to another database than the one that a process began with. */
export async function requireDatabase(client: pg.ClientBase, expected: string): Promise<void> {
  const { rows } = await client.query<IdentityRow>(identitySql)
  const found = identityIn(rows[0])
  if (found === expected) return
  throw new StoreReplaced(
    `PostgreSQL is not available: the database was restored or another server has taken over (${found} in place of ` +
      `${expected}), so what this process knows of it may not hold any more. The process has to start again.`,
  )
}
