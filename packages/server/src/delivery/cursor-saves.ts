import type { LinkId, MatchSeq } from "../model/ids.ts"
import type { Clock } from "../runtime/clock.ts"
import type { Events } from "../runtime/events.ts"
import type { Store } from "../store/store.ts"
import { WakeUp } from "./wake-up.ts"

/** Least time between two saves. So a crash repeats at most what was delivered within it, and what was in flight. */
const saveMs = 5

/** Wait after a save that failed. */
const retryMs = 1_000

/** Longest wait without a hint; the hint is never lost, so this only bounds a sleep. */
const idleMs = 60_000

/**
 * Saves the cursors of all links, joined: at most one save is under way, and it holds whatever has moved since
 * the last. It keeps one position for each link, however often that moves.
 */
export class CursorSaves {
  readonly #deps: {
    readonly store: Pick<Store, "saveCursors">
    readonly clock: Clock
    readonly events: Events
  }
  readonly #wakeUp = new WakeUp()
  #moved = new Map<LinkId, MatchSeq>()

  constructor(deps: {
    readonly store: Pick<Store, "saveCursors">
    readonly clock: Clock
    readonly events: Events
  }) {
    this.#deps = deps
  }

  /** Notes where a cursor has moved to. */
  moved(linkId: LinkId, position: MatchSeq): void {
    this.#moved.set(linkId, position)
    this.#wakeUp.call()
  }

  /** Saves until aborted, and then what is left, once. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps
    while (!signal.aborted) {
      if (this.#moved.size === 0) await this.#wakeUp.wait(clock, idleMs, signal)
      else await clock.sleep((await this.#save()) ? saveMs : retryMs, signal)
    }
    await this.#save()
  }

  async #save(): Promise<boolean> {
    const moved = this.#moved
    if (moved.size === 0) return true
    this.#moved = new Map()
    try {
      await this.#deps.store.saveCursors(Array.from(moved, ([linkId, position]) => ({ linkId, position })))
      return true
    } catch (error) {
      // What has moved on meanwhile is newer than what could not be saved.
      this.#moved = new Map([...moved, ...this.#moved])
      this.#deps.events.failed({ where: "cursor saves", error })
      return false
    }
  }
}
