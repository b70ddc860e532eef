/**
 * One transaction for all writes that are asked for at the same time.
 *
 * A durable commit costs a flush of the disk, whatever it holds. So writes wait until the current turn of the
 * event loop is over and then share one transaction; each of several has a savepoint of its own, so that one which
 * fails takes nothing of the others with it. Nobody is answered before the commit.
 *
 * A full disk is told to those who asked, and the next try may succeed. A disk that fails ends it all: once a flush
 * has failed, one that succeeds says nothing of what was written before, so whatever came after would be
 * acknowledged in vain.
 */
import type { DatabaseSync } from "node:sqlite"
import { crashPoint } from "../../runtime/crash-points.ts"
import { StoreFailed, StoreFull } from "../store-faults.ts"
import { storeFault } from "./sqlite-faults.ts"

interface Pending {
  readonly write: () => unknown
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
  readonly holdsPosts: boolean
}

/** Most writes in one transaction; more wait for the next. Ours. */
const writesMax = 1_000

export class GroupCommit {
  readonly #db: DatabaseSync
  readonly #committed: () => void
  readonly #failed: (error: StoreFailed) => void
  #pending: Pending[] = []
  #scheduled = false
  /** Why nothing more is taken. */
  #end: Error | undefined

  /**
   * `committed` is called after each commit, before those who asked for it are answered; `failed` once, when the disk
   * has failed and nothing more is tried.
   */
  constructor(
    db: DatabaseSync,
    { committed, failed }: { committed: () => void; failed: (error: StoreFailed) => void },
  ) {
    this.#db = db
    this.#committed = committed
    this.#failed = failed
  }

  /**
   * What `write` answers, once it is durable. Rejects when it throws or when the commit fails; then nothing of it is
   * kept, unless the disk failed: then that is not known.
   */
  run<Result>(write: () => Result, { holdsPosts = false } = {}): Promise<Result> {
    if (this.#end !== undefined) return Promise.reject(this.#end)
    return new Promise<Result>((resolve, reject) => {
      this.#pending.push({ write, resolve: resolve as (value: unknown) => void, reject, holdsPosts })
      this.#schedule()
    })
  }

  /** Commits what is pending, before the connection may be closed. A write that comes later is rejected. */
  close(): void {
    this.#end ??= new Error("The store is closed.")
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
    this.#commitAll(batch)
  }

  #commitAll(batch: readonly Pending[]): void {
    const holdsPosts = batch.some((pending) => pending.holdsPosts)
    const answers: (() => void)[] = []
    try {
      this.#db.exec("BEGIN IMMEDIATE")
      const [only] = batch
      if (only !== undefined && batch.length === 1) answers.push(this.#attemptAlone(only))
      else for (const pending of batch) answers.push(this.#attempt(pending))
      if (holdsPosts) crashPoint("before-commit")
      this.#db.exec("COMMIT")
    } catch (error) {
      this.#giveUp(batch, storeFault(error))
      return
    }
    if (holdsPosts) crashPoint("after-commit")
    this.#committed()
    for (const answer of answers) answer()
  }

  /** Without a savepoint, which would copy whatever is changed: the transaction is its own. */
  #attemptAlone({ write, resolve }: Pending): () => void {
    const result = write()
    return () => resolve(result)
  }

  #attempt({ write, resolve, reject }: Pending): () => void {
    this.#db.exec("SAVEPOINT one")
    try {
      const result = write()
      this.#db.exec("RELEASE one")
      return () => resolve(result)
    } catch (error) {
      const fault = storeFault(error)
      // A disk that is full or fails may have ended the transaction, and with it what the others wrote.
      if (fault instanceof StoreFailed || !this.#db.isTransaction) throw fault
      this.#db.exec("ROLLBACK TO one")
      this.#db.exec("RELEASE one")
      return () => reject(fault)
    }
  }

  #giveUp(batch: readonly Pending[], fault: unknown): void {
    if (fault instanceof StoreFailed) {
      this.#end = fault
      for (const pending of [...batch, ...this.#pending.splice(0)]) pending.reject(fault)
      this.#failed(fault)
      return
    }
    if (this.#db.isTransaction) this.#db.exec("ROLLBACK")
    const [posts, others] = [batch.filter((one) => one.holdsPosts), batch.filter((one) => !one.holdsPosts)]
    if (fault instanceof StoreFull && posts.length > 0 && others.length > 0) {
      // Cursors and rules may well fit where a batch of posts does not.
      this.#commitAll(others)
      if (this.#end instanceof StoreFailed) for (const pending of posts) pending.reject(this.#end)
      else this.#commitAll(posts)
      return
    }
    for (const pending of batch) pending.reject(fault)
  }
}
