import type { Clock } from "../runtime/clock.ts"
import type { Events } from "../runtime/events.ts"
import type { Store } from "../store/store.ts"
import { WakeUp } from "./wake-up.ts"

/** Longest time between two questions whether a look is due. Ours. */
const pollMs = 10_000

/** Wait after a look that failed. Ours. */
const retryMs = 1_000

/** What looks need. */
export interface ControlLooksDeps {
  readonly store: Pick<Store, "controlVersion" | "onChange">
  readonly clock: Clock
  readonly events: Pick<Events, "failed">
}

/**
 * Has somebody look at what control keeps in the store: at first, and whenever it has changed. That is heard by a
 * hint, and asked for every 10 s, as another process may have changed it. A look that fails is told, and tried again.
 */
export class ControlLooks {
  readonly #deps: ControlLooksDeps
  /** Who looks, as its failures are told. */
  readonly #where: string
  readonly #look: (signal: AbortSignal) => Promise<void>
  readonly #woken = new WakeUp()
  /** The control version of the last look; absent when there must be another one whatever has changed. */
  #seen: number | undefined

  constructor(where: string, look: (signal: AbortSignal) => Promise<void>, deps: ControlLooksDeps) {
    this.#deps = deps
    this.#where = where
    this.#look = look
  }

  /** Asks for one more look, whatever has changed. */
  again(): void {
    this.#seen = undefined
    this.#woken.call()
  }

  /** Looks until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { store, clock, events } = this.#deps
    const stopListening = store.onChange((change) => {
      if (change.kind === "control") this.#woken.call()
    })
    while (!signal.aborted) {
      try {
        const startedMs = clock.monotonicMs()
        await this.#lookIfDue(signal)
        // A look at very many takes its time, and a thousand changes need not be a thousand looks.
        const tookMs = clock.monotonicMs() - startedMs
        if (tookMs >= 1) await clock.sleep(tookMs * 4, signal)
        await this.#woken.wait(clock, pollMs, signal)
      } catch (error) {
        events.failed({ where: this.#where, error })
        await clock.sleep(retryMs, signal)
      }
    }
    stopListening()
  }

  async #lookIfDue(signal: AbortSignal): Promise<void> {
    const version = await this.#deps.store.controlVersion()
    if (version === this.#seen) return
    // Before the look: whoever asks for another one in the middle of it gets it.
    this.#seen = version
    try {
      await this.#look(signal)
    } catch (error) {
      this.#seen = undefined
      throw error
    }
  }
}
