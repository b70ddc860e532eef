/**
 * One transaction for all writes that are requested at the same time.
 *
 * A durable commit of any size costs a flush of the disk. So writes wait until the current turn of the event loop is
 * over and then share one transaction; each of several has a savepoint of its own, so that one which fails takes
 * nothing of the others with it. No write is acknowledged before the commit.
 *
 * After a commit of posts the next ones come soon, and a write that came first would have them wait for a flush of its
 * own. So other writes wait a moment for posts, to share their transaction.
 *
 * A full disk is reported to the callers, and the next try may succeed. A disk that fails ends it all: once a flush has
 * failed, one that succeeds says nothing of earlier writes, so later ones would be acknowledged in vain.
 */
import type { DatabaseSync } from "node:sqlite"
import { systemClock, type Clock } from "../../../runtime/clock.ts"
import { crashPoint } from "../../../runtime/crash-points.ts"
import { StoreDamaged, StoreFailed, StoreFull } from "../../store-faults.ts"
import { LogCheckpoints } from "../connection/log-checkpoints.ts"
import { storeFault } from "../connection/sqlite-faults.ts"

interface Pending {
  readonly write: () => unknown
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
  /** How many posts it keeps. */
  readonly posts: number
}

/** Most writes in one transaction; more wait for the next. Ours. */
const writesMax = 1_000

/**
 * Most posts in one transaction, unless its first batch has more; further batches wait for the next, in their order,
 * and other writes do not wait for them. Ours: four full batches, some 50 ms.
 */
const postsMax = 2_000

/** For how long after a commit of posts other writes wait for the next ones. Ours: several times a batch's way. */
const nextPostsMs = 2

export class GroupCommit {
  readonly #db: DatabaseSync
  readonly #clock: Pick<Clock, "monotonicMs">
  readonly #failed: (error: StoreFailed) => void
  #pending: Pending[] = []
  /** The next transaction: about to begin, or waiting for posts. */
  #next: "none" | "soon" | NodeJS.Timeout = "none"
  /** When posts were committed last. */
  #postsAtMs = Number.NEGATIVE_INFINITY
  readonly #checkpoints: LogCheckpoints
  #checkpointScheduled = false
  /** Whether the last transaction found room. */
  #hasRoom = true
  /** Why nothing more is taken. */
  #end: Error | undefined

  /** `failed` is called once, when the disk has failed and nothing more is tried. */
  constructor(
    db: DatabaseSync,
    { failed, clock = systemClock }: { failed: (error: StoreFailed) => void; clock?: Pick<Clock, "monotonicMs"> },
  ) {
    this.#db = db
    this.#clock = clock
    this.#checkpoints = new LogCheckpoints(db)
    this.#failed = failed
  }

  /**
   * The result of `write`, once it is durable. Rejects when it throws or when the commit fails; then nothing of it is
   * kept, unless the disk failed: then that is not known.
   */
  run<Result>(write: () => Result, { posts = 0 } = {}): Promise<Result> {
    if (this.#end !== undefined) return Promise.reject(this.#end)
    return new Promise<Result>((resolve, reject) => {
      this.#pending.push({ write, resolve: resolve as (value: unknown) => void, reject, posts })
      this.#schedule({ holdsPosts: posts > 0 })
    })
  }

  /**
   * Carries all of the log over and empties it. Returns false when readers were in the way. Throws a fault of the store.
   */
  emptyLog(): boolean {
    if (this.#end !== undefined) throw this.#end
    return this.#checkpoints.emptyLog()
  }

  /** Commits what is pending, before the connection may be closed. A write that comes later is rejected. */
  close(): void {
    this.#end ??= new Error("The store is closed.")
    while (this.#pending.length > 0) this.#commit()
  }

  #schedule({ holdsPosts }: { readonly holdsPosts: boolean }): void {
    if (this.#next === "soon") return
    const waitMs = holdsPosts ? 0 : this.#postsAtMs + nextPostsMs - this.#clock.monotonicMs()
    if (waitMs > 0) {
      if (this.#next === "none") this.#next = setTimeout(() => this.#commit(), waitMs)
      return
    }
    if (this.#next !== "none") clearTimeout(this.#next)
    this.#next = "soon"
    setImmediate(() => this.#commit())
  }

  #commit(): void {
    const batch = this.#takeTransaction()
    this.#next = "none"
    if (batch.length === 0) return
    if (this.#pending.length > 0) this.#schedule({ holdsPosts: this.#pending.some(({ posts }) => posts > 0) })
    this.#commitAll(batch)
    this.#scheduleCheckpoint()
  }

  /** For a later turn, when the results are on their way and what has come meanwhile is pending. */
  #scheduleCheckpoint(): void {
    if (this.#checkpointScheduled) return
    this.#checkpointScheduled = true
    setImmediate(() => {
      this.#checkpointScheduled = false
      if (this.#end === undefined && this.#db.isOpen) this.#checkpoint()
    })
  }

  #checkpoint(): void {
    try {
      this.#checkpoints.afterCommit({ hasRoom: this.#hasRoom })
    } catch (error) {
      const fault = storeFault(error)
      if (fault instanceof StoreFailed) this.#giveUp([], fault)
      // Without room the log waits; damage is met by those who read or change what is damaged.
      else if (!(fault instanceof StoreFull || fault instanceof StoreDamaged)) throw fault
    }
  }

  #takeTransaction(): readonly Pending[] {
    const batch: Pending[] = []
    const later: Pending[] = []
    let posts = 0
    let hasRoom = true
    for (const pending of this.#pending) {
      if (pending.posts > 0) {
        hasRoom &&= posts === 0 || posts + pending.posts <= postsMax
        posts += pending.posts
      }
      const isTaken = batch.length < writesMax && (pending.posts === 0 || hasRoom)
      ;(isTaken ? batch : later).push(pending)
    }
    this.#pending = later
    return batch
  }

  #commitAll(batch: readonly Pending[]): void {
    const holdsPosts = batch.some((pending) => pending.posts > 0)
    const acknowledgements: (() => void)[] = []
    this.#hasRoom = true
    try {
      this.#db.exec("BEGIN IMMEDIATE")
      const [only] = batch
      if (only !== undefined && batch.length === 1) acknowledgements.push(this.#attemptAlone(only))
      else for (const pending of batch) acknowledgements.push(this.#attempt(pending))
      if (holdsPosts) crashPoint("before-commit")
      this.#db.exec("COMMIT")
    } catch (error) {
      this.#giveUp(batch, storeFault(error))
      return
    }
    if (holdsPosts) {
      crashPoint("after-commit")
      this.#postsAtMs = this.#clock.monotonicMs()
    }
    for (const acknowledge of acknowledgements) acknowledge()
  }

  /** Without a savepoint, which would copy every changed page: the transaction is its own. */
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
    this.#hasRoom = !(fault instanceof StoreFull)
    const [posts, others] = [batch.filter((one) => one.posts > 0), batch.filter((one) => one.posts === 0)]
    if (fault instanceof StoreFull && posts.length > 0 && others.length > 0) {
      // Cursors and rules may well fit where a batch of posts does not.
      this.#commitAll(others)
      if (this.#end instanceof StoreFailed) for (const pending of posts) pending.reject(this.#end)
      else this.#commitAll(posts)
      return
    }
    if (fault instanceof StoreDamaged && batch.length > 1) {
      // One write may fail the commit of all: each is tried alone, so that only that one fails.
      for (const pending of batch) {
        if (this.#end === undefined) this.#commitAll([pending])
        else pending.reject(this.#end)
      }
      return
    }
    for (const pending of batch) pending.reject(fault)
  }
}
