import { closeSync, openSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { StoreFull } from "../store-faults.ts"
import { migrate } from "./migrations.ts"
import { withStoreFaults } from "./sqlite-faults.ts"

/** How long a statement waits for another process that writes, such as `sluice app create`. Ours. */
const busyMs = 5_000

/**
 * The connection that writes. WAL, so that readers are never held up; `synchronous=FULL`, so that a commit that
 * was answered survives a power cut. Source: sqlite.org, "Write-Ahead Logging" and "PRAGMA synchronous".
 */
export function openForWriting(file: string): DatabaseSync {
  makePrivate(file)
  const db = new DatabaseSync(file, { timeout: busyMs })
  return closedUnless(db, () => {
    db.exec("PRAGMA page_size = 16384")
    db.exec("PRAGMA journal_mode = WAL")
    db.exec("PRAGMA synchronous = FULL")
    db.exec("PRAGMA foreign_keys = ON")
    db.exec("PRAGMA cache_size = -65536")
    writeBack(db)
    migrate(db)
    // What undoes one write of several can be larger than SQLite keeps in memory, and elsewhere than in the data
    // directory there may be no place for files. After the migration: what that sorts may be larger than memory.
    db.exec("PRAGMA temp_store = MEMORY")
  })
}

/** A connection that only reads, of a store that exists already. */
export function openForReading(file: string): DatabaseSync {
  const db = new DatabaseSync(file, { timeout: busyMs, readOnly: true })
  return closedUnless(db, () => {
    db.exec("PRAGMA cache_size = -65536")
    db.exec("PRAGMA mmap_size = 1073741824")
  })
}

/**
 * Carries the write-ahead log over into the store. A process that ended because a flush failed may have left commits
 * that the system's memory holds and the disk does not, and no later flush of the log would put them there.
 */
function writeBack(db: DatabaseSync): void {
  try {
    withStoreFaults(() => db.exec("PRAGMA wal_checkpoint(PASSIVE)"))
  } catch (error) {
    // What is stored can still be read, and writes are refused one by one until there is room.
    if (!(error instanceof StoreFull)) throw error
  }
}

function closedUnless(db: DatabaseSync, prepare: () => void): DatabaseSync {
  try {
    withStoreFaults(prepare)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** Makes a file that is its owner's alone, when it is not there; what SQLite puts beside it has the same mode. */
export function makePrivate(file: string): void {
  closeSync(openSync(file, "a", 0o600))
}
