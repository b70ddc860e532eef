/**
 * The time by which retention deletes. A clock may be wrong, and what is deleted does not come back, so no jump ahead
 * counts at once:
 *
 *     while the server runs   steps ahead count once they have lasted for the whole retention; until then ages are
 *                             measured by the monotonic clock (`CautiousTime`)
 *     over a restart          a clock more than an hour ahead of what the store saw last was wrong then, is wrong now, or
 *                             the server was off for so long. Ages go on from what the store saw, by the monotonic
 *                             clock, until the clock has been steady for an hour in all, or the operator says that
 *                             it is right
 *
 * A store whose record of the time is damaged has seen no time at all (`noKnownTime`): nothing is old until the clock has
 * been steady for an hour.
 *
 * A step back counts at once: it only keeps things longer. A server that was off is believed after an hour of running,
 * over any number of starts, so nothing waits forever.
 *
 * Nothing here reads or writes a store: `retention.ts` passes in what the store knows, and saves what is known later.
 */
import type { KnownTime } from "../model/known-time.ts"
import type { Clock } from "../runtime/clock.ts"

/** A clock that is further ahead of the store's time at a start has jumped. Ours. */
const jumpMsMin = 3_600_000

/** True if a clock that is this far ahead of the time that the store saw last has jumped. */
export function isClockJump(aheadMs: number): boolean {
  return aheadMs > jumpMsMin
}

/** Time for which a clock must be steady until a jump over a restart is believed. Ours. */
const steadyMsMin = 3_600_000

/** Smaller steps than this are corrections, and count at once. Ours. */
const stepMsMin = 60_000

type Times = Pick<Clock, "nowMs" | "monotonicMs">

/** The time that retention believes. */
export class RetentionTime {
  readonly #clock: Times
  readonly #matchTime: Pick<Clock, "nowMs">
  readonly #kinds: CautiousTime[] = []
  /** Unix time at 0 of the monotonic clock beyond which nothing is believed; absent when no start was ahead. */
  #ceilingMs: number | undefined
  #steadyMs: number
  /** At the last observation: Unix time at 0 of the monotonic clock, and the monotonic clock. */
  #lastEpochMs: number
  #observedMs: number

  /**
   * `known`: what the store saw last; absent in a new store, where the clock is believed. `believesJump`: the operator's
   * word that the clock is right. `matchStandMs`: how long a step while the server runs has to last for matches.
   */
  constructor(
    clock: Times,
    {
      known,
      believesJump,
      matchStandMs,
    }: { readonly known: KnownTime | undefined; readonly believesJump: boolean; readonly matchStandMs: number },
  ) {
    this.#clock = clock
    const nowMs = clock.nowMs()
    this.#observedMs = clock.monotonicMs()
    this.#lastEpochMs = nowMs - this.#observedMs
    const hasJumped = known !== undefined && isClockJump(nowMs - known.believedMs)
    this.#ceilingMs = hasJumped && !believesJump ? known.believedMs - this.#observedMs : undefined
    // A clock that has been set back since was wrong, then or now.
    this.#steadyMs = hasJumped && nowMs >= known.clockMs ? known.steadyMs : 0
    this.#matchTime = this.ofKind(matchStandMs)
  }

  /** The time for things of a kind, for which a step while the server runs counts once it has lasted for `standMs`. */
  ofKind(standMs: number): Pick<Clock, "nowMs"> {
    const kind = new CautiousTime(this.#clock, standMs, () => this.#ceilingMs)
    this.#kinds.push(kind)
    return kind
  }

  /** The time for matches, Unix ms, whole. */
  matchNowMs(): number {
    return this.#matchTime.nowMs()
  }

  /** Takes note of the clock. To be called about once a minute: a step is noticed only by a call. */
  observe(): void {
    const monotonicMs = this.#clock.monotonicMs()
    const epochMs = this.#clock.nowMs() - monotonicMs
    const isSteady = Math.abs(epochMs - this.#lastEpochMs) <= stepMsMin
    this.#steadyMs = isSteady ? this.#steadyMs + monotonicMs - this.#observedMs : 0
    this.#lastEpochMs = epochMs
    this.#observedMs = monotonicMs
    for (const kind of this.#kinds) kind.nowMs()
    if (this.#ceilingMs === undefined) return
    const isSetBack = epochMs <= this.#ceilingMs + jumpMsMin
    if (isSetBack || this.#steadyMs >= steadyMsMin) this.#ceilingMs = undefined
  }

  /** Milliseconds by which the clock is ahead of the time believed for matches; 0 while that is the clock's. */
  get aheadMs(): number {
    const aheadMs = this.#clock.nowMs() - this.matchNowMs()
    return aheadMs > stepMsMin ? aheadMs : 0
  }

  /** The record for the store, which the next start reads. */
  get known(): KnownTime {
    const steadyMs = this.#ceilingMs === undefined ? 0 : Math.floor(this.#steadyMs)
    return { believedMs: this.matchNowMs(), clockMs: this.#clock.nowMs(), steadyMs }
  }
}

/** The time of a clock, whose steps ahead count once they have lasted, and that stays below a ceiling. */
class CautiousTime {
  readonly #clock: Times
  readonly #standMs: number
  readonly #ceilingMs: () => number | undefined
  /** Unix time at 0 of the monotonic clock, as far as it is trusted. */
  #epochMs: number
  /** Since when the clock has been ahead, by the monotonic clock. */
  #aheadSinceMs: number | undefined

  constructor(clock: Times, standMs: number, ceilingMs: () => number | undefined) {
    this.#clock = clock
    this.#standMs = standMs
    this.#ceilingMs = ceilingMs
    this.#epochMs = clock.nowMs() - clock.monotonicMs()
  }

  /** Unix time, whole ms. To be called regularly: a step is noticed only by a call. */
  nowMs(): number {
    const monotonicMs = this.#clock.monotonicMs()
    const epochMs = this.#clock.nowMs() - monotonicMs
    if (epochMs <= this.#epochMs + stepMsMin) {
      this.#aheadSinceMs = undefined
      this.#epochMs = epochMs
    } else {
      this.#aheadSinceMs ??= monotonicMs
      if (monotonicMs - this.#aheadSinceMs >= this.#standMs) this.#epochMs = epochMs
    }
    // The monotonic clock counts parts of milliseconds, and the store keeps whole ones.
    return Math.floor(Math.min(this.#epochMs, this.#ceilingMs() ?? this.#epochMs) + monotonicMs)
  }
}
