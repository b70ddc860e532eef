import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { setImmediate as nextTurn } from "node:timers/promises"
import { expect, test } from "vitest"
import { StoreFull } from "../../store-faults.ts"
import { openForReading, openForWriting } from "./database.ts"
import { GroupCommit } from "../serving/group-commit.ts"
import { checkpointPages, LogCheckpoints, pageBytes } from "./log-checkpoints.ts"
import { temporaryDirectory } from "../../../../../../test/support/temporary-directory.testing.ts"

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

test("a long log is checkpointed after a commit, when its caller has the result", () =>
  withStore(async (db) => {
    const group = new GroupCommit(db, { failed: () => undefined })
    await group.run(() => writePages(db, 100))
    await nextTurn()
    expect(waiting(db)).toBeGreaterThan(100)
    await group.run(() => writePages(db, 4_000))
    expect(waiting(db)).toBeGreaterThan(4_100)
    await nextTurn()
    expect(waiting(db)).toBe(0)
  }))

test("a log is checkpointed, however short, when a write finds no room", () =>
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

test("pages that a reader still needs stay in the log, and are checkpointed later", () =>
  withStore(async (db, file) => {
    const checkpoints = new LogCheckpoints(db)
    const reader = openForReading(file)
    reader.exec("BEGIN")
    reader.prepare("SELECT count(*) FROM notes").get()
    writePages(db, 4_100)
    checkpoints.afterCommit({ hasRoom: true })
    expect(waiting(db)).toBeGreaterThan(4_100)
    reader.close()
    checkpoints.afterCommit({ hasRoom: true })
    expect(waiting(db)).toBe(0)
  }))

test("a store of an earlier version keeps its page size, and its log is checkpointed at the same bytes", async () => {
  await using directory = await temporaryDirectory()
  const file = join(directory.path, "sluice.db")
  {
    using earlier = new DatabaseSync(file)
    earlier.exec("PRAGMA page_size = 16384; PRAGMA journal_mode = WAL")
  }
  using db = openForWriting(file)
  expect(db.prepare("PRAGMA page_size").get()).toEqual({ page_size: 16_384 })
  expect(checkpointPages(db)).toEqual({ carried: 2_048, commit: 4_096 })
  expect(db.prepare("PRAGMA wal_autocheckpoint").get()).toEqual({ wal_autocheckpoint: 4_096 })
  using made = openForWriting(join(directory.path, "new.db"))
  expect(made.prepare("PRAGMA page_size").get()).toEqual({ page_size: pageBytes })
  expect(checkpointPages(made)).toEqual({ carried: 4_096, commit: 8_192 })
})
