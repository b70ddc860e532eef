import { systemClock, type Clock } from "../../packages/server/src/runtime/clock.ts"

const dayMs = 86_400_000

/** Longest that a timer of Node waits: a wait until a moment before the clock was moved may be longer. */
const timerMsMax = 2_147_483_647

/** A clock that can be moved on. It begins in the middle of a day. */
export class MovedClock implements Clock {
  readonly #toNoonMs = dayMs / 2 - (Date.now() % dayMs)
  #movedMs = 0

  nowMs(): number {
    return systemClock.nowMs() + this.#toNoonMs + this.#movedMs
  }
  monotonicMs(): number {
    return systemClock.monotonicMs() + this.#movedMs
  }
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return systemClock.sleep(Math.min(ms, timerMsMax), signal)
  }
  pause(ms: number, signal?: AbortSignal): Promise<void> {
    return this.sleep(ms, signal)
  }
  moveOn(ms: number): void {
    this.#movedMs += ms
  }
  /** To the noon before a day of a month. */
  moveTo(year: number, month: number, day: number): void {
    this.moveOn(Date.UTC(year, month - 1, day) - dayMs / 2 - this.nowMs())
  }
}
