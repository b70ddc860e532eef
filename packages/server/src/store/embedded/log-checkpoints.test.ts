import { join } from "node:path"
import type { DatabaseSync } from "node:sqlite"
import { setImmediate as nextTurn } from "node:timers/promises"
import { expect, test } from "vitest"
import { StoreFull } from "../store-faults.ts"
import { openForReading, openForWriting } from "./database.ts"
import { GroupCommit } from "./group-commit.ts"
import { LogCheckpoints } from "./log-checkpoints.ts"
import { temporaryDirectory } from "../../../../../test/support/temporary-directory.testing.ts"

const pageBytes = 16_384

async function withStore(work: (db: DatabaseSync, file: string) => Promise<void>): Promise<void> {
  await using directory = await temporaryDirectory()
  const file = join(directory.path, "sluice.db")
  const db = openForWriting(file)
  try {
    db.exec("CREATE TABLE notes (bytes BLOB)")
    db.exec("PRAGMA wal_checkpoint(TRUNCATE)")
    await work(db, file)
  } finally {
    db.close()
  }
}

function writePages(db: DatabaseSync, pages: number): void {
  db.prepare("INSERT INTO notes VALUES (zeroblob(?))").run(pages * pageBytes)
}

/** Pages of the log that are not in the store. */
function waiting(db: DatabaseSync): number {
  const { log, checkpointed } = db.prepare("PRAGMA wal_checkpoint(NOOP)").get() as Record<string, number>
  return (log ?? 0) - (checkpointed ?? 0)
}

test("a long log is carried over after a commit, when its caller has the result", () =>
  withStore(async (db) => {
    const group = new GroupCommit(db, { failed: () => undefined })
    await group.run(() => writePages(db, 100))
    await nextTurn()
    expect(waiting(db)).toBeGreaterThan(100)
    await group.run(() => writePages(db, 2_000))
    expect(waiting(db)).toBeGreaterThan(2_100)
    await nextTurn()
    expect(waiting(db)).toBe(0)
  }))

test("a log is carried over, however short, when a write finds no room", () =>
  withStore(async (db) => {
    const group = new GroupCommit(db, { failed: () => undefined })
    await group.run(() => writePages(db, 10))
    await nextTurn()
    expect(waiting(db)).toBeGreaterThan(10)
    const { page_count: pages } = db.prepare("PRAGMA page_count").get() as { page_count: number }
    db.exec(`PRAGMA max_page_count = ${pages}`)
    await expect(group.run(() => writePages(db, 1_000))).rejects.toBeInstanceOf(StoreFull)
    await nextTurn()
    expect(waiting(db)).toBe(0)
  }))

test("what a reader still needs stays in the log, and goes later", () =>
  withStore(async (db, file) => {
    const checkpoints = new LogCheckpoints(db)
    const reader = openForReading(file)
    reader.exec("BEGIN")
    reader.prepare("SELECT count(*) FROM notes").get()
    writePages(db, 2_100)
    checkpoints.afterCommit({ hasRoom: true })
    expect(waiting(db)).toBeGreaterThan(2_100)
    reader.close()
    checkpoints.afterCommit({ hasRoom: true })
    expect(waiting(db)).toBe(0)
  }))
