/**
 * A store that is only examined: nothing is created, migrated, locked or written, whether a server runs on it or not.
 *
 * Everything is read in one transaction, so a server that writes meanwhile changes nothing of what is seen. SQLite
 * would leave its two files beside a store that nobody has open; so such a store is opened as one that does not
 * change, and examined again, the common way, when it did change after all.
 */
import { existsSync, statSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { pathToFileURL } from "node:url"
import type { Examination, ExaminedStore } from "../engine.ts"
import { audit } from "./audit.ts"
import { defineRowChecksum } from "./checked-rows.ts"
import { storeVersion } from "./migrations.ts"
import { createReads } from "./reads.ts"
import { prepare } from "./statements.ts"

/** How long a statement waits for a server that is just opening the store, or closing it. Ours. */
const busyMs = 5_000

/** Examines the store of a file that is there. Throws the error of SQLite when the file cannot be read at all. */
export async function examineStore<Result>(
  file: string,
  examination: Examination<Result>,
): Promise<ExaminedStore<Result>> {
  const log = `${file}-wal`
  if (existsSync(log)) return examine(file, examination)
  const before = statSync(file, { bigint: true })
  const unchanging = pathToFileURL(file)
  unchanging.searchParams.set("immutable", "1")
  const isAsBefore = (): boolean => {
    const after = statSync(file, { bigint: true })
    return !existsSync(log) && after.mtimeNs === before.mtimeNs && after.size === before.size
  }
  try {
    const found = await examine(unchanging, examination)
    if (isAsBefore()) return found
  } catch (error) {
    if (isAsBefore()) throw error
  }
  return examine(file, examination)
}

async function examine<Result>(place: string | URL, examination: Examination<Result>): Promise<ExaminedStore<Result>> {
  // No memory map: a file that is shorter than it says would end the process instead of the statement.
  using db = new DatabaseSync(place, { timeout: busyMs, readOnly: true })
  defineRowChecksum(db)
  // Never ended: there is nothing to keep, and a damaged store may not let it end.
  db.exec("BEGIN")
  const version = prepare<{ user_version: number }>(db, "PRAGMA user_version").get()?.user_version ?? 0
  if (version === storeVersion) {
    const found = audit(db)
    return { kind: "read", version, result: await examination(found, createReads(db)) }
  }
  const rows = prepare<{ integrity_check: string }>(db, "PRAGMA integrity_check(100)").all()
  return {
    kind: version < storeVersion ? "older" : "newer",
    version,
    knownVersion: storeVersion,
    damage: rows.map((row) => row.integrity_check).filter((text) => text !== "ok"),
  }
}
