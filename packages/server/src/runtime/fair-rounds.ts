/**
 * Begins work in rounds of the event loop: a little in each round, one piece of each owner in turn. An owner that brings a
 * thousand pieces of work waits for its own, and the next owner does not.
 *
 *     work ─► room in this round, and none queued? ── yes ─► begins
 *                └── no ─► queued by owner ─► a later round
 *
 * Each user passes its bounds: requests, reads of SQLite, bodies in the intake thread, connections whose input waits.
 *
 * Node accepts one connection in each round, however many wait (libuv, pull request 3696), so that connections wait for as
 * many rounds as there are connections before them. While connections arrive, rounds of work therefore rest three times as
 * long as they took, and the rounds in between accept: thousands of connections that arrive at once hold up the next one
 * for a part of a second, and work still has a quarter of the time.
 */
import type { Clock } from "./clock.ts"
import { FairQueue } from "./fair-queue.ts"

/** Bounds of one round. */
interface RoundBounds {
  /** Most pieces that begin in it. */
  readonly piecesMax: number
  /** Time after which nothing more begins in it; absent: piecesMax alone ends it. */
  readonly msMax?: number
  /** Length of a round. Absent: until the event loop has gone round. */
  readonly everyMs?: number
}

/** Requests: a few milliseconds of work. Ours. */
const requestBounds: RoundBounds = { piecesMax: 16, msMax: 5 }

/** Pieces that wait, by owner. */
interface RoundQueue<Owner> {
  readonly size: number
  /** Returns a function that withdraws the piece. */
  push(owner: Owner, begin: () => void): () => void
  /** Removes and returns the next piece; `undefined` when there is none. */
  shift(): (() => void) | undefined
}

interface RoundOptions<Owner> {
  /** Absent: one of each owner in turn. */
  readonly queue?: RoundQueue<Owner>
  /** Rounds of the same thread that these rest with. */
  readonly restsWith?: { readonly isResting: boolean } | undefined
  /** Called when a round has ended. */
  readonly ended?: (() => void) | undefined
}

/** Rest after a round while connections arrive, as a multiple of its time. Ours. */
const restPerRound = 3

/** Longest rest. Ours. */
const restMsMax = 50

/** Rounds, whose bounds are those of requests unless given. */
export class FairRounds<Owner = string> {
  readonly #clock: Pick<Clock, "monotonicMs">
  readonly #bounds: RoundBounds
  readonly #queued: RoundQueue<Owner>
  readonly #restsWith: RoundOptions<Owner>["restsWith"]
  readonly #ended: RoundOptions<Owner>["ended"]
  #isScheduled = false
  #begun = 0
  #beganAtMs = 0
  #restEndsAtMs = 0
  /** A connection has arrived since the event loop last came round. */
  #hasArrival = false

  constructor(
    clock: Pick<Clock, "monotonicMs">,
    bounds: RoundBounds = requestBounds,
    { queue = new FairQueue(), restsWith, ended }: RoundOptions<Owner> = {},
  ) {
    this.#clock = clock
    this.#bounds = bounds
    this.#queued = queue
    this.#restsWith = restsWith
    this.#ended = ended
  }

  /**
   * Calls `begin` at once, or when it is the owner's turn: then returns a function that withdraws it. Callers bound how much
   * of their work is queued.
   */
  begin(owner: Owner, begin: () => void): (() => void) | undefined {
    if (!this.beginsAtOnce()) return this.#queued.push(owner, begin)
    begin()
    return undefined
  }

  /** Returns true when a piece may begin at once; then it counts as begun. */
  beginsAtOnce(): boolean {
    this.open()
    const begins = this.#queued.size === 0 && this.#hasRoom()
    if (begins) this.#begun += 1
    return begins
  }

  /** Calls `begin` in a later round, when it is the owner's turn. Returns a function that withdraws it. */
  beginLater(owner: Owner, begin: () => void): () => void {
    this.open()
    return this.#queued.push(owner, begin)
  }

  /** Resolves when the owner may go on with its work: at once, or when it is its turn. */
  turn(owner: Owner): Promise<void> {
    return this.beginsAtOnce() ? Promise.resolve() : this.nextTurn(owner)
  }

  /** Resolves in a later round, when it is the owner's turn. */
  nextTurn(owner: Owner): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.beginLater(owner, resolve)
    return promise
  }

  /** Notes that a connection was accepted: others may wait behind it. */
  connectionArrived(): void {
    this.#hasArrival = true
    this.open()
  }

  /** True while work rests so that connections are accepted. */
  get isResting(): boolean {
    return this.#clock.monotonicMs() < this.#restEndsAtMs
  }

  /** Begins a round, unless there is one: it will end, whether work comes or not. */
  open(): void {
    if (this.#isScheduled) return
    this.#begun = 0
    this.#beganAtMs = this.#clock.monotonicMs()
    this.#isScheduled = true
    const { everyMs } = this.#bounds
    if (everyMs === undefined) setImmediate(() => void this.#comeRound())
    else setTimeout(() => void this.#comeRound(), everyMs)
  }

  #hasRoom(): boolean {
    const { piecesMax, msMax = Number.POSITIVE_INFINITY } = this.#bounds
    if (this.#begun >= piecesMax || this.#restsWith?.isResting === true) return false
    const nowMs = this.#clock.monotonicMs()
    return nowMs < this.#beganAtMs + msMax && nowMs >= this.#restEndsAtMs
  }

  async #comeRound(): Promise<void> {
    this.#isScheduled = false
    this.#ended?.()
    const nowMs = this.#clock.monotonicMs()
    if (!this.#hasArrival) this.#restEndsAtMs = 0
    // All that was begun, and what came of it until now, is the time of the round.
    else if (this.#begun > 0) this.#restEndsAtMs = nowMs + Math.min(restPerRound * (nowMs - this.#beganAtMs), restMsMax)
    this.#hasArrival = false
    if (this.#queued.size === 0 && nowMs >= this.#restEndsAtMs) return
    this.open()
    // A piece that comes to wait meanwhile waits for a later round.
    for (let left = this.#queued.size; left > 0 && this.#hasRoom(); left -= 1) {
      this.#begun += 1
      this.#queued.shift()?.()
      // Work that waited for its turn goes on in the microtask that this has queued, so that its time counts.
      await Promise.resolve()
    }
  }
}
