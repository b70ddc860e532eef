/**
 * Counts requests in windows, which begin with their first request.
 *
 *     alone on its store:   a count in memory for each app or user and endpoint
 *     over all processes:   a part of what is left ◄── PostgreSQL; requests use it up, and the next part is taken
 *
 * Parts are small: what a process has taken and does not use is lost to the others until the window ends, so no more requests
 * than the bound are ever granted, and one process alone grants exactly as many. A bound below 512 has parts of one request,
 * so that it is exact over all processes, and each response shows what is truly left. Each request of so few
 * costs a statement; one over the bound costs none.
 *
 * Not a library: those for this take no clock, and their counts on PostgreSQL take a statement for each request.
 */
import type { AppId } from "../../model/ids.ts"
import type { Clock } from "../../runtime/clock.ts"
import type { SharedLimits, TakenUses, UseLimit } from "../../store/shared-limits.ts"

/** A part is this fraction of what is left. Ours. */
const partsOfWindow = 256

/** Most windows that a process remembers, over all apps; beyond it those that began first are forgotten. Ours. */
const windowsMax = 100_000

/** A window, as far as this process knows it. */
interface Window {
  readonly max: number
  readonly endsAtMs: number
  /** Uses that this process has taken, and no request has used. */
  taken: number
  /** Uses that no process has taken. */
  readonly left: number
}

/** A part that is being taken. */
interface Taking {
  readonly done: Promise<void>
  /** Requests that wait for it. */
  waiting: number
}

/** Counts requests. */
export class RequestCounts {
  readonly #clock: Pick<Clock, "nowMs">
  readonly #takeShared: SharedLimits["takeUses"] | undefined
  /** In the order in which they were begun. */
  readonly #windows = new Map<string, Window>()
  readonly #taking = new Map<string, Taking>()

  /** `shared` is absent where no other process shares the store. */
  constructor(clock: Pick<Clock, "nowMs">, shared?: Pick<SharedLimits, "takeUses">) {
    this.#clock = clock
    this.#takeShared = shared && ((...args) => shared.takeUses(...args))
  }

  /**
   * Counts one more request of an app, if there is room for it. `use` says which window of the app it is counted in. Most
   * requests are counted at once, without a promise.
   */
  take(appId: AppId, use: string, limit: UseLimit): TakenUses | Promise<TakenUses> {
    const key = `${appId} ${use}`
    return this.#takeAtOnce(key, limit) ?? this.#takeLater(appId, use, key, limit)
  }

  #takeAtOnce(key: string, limit: UseLimit): TakenUses | undefined {
    const window = this.#windowOf(key, limit) ?? this.#begin(key, limit)
    const isKnown = window !== undefined && (window.taken > 0 || window.left === 0)
    return isKnown ? this.#takeFrom(window) : undefined
  }

  async #takeLater(appId: AppId, use: string, key: string, limit: UseLimit): Promise<TakenUses> {
    for (let waiting = 1; ;) {
      const taken = this.#takeAtOnce(key, limit)
      if (taken !== undefined) return taken
      const taking = this.#taking.get(key)
      if (taking === undefined) {
        const left = this.#windowOf(key, limit)?.left ?? limit.max
        await this.#takePart(appId, use, { ...limit, count: partOf(left, waiting) })
      } else {
        taking.waiting += 1
        await taking.done
        ;({ waiting } = taking)
      }
    }
  }

  #takeFrom(window: Window): TakenUses {
    const granted = window.taken > 0 ? 1 : 0
    window.taken -= granted
    return { granted, left: window.taken + window.left, endsInMs: window.endsAtMs - this.#clock.nowMs() }
  }

  /** The window that is known and not over. A clock that was set back does not make it longer. */
  #windowOf(key: string, { max, windowMs }: UseLimit): Window | undefined {
    const window = this.#windows.get(key)
    const nowMs = this.#clock.nowMs()
    const isOver = window === undefined || window.endsAtMs <= nowMs || window.endsAtMs > nowMs + windowMs
    if (isOver || window.max === max) return isOver ? undefined : window
    // The bound was changed: a shared window is read again, and one of this process keeps what it has counted.
    if (this.#takeShared !== undefined) return undefined
    return this.#remember(key, { ...window, max, taken: Math.max(0, window.taken + max - window.max) })
  }

  /** Begins a window that is of this process alone. */
  #begin(key: string, { max, windowMs }: UseLimit): Window | undefined {
    if (this.#takeShared !== undefined) return undefined
    return this.#remember(key, { max, endsAtMs: this.#clock.nowMs() + windowMs, taken: max, left: 0 })
  }

  async #takePart(appId: AppId, use: string, limit: UseLimit & { readonly count: number }): Promise<void> {
    const key = `${appId} ${use}`
    const { promise: done, resolve } = Promise.withResolvers<void>()
    this.#taking.set(key, { done, waiting: 0 })
    try {
      const taken = await this.#takeShared?.(appId, use, limit)
      if (taken === undefined) return
      const { granted, left, endsInMs } = taken
      const endsAtMs = this.#clock.nowMs() + Math.min(endsInMs, limit.windowMs)
      this.#remember(key, { max: limit.max, endsAtMs, taken: granted, left })
    } finally {
      this.#taking.delete(key)
      resolve()
    }
  }

  #remember(key: string, window: Window): Window {
    this.#windows.delete(key)
    this.#windows.set(key, window)
    for (const [oldest] of this.#windows) {
      if (this.#windows.size <= windowsMax) break
      this.#windows.delete(oldest)
    }
    return window
  }
}

/** How many uses are taken at once, when so many are left and so many requests wait. */
function partOf(left: number, waiting: number): number {
  return Math.max(1, Math.min(left, Math.max(waiting, Math.floor(left / partsOfWindow))))
}
