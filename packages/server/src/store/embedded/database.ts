import { closeSync, openSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { migrate } from "./migrations.ts"

/** How long a statement waits for another process that writes, such as `sluice app create`. Ours. */
const busyMs = 5_000

/**
 * The connection that writes. WAL, so that readers are never held up; `synchronous=FULL`, so that a commit that
 * was answered survives a power cut. Source: sqlite.org, "Write-Ahead Logging" and "PRAGMA synchronous".
 */
export function openForWriting(file: string): DatabaseSync {
  makePrivate(file)
  const db = new DatabaseSync(file, { timeout: busyMs })
  db.exec("PRAGMA page_size = 16384")
  db.exec("PRAGMA journal_mode = WAL")
  db.exec("PRAGMA synchronous = FULL")
  db.exec("PRAGMA foreign_keys = ON")
  db.exec("PRAGMA cache_size = -65536")
  migrate(db)
  return db
}

/** A connection that only reads, of a store that exists already. */
export function openForReading(file: string): DatabaseSync {
  const db = new DatabaseSync(file, { timeout: busyMs, readOnly: true })
  db.exec("PRAGMA cache_size = -65536")
  db.exec("PRAGMA mmap_size = 1073741824")
  return db
}

/** Makes a file that is its owner's alone, when it is not there; what SQLite puts beside it has the same mode. */
export function makePrivate(file: string): void {
  closeSync(openSync(file, "a", 0o600))
}
