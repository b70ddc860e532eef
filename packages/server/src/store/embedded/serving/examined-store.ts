/**
 * A store that is only examined: nothing is created, migrated, locked or written, whether a server runs on it or not.
 *
 * Everything is read in one transaction, so a server that writes meanwhile changes nothing of what is seen.
 */
import { DatabaseSync } from "node:sqlite"
import type { Examination, ExaminedStore } from "../../engine.ts"
import { audit } from "./audit.ts"
import { defineRowChecksum } from "../connection/checked-rows.ts"
import { storeVersion } from "../connection/migrations.ts"
import { createReads } from "./reads.ts"
import { prepare } from "../connection/statements.ts"
import { readWithoutTrace } from "../connection/unchanging-store.ts"

/** How long a statement waits for a server that is just opening the store, or closing it. Ours. */
const busyMs = 5_000

/** Examines the store of a file that is there. Throws the error of SQLite when the file cannot be read at all. */
export function examineStore<Result>(file: string, examination: Examination<Result>): Promise<ExaminedStore<Result>> {
  return readWithoutTrace(file, (place) => examine(place, examination))
}

async function examine<Result>(place: string | URL, examination: Examination<Result>): Promise<ExaminedStore<Result>> {
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
