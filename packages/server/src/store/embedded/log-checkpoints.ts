/**
 * Carries the write-ahead log over into the store's file between transactions.
 *
 * SQLite would do that by itself, within the commit that makes the log long: its callers would wait for the pages of
 * hundreds of other commits. Here nobody waits who has written already. While nothing waits to be written the log is
 * carried over in small parts, of a few milliseconds each; while there is always something, or posts come in full
 * batches, in large ones, since a page that several transactions have changed is then written once.
 */
import type { DatabaseSync } from "node:sqlite"
import { prepare, type Statement } from "./statements.ts"

/** Pages of the log that are carried over when nothing waits, and when something does. Ours: 1 MiB, and 16 MiB. */
const idlePages = 64
const busyPages = 1_024

/** Pages of a transaction after which another one like it is expected: half of a full batch of posts. Measured. */
const fullPages = 256

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
  /** Pages that waited after the last call. */
  #waiting = 0

  constructor(db: DatabaseSync) {
    this.#lengths = prepare<CheckpointRow>(db, "PRAGMA wal_checkpoint(NOOP)")
    this.#carryOver = prepare<CheckpointRow>(db, "PRAGMA wal_checkpoint(PASSIVE)")
  }

  /** Carries over what readers do not need, if that is enough by now. Throws a fault of the store. */
  afterCommit({ isIdle }: { readonly isIdle: boolean }): void {
    const { log = 0, checkpointed = 0 } = this.#lengths.get() ?? {}
    const waiting = log - checkpointed
    const isQuiet = isIdle && waiting - this.#waiting < fullPages
    this.#waiting = waiting
    if (waiting < (isQuiet ? idlePages : busyPages)) return
    this.#carryOver.get()
    this.#waiting = 0
  }
}
