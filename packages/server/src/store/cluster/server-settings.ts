/** What a PostgreSQL server must be for a store. Source: PostgreSQL's documentation, "Reliability and the Write-Ahead Log". */
import { StoreFailed } from "../store-faults.ts"
import type { Queries } from "./database.ts"

/** Throws `StoreFailed` for a PostgreSQL that is too old, or that may lose what it has acknowledged. `place` begins a sentence. */
export async function refuseUnsafeServer(queries: Queries, place: string): Promise<void> {
  const server = await queries.row<{ version: number; fsync: string; commit: string; encoding: string }>(
    `SELECT current_setting('server_version_num')::integer AS version, current_setting('fsync') AS fsync,
       current_setting('synchronous_commit') AS commit, current_setting('server_encoding') AS encoding`,
  )
  const { version = 0, fsync, commit, encoding } = server ?? {}
  if (version < 150_000)
    throw new StoreFailed(`${place} is PostgreSQL ${Math.floor(version / 10_000)}: 15 or newer is needed.`)
  if (encoding !== "UTF8") throw new StoreFailed(`${place} has the encoding ${encoding}: create it with UTF8.`)
  if (fsync !== "on")
    throw new StoreFailed(`${place} has fsync = ${fsync}: what it acknowledges may be lost. Set it to on.`)
  if (commit !== "on" && commit !== "remote_apply") {
    throw new StoreFailed(
      `${place} has synchronous_commit = ${commit}: what it acknowledges may be lost. Set it to on, or to remote_apply.`,
    )
  }
}
