/**
 * Turns of the event loop for reads.
 *
 * A read of SQLite blocks its thread, and one that follows another at once would never give the event loop a turn. So
 * reads share a budget for each turn, in time and in number. One that finds it spent waits for a later turn: readers of
 * logs and requests in turn, and of each class one app after the other. Callers read in a loop as they please; other work
 * of the thread is never kept waiting for long, and no app by the reads of another.
 */
import type { Clock } from "../../../runtime/clock.ts"
import type { FairRounds } from "../../../runtime/fair-rounds.ts"
import { FairQueue } from "../../../runtime/fair-queue.ts"
import type { Reader } from "../../readers.ts"

/** Longest that reads, and what their callers do between them, take of one turn. Ours. */
const turnMsMax = 5

/** Most reads in one turn, for where the clock is coarse. Ours. */
const turnReadsMax = 50

/** Hands out turns to the reads of one connection. */
export class ReadTurns {
  readonly #clock: Pick<Clock, "monotonicMs">
  readonly #rounds: Pick<FairRounds, "isResting"> | undefined
  readonly #waiting = { log: new FairQueue<() => void>(), request: new FairQueue<() => void>() }
  /** The class whose turn is next. */
  #next: Reader["kind"] = "log"
  #isCounting = false
  #reads = 0
  #endsAtMs = 0

  /** While `rounds` rest, no read begins. */
  constructor(clock: Pick<Clock, "monotonicMs">, rounds?: Pick<FairRounds, "isResting">) {
    this.#clock = clock
    this.#rounds = rounds
  }

  /** To be awaited before a read. Absent when it may begin at once. */
  begin(reader: Reader): Promise<void> | undefined {
    if (!this.#isCounting) this.#count()
    if (this.#waitingCount > 0 || !this.#hasRoom()) return this.next(reader)
    this.#reads += 1
    return undefined
  }

  /** Resolves in a later turn. To be awaited by a read that goes on. */
  next({ kind, owner }: Reader): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting[kind].push(owner, resolve)
    if (!this.#isCounting) this.#count()
    return promise
  }

  get #waitingCount(): number {
    return this.#waiting.log.size + this.#waiting.request.size
  }

  #hasRoom(): boolean {
    return this.#rounds?.isResting !== true && this.#reads < turnReadsMax && this.#clock.monotonicMs() < this.#endsAtMs
  }

  /** Counts anew, until the event loop has gone round. */
  #count(): void {
    this.#isCounting = true
    this.#reads = 0
    this.#endsAtMs = this.#clock.monotonicMs() + turnMsMax
    setImmediate(() => {
      this.#isCounting = false
      if (this.#waitingCount > 0) void this.#resume()
    })
  }

  /** Lets those that wait begin, one by one, as far as the budget of this turn goes. */
  async #resume(): Promise<void> {
    this.#count()
    // Those that come to wait meanwhile have had their turn.
    for (let left = this.#waitingCount; left > 0 && this.#hasRoom(); left -= 1) {
      this.#reads += 1
      this.#shift()?.()
      // The read runs in the microtask that this has queued, so that its time counts before the next one begins.
      await Promise.resolve()
    }
  }

  /** The next read: of the class whose turn it is, unless none of that waits. */
  #shift(): (() => void) | undefined {
    const kind = this.#next
    const other = kind === "log" ? "request" : "log"
    this.#next = other
    return this.#waiting[kind].shift() ?? this.#waiting[other].shift()
  }
}
