import { closeSync, existsSync, openSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { StoreDamaged, StoreFull } from "../../store-faults.ts"
import { defineRowChecksum } from "./checked-rows.ts"
import { removeSearchFile, searchFileOf } from "./derived-files.ts"
import { busyMs, checkpointPages, pageBytes } from "./log-checkpoints.ts"
import { beginEpochOfCopy, isMarkedAsCopy } from "../nouns/log-epochs.ts"
import { migrate, storeVersion } from "./migrations.ts"
import { damagedSchema } from "./schema.ts"
import { withStoreFaults } from "./sqlite-faults.ts"

/** Name of the store's file in the data directory. */
export const storeName = "sluice.db"

/** The store's file. */
export function storeFile(directory: string): string {
  return join(directory, storeName)
}

/**
 * The connection that writes. WAL, so that readers are never held up; `synchronous=FULL`, so that a commit that
 * was acknowledged survives a power cut. `cacheBytes` is the most that it keeps of the file. Source: sqlite.org,
 * "Write-Ahead Logging" and "PRAGMA synchronous".
 */
export function openForWriting(file: string, { cacheBytes = defaultCacheBytes } = {}): DatabaseSync {
  makePrivate(file)
  const db = new DatabaseSync(file, { timeout: busyMs })
  return closedUnless(db, () => {
    // Has an effect on a new store only.
    db.exec(`PRAGMA page_size = ${pageBytes}`)
    db.exec("PRAGMA journal_mode = WAL")
    db.exec("PRAGMA synchronous = FULL")
    db.exec(`PRAGMA wal_autocheckpoint = ${checkpointPages(db).commit}`)
    db.exec("PRAGMA foreign_keys = ON")
    // SQLite overwrites deleted rows, also in pages that it gives back: a deleted post leaves no bytes behind.
    db.exec("PRAGMA secure_delete = ON")
    boundCache(db, cacheBytes)
    writeBack(db)
    // One that is there is of another store, or of later posts than a backup has.
    if (isEmpty(db) || isMarkedAsCopy(db)) removeSearchFile(searchFileOf(file))
    migrate(db)
    beginEpochOfCopy(db)
    refuseDamagedSchema(db)
    // The undo log of a savepoint can outgrow SQLite's memory for it, and there may be no room for files outside the
    // data directory. Set after the migration, whose sorts may be larger than memory.
    db.exec("PRAGMA temp_store = MEMORY")
  })
}

function refuseDamagedSchema(db: DatabaseSync): void {
  for (const found of damagedSchema(db)) {
    throw new StoreDamaged(`The store is damaged (${found}). Restore a backup (\`sluice restore\`).`)
  }
}

/** Default memory of a connection's cache of pages, or of matches. Ours. */
export const defaultCacheBytes = 16_777_216

/** SQLite reads a negative size as KiB. Source: sqlite.org, "PRAGMA cache_size". */
function boundCache(db: DatabaseSync, bytes: number): void {
  db.exec(`PRAGMA cache_size = -${Math.ceil(bytes / 1024)}`)
}

/**
 * A connection that only reads, of a store that exists already. `cacheBytes` is the most that it keeps of the file.
 *
 * The file is read, never mapped into memory: a sector that the disk cannot read would end the process by a signal, and
 * what is mapped counts as the process's memory. A mapped file saved a twentieth of a read of a log, and a third of one
 * of posts all over the store. Measured. SQLite maps the index of the write-ahead log all the same (`-shm`), which each
 * first start makes anew.
 */
export function openForReading(file: string, { cacheBytes = defaultCacheBytes } = {}): DatabaseSync {
  const db = new DatabaseSync(file, { timeout: busyMs, readOnly: true })
  return closedUnless(db, () => {
    defineRowChecksum(db)
    boundCache(db, cacheBytes)
  })
}

/** Whether a file is a database in which nothing was ever created. False when it cannot be read: opening reports that. */
export function isEmptyStore(file: string): boolean {
  try {
    using db = new DatabaseSync(file, { readOnly: true })
    return isEmpty(db)
  } catch {
    return false
  }
}

/** Whether a file is a store of an earlier version, which `openForWriting` would migrate. False when it cannot be read. */
export function isOutdatedStore(file: string): boolean {
  try {
    using db = new DatabaseSync(file, { readOnly: true })
    return !isEmpty(db) && versionOf(db) < storeVersion
  } catch {
    return false
  }
}

function isEmpty(db: DatabaseSync): boolean {
  return versionOf(db) === 0
}

function versionOf(db: DatabaseSync): number {
  return Number(db.prepare("PRAGMA user_version").get()?.["user_version"])
}

/**
 * Carries the write-ahead log over into the store. A process that ended because a flush failed may have left commits
 * that the system's memory holds and the disk does not, and no later flush of the log would put them there.
 */
function writeBack(db: DatabaseSync): void {
  try {
    withStoreFaults(() => db.exec("PRAGMA wal_checkpoint(PASSIVE)"))
  } catch (error) {
    // Stored rows can still be read, and writes are refused one by one until there is room.
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

/** Creates a file that only its owner may read, when it is not there. Files that SQLite adds have the same mode. */
export function makePrivate(file: string): void {
  if (existsSync(file)) return
  try {
    // Only for a new file: never follow a symbolic link, never write to anything but a regular file.
    closeSync(openSync(file, "ax", 0o600))
  } catch (error) {
    // Another process may be making it.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error
  }
}
