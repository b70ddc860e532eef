/** The files next to the store that follow from it, and can be made again. */
import { rmSync } from "node:fs"
import { dirname, join } from "node:path"

/** Name of the search index in the data directory. */
export const searchName = "search.db"

/** The search index of the store of a file. */
export function searchFileOf(storeFile: string): string {
  return join(dirname(storeFile), searchName)
}

/** Removes a search index, and the files that SQLite has added. No connection may be open. */
export function removeSearchFile(file: string): void {
  // In this order: without its log a database may be damaged, and a log without a database is removed when one is made.
  for (const path of [file, `${file}-wal`, `${file}-shm`]) rmSync(path, { force: true })
}
