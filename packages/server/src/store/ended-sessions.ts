/**
 * When a store forgets sessions of the console that were ended, and which. Both stores follow it.
 *
 * Ending a session writes one row. Once a minute at most, a process also deletes rows along an index, so that signing out
 * costs the same however many sessions are remembered.
 */
import type { KnownTime } from "../model/known-time.ts"
import type { Clock } from "../runtime/clock.ts"

/** How long an ended session is remembered after it has expired, since clocks of processes differ. */
const endedSessionKeptMs = 86_400_000

/**
 * Most ended sessions that are remembered, in addition to those of the last minute. Beyond it a store forgets those
 * that expire first, which have nearly always expired. Ours: the sign-outs of 11 tokens that sign out as often as they
 * may.
 */
const endedSessionsMax = 100_000

/** Most that are forgotten at a time, so that no write waits for long. */
const forgottenMax = 5_000

const forgetEveryMs = 60_000

/** Decides for one process. */
export class EndedSessionExpiry {
  readonly #clock: Pick<Clock, "nowMs">
  #lastAtMs = Number.NEGATIVE_INFINITY

  constructor(clock: Pick<Clock, "nowMs">) {
    this.#clock = clock
  }

  /**
   * The sessions to forget now, as three numbers for SQL: those that expired before this instant, in Unix ms; the most
   * that may remain; and the most to delete. `undefined` less than a minute after the last time. `known`: what the store
   * knows of the time. By a clock that is ahead of that, sessions would be forgotten that are valid again once it is
   * corrected.
   */
  due(
    known: KnownTime | undefined,
  ): { readonly expiredBeforeMs: number; readonly keptMax: number; readonly forgottenMax: number } | undefined {
    const nowMs = this.#clock.nowMs()
    // A clock that was set back forgets at once, and then each minute again.
    if (Math.abs(nowMs - this.#lastAtMs) < forgetEveryMs) return undefined
    this.#lastAtMs = nowMs
    return {
      expiredBeforeMs: Math.min(nowMs, known?.believedMs ?? nowMs) - endedSessionKeptMs,
      keptMax: endedSessionsMax,
      forgottenMax,
    }
  }
}
