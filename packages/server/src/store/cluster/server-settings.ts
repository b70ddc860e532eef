/** What a PostgreSQL server must be for a store. Source: PostgreSQL's documentation, "Reliability and the Write-Ahead Log". */
import type { DatabaseServer } from "../engine.ts"
import { StoreFailed } from "../store-faults.ts"
import type { Queries } from "./database.ts"

interface SettingsRow {
  readonly versionNumber: number
  readonly version: string
  readonly fsync: string
  readonly fullPages: string
  readonly commit: string
  readonly encoding: string
  readonly checksums: string
}

/** Reads what the server is, and what of it no store may be kept on. */
export async function inspectServer(queries: Queries): Promise<DatabaseServer> {
  const row = await queries.row<SettingsRow>(
    `SELECT current_setting('server_version_num')::integer AS "versionNumber", current_setting('server_version') AS "version",
       current_setting('fsync') AS "fsync", current_setting('full_page_writes') AS "fullPages",
       current_setting('synchronous_commit') AS "commit", current_setting('server_encoding') AS "encoding",
       current_setting('data_checksums') AS "checksums"`,
  )
  if (row === undefined) throw new StoreFailed("PostgreSQL says nothing of its settings.")
  return {
    version: row.version,
    synchronousCommit: row.commit,
    hasPageChecksums: row.checksums === "on",
    hasFullPageWrites: row.fullPages === "on",
    faults: faultsOf(row),
  }
}

/** Each goes behind the name of the database. */
function faultsOf({ versionNumber, encoding, fsync, commit }: SettingsRow): readonly string[] {
  return [
    versionNumber < 150_000 && `is PostgreSQL ${Math.floor(versionNumber / 10_000)}: 15 or newer is needed.`,
    encoding !== "UTF8" && `has the encoding ${encoding}: create it with UTF8.`,
    fsync !== "on" && `has fsync = ${fsync}: what it acknowledges may be lost. Set it to on.`,
    commit !== "on" &&
      commit !== "remote_apply" &&
      `has synchronous_commit = ${commit}: what it acknowledges may be lost. Set it to on, or to remote_apply.`,
  ].filter((fault) => fault !== false)
}

/** Throws `StoreFailed` for a PostgreSQL that is too old, or that may lose what it has acknowledged. `place` begins a sentence. */
export async function refuseUnsafeServer(queries: Queries, place: string): Promise<void> {
  const [fault] = (await inspectServer(queries)).faults
  if (fault !== undefined) throw new StoreFailed(`${place} ${fault}`)
}
