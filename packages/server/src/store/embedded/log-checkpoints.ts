/**
 * Carries the write-ahead log over into the store's file between transactions.
 *
 * SQLite would do that by itself, within the commit that makes the log long: its callers would wait for the pages of
 * hundreds of other commits. Here nobody waits who has written already, and seldom anybody else. Each time costs three
 * flushes, of the log, the store's file and the log that begins anew, however little is carried over; and a page that
 * many transactions have changed is written once. So the log is carried over in large parts: in parts of 1 MiB it cost
 * more than half as much as the commits, in parts of 32 MiB a twentieth, some 10 ms at a time. Measured.
 */
import type { DatabaseSync } from "node:sqlite"
import { prepare, type Statement } from "./statements.ts"

/** Pages of the log at which it is carried over. Ours: 32 MiB. */
export const carriedPages = 2_048

/**
 * Pages at which SQLite carries the log over within a commit all the same: one large transaction, or a reader that has
 * kept the log from being begun anew. Ours: 64 MiB.
 */
export const commitPages = 4_096

interface CheckpointRow {
  readonly log: number
  readonly checkpointed: number
}

/** The checkpoints of one connection. */
export class LogCheckpoints {
  readonly #lengths: Statement<CheckpointRow>
  readonly #carryOver: Statement<CheckpointRow>

  constructor(db: DatabaseSync) {
    this.#lengths = prepare<CheckpointRow>(db, "PRAGMA wal_checkpoint(NOOP)")
    this.#carryOver = prepare<CheckpointRow>(db, "PRAGMA wal_checkpoint(PASSIVE)")
  }

  /**
   * Carries over what readers do not need, if that is enough by now, or if there is no room for a longer log. Throws a
   * fault of the store.
   */
  afterCommit({ hasRoom }: { readonly hasRoom: boolean }): void {
    const { log = 0, checkpointed = 0 } = this.#lengths.get() ?? {}
    if (log - checkpointed < (hasRoom ? carriedPages : 1)) return
    this.#carryOver.get()
  }
}
