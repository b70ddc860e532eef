import { setImmediate as nextTurn } from "node:timers/promises"
import type { LinkProgress } from "../../../model/link.ts"
import { StoreFailed } from "../../../store/store-faults.ts"
import type { SendingDeps } from "../../sending/sending-deps.ts"

/** Wait after a save that failed. */
const retryMs = 1_000

/**
 * Least time from the beginning of one save to that of the next, unless a link hurries it. Ours: a commit costs as much
 * as several deliveries, so few of them are to have one of their own.
 */
const pauseMs = 2

const hurried = Symbol("hurried")

/** A source of progress to save, each part of which builds on the part before. */
export interface ProgressSource {
  /** The progress made since the last call. */
  takeProgress(): LinkProgress
  /** The part that was taken last is durable. */
  progressSaved(): void
}

/** Dependencies of saves. */
interface ProgressSavesDeps extends Pick<SendingDeps, "clock" | "events" | "leases"> {
  readonly store: Pick<SendingDeps["store"], "saveProgress">
}

/**
 * Saves the progress of all links together: one save is in progress at a time, and the next has all that was made
 * since. Between two there is a short pause, which ends when a link can use few of its slots because the outcomes in
 * the others are not saved: that is the bound on what has to be saved.
 */
export class ProgressSaves {
  readonly #deps: ProgressSavesDeps
  /** Called when there is something to save. */
  #wake: (() => void) | undefined
  /** Ends the pause before the next save. */
  #pause = new AbortController()
  #waiting = new Set<ProgressSource>()
  #saved = Promise.withResolvers<void>()
  #hasStoreFailed = false

  constructor(deps: ProgressSavesDeps) {
    this.#deps = deps
  }

  /** Resolves when the progress that `source` has made by now is durable; stays pending when it never is. */
  save(source: ProgressSource): Promise<void> {
    this.#waiting.add(source)
    this.#wake?.()
    return this.#saved.promise
  }

  /** Begins the next save as soon as possible. */
  flushNow(): void {
    // With a reason: the one that an abort makes for itself has a stack, which costs more than a save.
    if (!this.#pause.signal.aborted) this.#pause.abort(hurried)
  }

  /** Saves until aborted, and then what is left, unless that fails. Ends at once when nothing can be saved any more. */
  async run(signal: AbortSignal): Promise<void> {
    const onAbort = (): void => {
      this.#wake?.()
      this.flushNow()
    }
    signal.addEventListener("abort", onAbort, { once: true })
    let nextAtMs = 0
    while (!signal.aborted || this.#waiting.size > 0) {
      if (this.#waiting.size === 0) {
        await this.#woken()
        continue
      }
      const waitMs = nextAtMs - this.#deps.clock.monotonicMs()
      if (waitMs > 0 && !signal.aborted) await this.#deps.clock.sleep(waitMs, this.#pause.signal)
      nextAtMs = this.#deps.clock.monotonicMs() + pauseMs
      // A part that cannot be saved is tried until it can, and nothing is saved that builds on it.
      if (!(await this.#saveWaiting(signal))) return
    }
  }

  async #woken(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#wake = resolve
    })
    // Attempts that end in the same turn of the event loop are saved with it.
    await nextTurn()
  }

  async #saveWaiting(signal: AbortSignal): Promise<boolean> {
    const [sources, saved] = [this.#waiting, this.#saved]
    this.#waiting = new Set()
    this.#saved = Promise.withResolvers()
    this.#pause = new AbortController()
    const progress = Array.from(sources, (source) => source.takeProgress())
    while (!(await this.#try(progress))) {
      if (signal.aborted || this.#hasStoreFailed) return false
      await this.#deps.clock.sleep(retryMs, signal)
    }
    for (const source of sources) source.progressSaved()
    saved.resolve()
    return true
  }

  async #try(progress: readonly LinkProgress[]): Promise<boolean> {
    try {
      const lost = await this.#deps.store.saveProgress(progress)
      if (lost.length > 0) this.#deps.leases.lost(lost)
      return true
    } catch (error) {
      this.#deps.events.failed({ where: "progress saves", error })
      this.#hasStoreFailed = error instanceof StoreFailed
      return false
    }
  }
}
