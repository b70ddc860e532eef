import { join } from "node:path"
import type { DatabaseSync } from "node:sqlite"
import { setImmediate as nextTurn } from "node:timers/promises"
import { expect, test } from "vitest"
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

test("the log is carried over after a commit, when its caller has the result and nothing else waits", () =>
  withStore(async (db) => {
    const group = new GroupCommit(db, { failed: () => undefined })
    await group.run(() => writePages(db, 100))
    expect(waiting(db)).toBeGreaterThan(100)
    await nextTurn()
    expect(waiting(db)).toBe(0)
  }))

test("while something waits to be written, the log is carried over when it is sixteen times as long", () =>
  withStore(async (db) => {
    const checkpoints = new LogCheckpoints(db)
    writePages(db, 100)
    checkpoints.afterCommit({ isIdle: false })
    expect(waiting(db)).toBeGreaterThan(100)
    writePages(db, 1_000)
    checkpoints.afterCommit({ isIdle: false })
    expect(waiting(db)).toBe(0)
    writePages(db, 10)
    checkpoints.afterCommit({ isIdle: true })
    expect(waiting(db)).toBeGreaterThan(10)
  }))

test("after a large transaction the log waits for another one, and is carried over after a small one", () =>
  withStore(async (db) => {
    const checkpoints = new LogCheckpoints(db)
    writePages(db, 300)
    checkpoints.afterCommit({ isIdle: true })
    expect(waiting(db)).toBeGreaterThan(300)
    writePages(db, 1)
    checkpoints.afterCommit({ isIdle: true })
    expect(waiting(db)).toBe(0)
  }))

test("what a reader still needs stays in the log, and goes later", () =>
  withStore(async (db, file) => {
    const checkpoints = new LogCheckpoints(db)
    const reader = openForReading(file)
    reader.exec("BEGIN")
    reader.prepare("SELECT count(*) FROM notes").get()
    writePages(db, 100)
    checkpoints.afterCommit({ isIdle: true })
    expect(waiting(db)).toBeGreaterThan(100)
    reader.close()
    checkpoints.afterCommit({ isIdle: true })
    expect(waiting(db)).toBe(0)
  }))
