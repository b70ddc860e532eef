/**
 * Begins work in rounds of the event loop: a little in each round, one of each owner in turn. An owner that brings a thousand
 * pieces of work waits for its own, and the next owner does not.
 *
 *     work ─► room in this round, and none queued? ── yes ─► begins
 *                └── no ─► queued by owner ─► a later round
 *
 * Node accepts one connection in each round, however many wait (libuv, pull request 3696), so that connections wait for as
 * many rounds as there are connections before them. While connections arrive, rounds of work therefore rest three times as
 * long as they took, and the rounds in between accept: thousands of connections that arrive at once hold up the next one
 * for a part of a second, and work still has a quarter of the time.
 */
import type { Clock } from "./clock.ts"
import { FairQueue } from "./fair-queue.ts"

/** Most that begins in one round: a few milliseconds of work. Ours. */
const begunPerRoundMax = 16

/** Time after which nothing more begins in a round. Ours. */
const roundMsMax = 5

/** Rest after a round while connections arrive, as a multiple of its time. Ours. */
const restPerRound = 3

/** Longest rest. Ours. */
const restMsMax = 50

/** The rounds of one thread. */
export class FairRounds {
  readonly #clock: Pick<Clock, "monotonicMs">
  readonly #queued = new FairQueue<() => void>()
  #isScheduled = false
  #begun = 0
  #beganAtMs = 0
  #restEndsAtMs = 0
  /** Whether a connection has arrived since the event loop last came round. */
  #hasArrival = false

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock
  }

  /**
   * Calls `begin` at once, or when it is the owner's turn: then returns a function that withdraws it. Callers bound how much
   * of their work is queued.
   */
  begin(owner: string, begin: () => void): (() => void) | undefined {
    if (!this.#isScheduled) this.#open()
    if (this.#queued.size === 0 && this.#hasRoom()) {
      this.#begun += 1
      begin()
      return undefined
    }
    return this.#queued.push(owner, begin)
  }

  /** Resolves when the owner may go on with its work: at once, or when it is its turn. */
  turn(owner: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.begin(owner, resolve)
    return promise
  }

  /** Notes that a connection was accepted: others may wait behind it. */
  connectionArrived(): void {
    this.#hasArrival = true
    if (!this.#isScheduled) this.#open()
  }

  /** Whether what may wait is to wait until those that connect are accepted. */
  get isResting(): boolean {
    return this.#clock.monotonicMs() < this.#restEndsAtMs
  }

  #hasRoom(): boolean {
    const nowMs = this.#clock.monotonicMs()
    return this.#begun < begunPerRoundMax && nowMs < this.#beganAtMs + roundMsMax && nowMs >= this.#restEndsAtMs
  }

  #open(): void {
    this.#begun = 0
    this.#beganAtMs = this.#clock.monotonicMs()
    this.#schedule()
  }

  #schedule(): void {
    this.#isScheduled = true
    setImmediate(() => void this.#comeRound())
  }

  async #comeRound(): Promise<void> {
    this.#isScheduled = false
    const nowMs = this.#clock.monotonicMs()
    if (!this.#hasArrival) this.#restEndsAtMs = 0
    // All that was begun, and what came of it until now, is the time of the round.
    else if (this.#begun > 0) this.#restEndsAtMs = nowMs + Math.min(restPerRound * (nowMs - this.#beganAtMs), restMsMax)
    this.#hasArrival = false
    if (this.#queued.size === 0 && nowMs >= this.#restEndsAtMs) return
    this.#open()
    while (this.#queued.size > 0 && this.#hasRoom()) {
      this.#begun += 1
      this.#queued.shift()?.()
      // Work that waited for its turn goes on in the microtask that this has queued, so that its time counts.
      await Promise.resolve()
    }
  }
}
