/**
 * The file of the embedded store's search index, next to the store's own.
 *
 *     search_index   one row: version of the terms, position
 *     partitions     where each partition begins, and how many posts it has
 *     posts_<id> and two more of each partition (partition-tables.ts)
 *
 * It can be filled again from the store at any time, so nothing in it is worth repairing: a file that is damaged, that
 * another program made or that has terms of another version is removed, and an empty one takes its place. So is one that
 * belongs to another store, which the first writer of a new or restored store removes (`connection/database.ts`).
 *
 * WAL with `synchronous=NORMAL`: a commit waits for no disk. Position and terms change in one transaction. A process that is
 * killed loses none that was committed, and a power cut loses the last ones together, so that the index is as it was a
 * moment before and is filled from there. Source: sqlite.org, "PRAGMA synchronous": such a file stays consistent.
 */
import { existsSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { StoreDamaged } from "../../store-faults.ts"
import { makePrivate } from "../connection/database.ts"
import { removeSearchFile } from "../connection/derived-files.ts"
import { prepare } from "../connection/statements.ts"
import { withStoreFaults } from "../connection/sqlite-faults.ts"

/** Marks the file as a search index: "SLSI" in ASCII. */
const searchMark = 0x53_4c_53_49

/** Version of the tables. A file of another version is removed. */
const layoutVersion = 2

/** Most bytes of the file that the connection keeps in memory. Ours. */
const cacheBytes = 16_777_216

const layout = `
  CREATE TABLE search_index (terms_version INTEGER NOT NULL, position TEXT);
  CREATE TABLE partitions (from_id INTEGER PRIMARY KEY, posts INTEGER NOT NULL, last_id INTEGER NOT NULL,
    late INTEGER NOT NULL);
  PRAGMA user_version = ${layoutVersion};
  PRAGMA application_id = ${searchMark};`

/**
 * Opens the index of a file, or begins it anew when it is not whole or `begin` finds that. Returns what `begin` returns. Throws the
 * faults of a store when the disk is full or fails.
 */
export function openSearchFile<Opened>(
  file: string,
  termsVersion: number,
  begin: (db: DatabaseSync) => Opened,
): Opened {
  try {
    return openWhole(file, termsVersion, begin)
  } catch (error) {
    if (!(error instanceof StoreDamaged)) throw error
    removeSearchFile(file)
    return openWhole(file, termsVersion, begin)
  }
}

function openWhole<Opened>(file: string, termsVersion: number, begin: (db: DatabaseSync) => Opened): Opened {
  if (!existsSync(file)) removeSearchFile(file)
  makePrivate(file)
  const db = new DatabaseSync(file)
  try {
    return withStoreFaults(() => {
      db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY")
      // Terms of deleted posts are overwritten.
      db.exec("PRAGMA secure_delete = ON")
      db.exec(`PRAGMA cache_size = -${cacheBytes / 1024}`)
      if (isEmpty(db)) create(db, termsVersion)
      requireOwn(db, termsVersion)
      return begin(db)
    })
  } catch (error) {
    db.close()
    throw error
  }
}

function isEmpty(db: DatabaseSync): boolean {
  return prepare(db, "SELECT 1 FROM sqlite_schema").get() === undefined
}

function create(db: DatabaseSync, termsVersion: number): void {
  inTransaction(db, () => {
    db.exec(layout)
    prepare(db, "INSERT INTO search_index VALUES (?, NULL)").run(termsVersion)
  })
}

/** Throws `StoreDamaged` for a file of another program, of another version of this one, or of other terms. */
function requireOwn(db: DatabaseSync, termsVersion: number): void {
  const mark = prepare<{ application_id: number }>(db, "PRAGMA application_id").get()?.application_id
  const version = prepare<{ user_version: number }>(db, "PRAGMA user_version").get()?.user_version
  const isOwn = mark === searchMark && version === layoutVersion
  const terms = isOwn
    ? prepare<{ terms: number }>(db, "SELECT terms_version AS terms FROM search_index").get()
    : undefined
  if (terms?.terms !== termsVersion)
    throw new StoreDamaged("The search index is not of this version, and is made anew.")
}

/** The result of a transaction. When it throws, nothing of it is kept. */
export function inTransaction<Result>(db: DatabaseSync, work: () => Result): Result {
  db.exec("BEGIN IMMEDIATE")
  try {
    const result = work()
    db.exec("COMMIT")
    return result
  } catch (error) {
    // A full or failing disk may have ended it already.
    if (db.isTransaction) db.exec("ROLLBACK")
    throw error
  }
}
