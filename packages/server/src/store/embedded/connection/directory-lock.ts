/**
 * One server per data directory, held by a lock that dies with its process.
 *
 * The lock is an exclusive transaction on an SQLite file of its own: the operating system lets go of it however the
 * process ends, so there is never a stale lock to clear away. It does not hinder `sluice app`, which writes to the
 * store while a server runs.
 *
 * A file can be removed, and its lock with it. So the holder looks whether the file is still its own. If not, it makes
 * the file anew and locks that. A process that finds the file missing, or new, looks at the store itself: every connection to it
 * has a lock on the store's own file. When the store is open, the holder of the lock gets time to take the lock again;
 * a command that has the store open does not do so.
 */
import { statSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { systemClock } from "../../../runtime/clock.ts"
import { DataDirectoryInUse, StoreDamaged } from "../../store-faults.ts"
import { makePrivate, storeFile } from "./database.ts"
import { storeFault } from "./sqlite-faults.ts"

/** Time between two looks at the lock's file. Ours: a look costs microseconds. */
const watchMs = 250

/** How long a holder whose lock was removed gets to take it again. Ours: several looks, though its thread is busy. */
const retakeMs = 2_000

/** How long a lock's file counts as new. Ours: it is long enough for the holder of an older one to have noticed. */
const newMs = 3_000

/**
 * Takes the directory until the result is disposed of. Throws `DataDirectoryInUse`, or why the lock cannot be taken. `lost`
 * is called when another process has taken the lock after its file was removed.
 */
export function lockDirectory(
  directory: string,
  { lost }: { readonly lost?: (error: DataDirectoryInUse) => void } = {},
): Disposable {
  const file = join(directory, "server.lock")
  awaitHolder(file, storeFile(directory))
  let held = take(directory, file)
  const watching = setInterval(() => {
    try {
      if (inodeOf(file) === held.inode) return
      const before = held
      held = take(directory, file)
      before.db.close()
    } catch (error) {
      // Any other error may pass, and until then the next look tries again.
      if (!(error instanceof DataDirectoryInUse)) return
      clearInterval(watching)
      lost?.(error)
    }
  }, watchMs).unref()
  return {
    [Symbol.dispose]() {
      clearInterval(watching)
      held.db.close()
    },
  }
}

/** A lock, and the file that it is on. */
interface HeldLock {
  readonly db: DatabaseSync
  readonly inode: bigint | undefined
}

function take(directory: string, file: string): HeldLock {
  makePrivate(file)
  const inode = inodeOf(file)
  const db = new DatabaseSync(file, { timeout: 0 })
  try {
    db.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE")
    return { db, inode }
  } catch (error) {
    db.close()
    if (isHeld(error)) {
      throw new DataDirectoryInUse(
        `The data directory ${directory} is in use by another Sluice process. Stop that one, or give this one another --data.`,
        { cause: error },
      )
    }
    const fault = storeFault(error)
    throw fault instanceof StoreDamaged
      ? new StoreDamaged(`${file} is not the lock that Sluice makes there. Take it away.`, { cause: error })
      : fault
  }
}

function inodeOf(file: string): bigint | undefined {
  return statSync(file, { bigint: true, throwIfNoEntry: false })?.ino
}

/** While the store is open, waits until a holder whose lock file was removed must have the lock again. */
function awaitHolder(file: string, store: string): void {
  if (!isNew(file)) return
  for (const endsAtMs = systemClock.monotonicMs() + retakeMs; systemClock.monotonicMs() < endsAtMs && isOpen(store);) {
    // The thread has nothing else to do before it has the lock.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, watchMs)
  }
}

function isNew(file: string): boolean {
  const found = statSync(file, { throwIfNoEntry: false })
  return found === undefined || Math.abs(systemClock.nowMs() - found.ctimeMs) < newMs
}

/** Whether any connection to the store is open: then no other one gets it for itself. */
function isOpen(store: string): boolean {
  if ((statSync(store, { throwIfNoEntry: false })?.size ?? 0) === 0) return false
  try {
    using db = new DatabaseSync(store, { timeout: 0 })
    db.exec("PRAGMA locking_mode = EXCLUSIVE")
    db.prepare("PRAGMA user_version").get()
    return false
  } catch (error) {
    // Opening the store reports all else.
    return isHeld(error)
  }
}

/** Source: sqlite.org, "Result and Error Codes": SQLITE_BUSY. */
function isHeld(error: unknown): boolean {
  return ((error as { errcode?: number }).errcode ?? 0) % 256 === 5
}
