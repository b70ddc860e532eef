/**
 * One transaction for all writes that are asked for at the same time.
 *
 * A durable commit costs a flush of the disk, whatever it holds. So writes wait until the current turn of the
 * event loop is over and then share one transaction; each has a savepoint of its own, so that one which fails
 * takes nothing of the others with it. Nobody is answered before the commit.
 */
import type { DatabaseSync } from "node:sqlite"

interface Pending {
  readonly write: () => unknown
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/** Most writes in one transaction; more wait for the next. Ours. */
const writesMax = 1_000

export class GroupCommit {
  readonly #db: DatabaseSync
  readonly #committed: () => void
  #pending: Pending[] = []
  #scheduled = false
  #isClosed = false

  /** `committed` is called after each commit, before those who asked for it are answered. */
  constructor(db: DatabaseSync, committed: () => void) {
    this.#db = db
    this.#committed = committed
  }

  /** What `write` answers, once it is durable. Rejects when it throws or when the commit fails; then nothing of it is kept. */
  run<Result>(write: () => Result): Promise<Result> {
    if (this.#isClosed) return Promise.reject(new Error("The store is closed."))
    return new Promise<Result>((resolve, reject) => {
      this.#pending.push({ write, resolve: resolve as (value: unknown) => void, reject })
      this.#schedule()
    })
  }

  /** Commits what is pending, before the connection may be closed. A write that comes later is rejected. */
  close(): void {
    this.#isClosed = true
    while (this.#pending.length > 0) this.#commit()
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => this.#commit())
  }

  #commit(): void {
    const batch = this.#pending.splice(0, writesMax)
    this.#scheduled = false
    if (batch.length === 0) return
    if (this.#pending.length > 0) this.#schedule()
    const answers: (() => void)[] = []
    try {
      this.#db.exec("BEGIN IMMEDIATE")
      for (const pending of batch) answers.push(this.#attempt(pending))
      this.#db.exec("COMMIT")
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec("ROLLBACK")
      for (const pending of batch) pending.reject(error)
      return
    }
    this.#committed()
    for (const answer of answers) answer()
  }

  #attempt({ write, resolve, reject }: Pending): () => void {
    this.#db.exec("SAVEPOINT one")
    try {
      const result = write()
      this.#db.exec("RELEASE one")
      return () => resolve(result)
    } catch (error) {
      this.#db.exec("ROLLBACK TO one")
      this.#db.exec("RELEASE one")
      return () => reject(error)
    }
  }
}
