/**
 * One server per data directory, held by a lock that dies with its process.
 *
 * The lock is an exclusive transaction on an SQLite file of its own: the operating system lets go of it however
 * the process ends, so there is never a stale lock to clear away. It does not hinder `sluice app`, which writes
 * to the store beside a running server.
 */
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { makePrivate } from "./database.ts"

/** The data directory is served by another process already. */
export class DataDirectoryInUse extends Error {
  override readonly name = "DataDirectoryInUse"
}

/** Takes the directory until the answer is disposed of. Throws `DataDirectoryInUse`. */
export function lockDirectory(directory: string): Disposable {
  const file = join(directory, "server.lock")
  makePrivate(file)
  const db = new DatabaseSync(file, { timeout: 0 })
  try {
    db.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE")
  } catch (error) {
    db.close()
    throw new DataDirectoryInUse(
      `The data directory ${directory} is in use by another Sluice process. Stop that one, or give this one another --data.`,
      { cause: error },
    )
  }
  return { [Symbol.dispose]: () => db.close() }
}
