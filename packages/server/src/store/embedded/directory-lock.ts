/**
 * One server per data directory, held by a lock that dies with its process.
 *
 * The lock is an exclusive transaction on an SQLite file of its own: the operating system lets go of it however
 * the process ends, so there is never a stale lock to clear away. It does not hinder `sluice app`, which writes
 * to the store beside a running server.
 */
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { DataDirectoryInUse, StoreDamaged } from "../store-faults.ts"
import { makePrivate } from "./database.ts"
import { storeFault } from "./sqlite-faults.ts"

/** Takes the directory until the result is disposed of. Throws `DataDirectoryInUse`, or why the lock cannot be taken. */
export function lockDirectory(directory: string): Disposable {
  const file = join(directory, "server.lock")
  makePrivate(file)
  const db = new DatabaseSync(file, { timeout: 0 })
  try {
    db.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE")
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
  return { [Symbol.dispose]: () => db.close() }
}

/** Source: sqlite.org, "Result and Error Codes": SQLITE_BUSY. */
function isHeld(error: unknown): boolean {
  return ((error as { errcode?: number }).errcode ?? 0) % 256 === 5
}
