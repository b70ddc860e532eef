import type { Clock } from "../runtime/clock.ts"
import type { Events } from "../runtime/events/events.ts"
import type { Store } from "../store/store.ts"
import { WakeUp } from "./wake-up.ts"

/** Longest time between two checks of the control version, since hints may be lost. Ours. */
const pollMs = 10_000

/** Delay after a failed reconcile. Ours. */
const retryMs = 1_000

/** Dependencies of a watch. */
export interface ControlWatchDeps {
  readonly store: Pick<Store, "controlVersion" | "onChange">
  readonly clock: Clock
  readonly events: Pick<Events, "failed">
}

/**
 * Calls `reconcile` when it starts, and whenever control data in the store has changed: on a hint, and at the latest
 * 10 s after the change. A reconcile that fails is reported, and repeated after a second.
 */
export class ControlWatch {
  readonly #deps: ControlWatchDeps
  /** The name under which failures are reported. */
  readonly #where: string
  readonly #reconcile: (signal: AbortSignal) => Promise<void>
  readonly #wakeUp = new WakeUp()
  /** The control version of the last reconcile. Absent when the next one must run at any version. */
  #seenVersion: number | undefined

  constructor(where: string, reconcile: (signal: AbortSignal) => Promise<void>, deps: ControlWatchDeps) {
    this.#deps = deps
    this.#where = where
    this.#reconcile = reconcile
  }

  /** Requests another reconcile, even if control data has not changed. */
  requestReconcile(): void {
    this.#seenVersion = undefined
    this.#wakeUp.call()
  }

  /** Watches until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { store, clock, events } = this.#deps
    const stopListening = store.onChange((change) => {
      if (change.kind === "control") this.#wakeUp.call()
    })
    while (!signal.aborted) {
      try {
        const startedMs = clock.monotonicMs()
        await this.#reconcileIfChanged(signal)
        // Reconciling many objects takes time, and a thousand changes should not cause a thousand reconciles.
        // One that took long because the machine stood still delays the next no longer than a lost hint does.
        const tookMs = clock.monotonicMs() - startedMs
        if (tookMs >= 1) await clock.sleep(Math.min(tookMs * 4, pollMs), signal)
        await this.#wakeUp.wait(clock, pollMs, signal)
      } catch (error) {
        events.failed({ where: this.#where, error })
        await clock.sleep(retryMs, signal)
      }
    }
    stopListening()
  }

  async #reconcileIfChanged(signal: AbortSignal): Promise<void> {
    const version = await this.#deps.store.controlVersion()
    if (version === this.#seenVersion) return
    // Set before the reconcile, so that a request that comes during it causes another one.
    this.#seenVersion = version
    try {
      await this.#reconcile(signal)
    } catch (error) {
      this.#seenVersion = undefined
      throw error
    }
  }
}
