/**
 * Carries the write-ahead log over into the store's file between transactions.
 *
 * SQLite would do that by itself, within the commit that makes the log long: its callers would wait for the pages of
 * hundreds of other commits. Callers whose writes are committed never wait for a checkpoint; others rarely do. Each
 * time costs three flushes, of the log, the store's file and the log that begins anew, however little is carried over;
 * and a page that many transactions have changed is written once. So the log is carried over in large parts: in parts
 * of 1 MiB it cost more than half as much as the commits, in parts of 32 MiB a twentieth, some 10 ms at a time.
 * Measured.
 */
import type { DatabaseSync } from "node:sqlite"
import { withStoreFaults } from "./sqlite-faults.ts"
import { prepare, type Statement } from "./statements.ts"

/**
 * Bytes of a page of a new store. Ours: each commit writes some eight pages, however little it changes, so in pages of
 * 16 KiB it took the disk nearly twice the bytes at a few thousand posts a second, and in pages of 4 KiB, where a post
 * often has a page or two of its own, batches of 500 posts took the writer a sixth more processor time. Measured.
 */
export const pageBytes = 8_192

/** Bytes of the log's pages at which it is carried over. Ours. */
const carriedBytes = 33_554_432

/**
 * Bytes of pages at which SQLite carries the log over within a commit all the same: one large transaction, or a reader
 * that has kept the log from being begun anew. Ours.
 */
const commitBytes = 67_108_864

/** The same in pages of a store, which are larger in one that an earlier version has made. */
export function checkpointPages(db: DatabaseSync): { readonly carried: number; readonly commit: number } {
  const { page_size: bytes } = prepare<{ page_size: number }>(db, "PRAGMA page_size").get() ?? { page_size: pageBytes }
  return { carried: Math.ceil(carriedBytes / bytes), commit: Math.ceil(commitBytes / bytes) }
}

interface CheckpointRow {
  readonly log: number
  readonly checkpointed: number
}

/** How long a statement waits for another process that writes, such as `sluice app create`. Ours. */
export const busyMs = 5_000

/** The checkpoints of one connection. */
export class LogCheckpoints {
  readonly #lengths: Statement<CheckpointRow>
  readonly #carryOver: Statement<CheckpointRow>
  readonly #empty: Statement<{ readonly busy: number }>
  readonly #db: DatabaseSync
  readonly #carriedPages: number

  constructor(db: DatabaseSync) {
    this.#db = db
    this.#empty = prepare<{ busy: number }>(db, "PRAGMA wal_checkpoint(TRUNCATE)")
    this.#lengths = prepare<CheckpointRow>(db, "PRAGMA wal_checkpoint(NOOP)")
    this.#carryOver = prepare<CheckpointRow>(db, "PRAGMA wal_checkpoint(PASSIVE)")
    this.#carriedPages = checkpointPages(db).carried
  }

  /**
   * Carries over what readers do not need, if that is enough by now, or if there is no room for a longer log. Throws a
   * fault of the store.
   */
  afterCommit({ hasRoom }: { readonly hasRoom: boolean }): void {
    const { log = 0, checkpointed = 0 } = this.#lengths.get() ?? {}
    if (log - checkpointed < (hasRoom ? this.#carriedPages : 1)) return
    this.#carryOver.get()
  }

  /**
   * Carries all of the log over and cuts its file to nothing, so that it holds no page as it was before. Returns false when
   * a reader still needs a part of it: the writer does not wait for it. Throws a fault of the store.
   */
  emptyLog(): boolean {
    return withStoreFaults(() => {
      this.#db.exec("PRAGMA busy_timeout = 0")
      try {
        return this.#empty.get()?.busy === 0
      } finally {
        this.#db.exec(`PRAGMA busy_timeout = ${busyMs}`)
      }
    })
  }
}
