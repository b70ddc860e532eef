/**
 * A clock that goes as the machine's does, and that its owner moves on: for tests of programs, which need not wait a day to
 * see what happens in one.
 *
 *     advance(25 h) ─► settle ─► to the next sleep that ends ─► settle ─► … ─► to the end ─► settle
 *
 * Each sleep ends at its own moment and in order, as if the time had passed. Pauses end at a hundred stops on the way: an
 * idle server looks for work many thousand times a day. Before it moves on, the clock waits until the work that has begun
 * has ended (`counted`), since that takes real time: requests to endpoints, and the store.
 */
import { setImmediate as turn } from "node:timers/promises"
import { systemClock, type Clock } from "./clock.ts"
import { SharedClock } from "./shared-clock.ts"

/** Stops of an advance, at which pauses end. Ours. */
const stopsPerAdvance = 100

/** Turns of the event loop without work in progress after which nothing more is expected. Ours. */
const quietTurns = 3

/** Real time for what other threads have announced to arrive, before time is moved. Ours. */
const arrivalMs = 5

/** Longest that a timer of Node waits. */
const timerMsMax = 2_147_483_647

interface Sleeper {
  /** By the monotonic clock. */
  readonly dueMs: number
  readonly isPause: boolean
  readonly end: () => void
}

/** A clock that can be moved on. Threads share its time of day by `epoch`; only the thread that moves it has its sleeps. */
export class MovableClock implements Clock {
  readonly #timeOfDay = new SharedClock()
  readonly #sleepers = new Set<Sleeper>()
  readonly #pending = new Set<Promise<unknown>>()
  #movedMs = 0
  #advancing: Promise<void> = Promise.resolve()
  #isAdvancing = false
  #timer: { readonly handle: NodeJS.Timeout; readonly dueMs: number } | undefined

  /** The epoch of its time of day, for a `SharedClock` of another thread. */
  get epoch(): SharedArrayBuffer {
    return this.#timeOfDay.epoch
  }

  nowMs(): number {
    return this.#timeOfDay.nowMs()
  }

  monotonicMs(): number {
    return systemClock.monotonicMs() + this.#movedMs
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#wait(ms, signal, false)
  }

  pause(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#wait(ms, signal, true)
  }

  /** The same promise, for which the clock waits before it moves on. */
  async counted<Result>(work: Promise<Result>): Promise<Result> {
    this.#pending.add(work)
    try {
      return await work
    } finally {
      this.#pending.delete(work)
    }
  }

  /** Moves time on, and resolves when what was due has been done. A second call begins after the first. */
  advance(ms: number): Promise<void> {
    this.#advancing = this.#advancing.then(() => this.#advance(ms))
    return this.#advancing
  }

  async #advance(ms: number): Promise<void> {
    await systemClock.sleep(arrivalMs)
    await this.#settled()
    const untilMs = this.monotonicMs() + ms
    const stopMs = ms / stopsPerAdvance
    this.#isAdvancing = true
    try {
      let nextStopMs = this.monotonicMs() + stopMs
      for (;;) {
        const nextMs = Math.min(this.#firstDueMs(isSleep), nextStopMs)
        if (nextMs >= untilMs) break
        const isStop = nextMs === nextStopMs
        if (isStop) nextStopMs += stopMs
        this.#moveTo(nextMs)
        this.#endDue(isStop ? isAny : isSleep)
        await this.#settled()
      }
      this.#moveTo(untilMs)
      this.#endDue()
      await this.#settled()
    } finally {
      this.#isAdvancing = false
      this.#setTimer()
    }
  }

  /** Real time may have gone beyond the moment already. */
  #moveTo(monotonicMs: number): void {
    const ms = monotonicMs - this.monotonicMs()
    if (ms <= 0) return
    this.#movedMs += ms
    this.#timeOfDay.move(ms)
  }

  async #settled(): Promise<void> {
    for (let quiet = 0; quiet < quietTurns; quiet++) {
      await turn()
      if (this.#pending.size === 0) continue
      await Promise.allSettled(this.#pending)
      quiet = -1
    }
  }

  #wait(ms: number, signal: AbortSignal | undefined, isPause: boolean): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted === true) {
        resolve()
        return
      }
      const end = (): void => {
        this.#sleepers.delete(sleeper)
        signal?.removeEventListener("abort", end)
        // The process may end.
        if (this.#sleepers.size === 0) this.#clearTimer()
        resolve()
      }
      const sleeper: Sleeper = { dueMs: this.monotonicMs() + ms, isPause, end }
      signal?.addEventListener("abort", end, { once: true })
      this.#sleepers.add(sleeper)
      if (this.#timer === undefined || sleeper.dueMs < this.#timer.dueMs) this.#setTimer(sleeper.dueMs)
    })
  }

  #firstDueMs(isMeant: (sleeper: Sleeper) => boolean = isAny): number {
    let firstMs = Number.POSITIVE_INFINITY
    for (const sleeper of this.#sleepers) if (isMeant(sleeper)) firstMs = Math.min(firstMs, sleeper.dueMs)
    return firstMs
  }

  #endDue(isMeant: (sleeper: Sleeper) => boolean = isAny): void {
    const nowMs = this.monotonicMs()
    const due = [...this.#sleepers].filter((sleeper) => sleeper.dueMs <= nowMs && isMeant(sleeper))
    for (const { end } of due.toSorted((a, b) => a.dueMs - b.dueMs)) end()
  }

  /** One timer of the machine for all sleeps, since each of its own would have to be set anew when time is moved. */
  #setTimer(dueMs = this.#firstDueMs()): void {
    this.#clearTimer()
    if (this.#isAdvancing || dueMs === Number.POSITIVE_INFINITY) return
    const waitMs = Math.min(Math.max(0, Math.ceil(dueMs - this.monotonicMs())), timerMsMax)
    const handle = setTimeout(() => {
      this.#timer = undefined
      this.#endDue()
      this.#setTimer()
    }, waitMs)
    this.#timer = { handle, dueMs }
  }

  #clearTimer(): void {
    clearTimeout(this.#timer?.handle)
    this.#timer = undefined
  }
}

const isAny = (): boolean => true
const isSleep = ({ isPause }: Sleeper): boolean => !isPause
