import { setImmediate as nextTurn } from "node:timers/promises"
import type { LinkProgress } from "../../../model/link.ts"
import { StoreDamaged, StoreFailed, StoreUnreadable } from "../../../store/store-faults.ts"
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

/** Progress that was taken from a source and is not durable yet. */
interface Part {
  readonly source: ProgressSource
  readonly progress: LinkProgress
  readonly saved: PromiseWithResolvers<void>
}

/**
 * Saves the progress of all links together: one save is in progress at a time, and the next has all that was made
 * since. Between two there is a short pause, which ends when a link can use few of its slots because the outcomes in
 * the others are not saved: that is the bound on what has to be saved.
 *
 *     parts of all links ─► one save ── the store is full, or not reached ─► the same save again
 *                               └────── rows are damaged or unreadable ─► each part by itself, until it is saved
 *
 * The rows may be those of one link, as on a bad sector. So only the links whose own parts cannot be saved wait, and the
 * others go on.
 */
export class ProgressSaves {
  readonly #deps: ProgressSavesDeps
  /** Called when there is something to save. */
  #wake: (() => void) | undefined
  /** Ends the pause before the next save. */
  #pause = new AbortController()
  /** Sources that have made progress since it was last taken. */
  readonly #waiting = new Map<ProgressSource, PromiseWithResolvers<void>>()
  /** Sources of parts that are saved by themselves. Nothing more is taken from them, since it builds on the part. */
  readonly #held = new Set<ProgressSource>()
  /** The saves of these parts, until they succeed or are given up. */
  readonly #lone = new Set<Promise<void>>()
  #hasStoreFailed = false

  constructor(deps: ProgressSavesDeps) {
    this.#deps = deps
  }

  /** Resolves when the progress that `source` has made by now is durable; stays pending when it never is. */
  save(source: ProgressSource): Promise<void> {
    const saved = this.#waiting.get(source) ?? Promise.withResolvers()
    this.#waiting.set(source, saved)
    this.#wake?.()
    return saved.promise
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
    while (!this.#hasStoreFailed) {
      if (!this.#hasWork()) {
        if (!signal.aborted) await this.#woken()
        else if (this.#lone.size > 0) await Promise.race(this.#lone)
        else return
        continue
      }
      const waitMs = nextAtMs - this.#deps.clock.monotonicMs()
      if (waitMs > 0 && !signal.aborted) await this.#deps.clock.sleep(waitMs, this.#pause.signal)
      nextAtMs = this.#deps.clock.monotonicMs() + pauseMs
      // Parts that cannot be saved are tried until they can, and nothing is saved that builds on them.
      if (!(await this.#saveParts(this.#takeParts(), signal))) return
    }
  }

  async #woken(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#wake = resolve
    })
    // Attempts that end in the same turn of the event loop are saved with it.
    await nextTurn()
  }

  #hasWork(): boolean {
    return this.#waiting.keys().some((source) => !this.#held.has(source))
  }

  #takeParts(): readonly Part[] {
    this.#pause = new AbortController()
    const parts: Part[] = []
    for (const [source, saved] of this.#waiting) {
      if (this.#held.has(source)) continue
      this.#waiting.delete(source)
      parts.push({ source, progress: source.takeProgress(), saved })
    }
    return parts
  }

  /** Saves the parts in one save, or leaves each to a save by itself. False when they are given up. */
  async #saveParts(parts: readonly Part[], signal: AbortSignal): Promise<boolean> {
    for (;;) {
      const outcome = await this.#try(parts)
      if (outcome === "saved") {
        settle(parts)
        return true
      }
      if (outcome === "fault") {
        for (const part of parts) this.#saveAlone(part, signal, { hasFailed: parts.length === 1 })
        return true
      }
      if (signal.aborted || this.#hasStoreFailed) return false
      await this.#deps.clock.sleep(retryMs, signal)
    }
  }

  /** Begins to save a part by itself. Its source is held until that succeeds. */
  #saveAlone(part: Part, signal: AbortSignal, { hasFailed }: { readonly hasFailed: boolean }): void {
    this.#held.add(part.source)
    const saving = this.#untilSaved(part, signal, hasFailed).finally(() => {
      this.#lone.delete(saving)
      this.#wake?.()
    })
    this.#lone.add(saving)
  }

  async #untilSaved(part: Part, signal: AbortSignal, hasFailed: boolean): Promise<void> {
    let isSaved = !hasFailed && (await this.#try([part])) === "saved"
    while (!isSaved && !signal.aborted && !this.#hasStoreFailed) {
      await this.#deps.clock.sleep(retryMs, signal)
      isSaved = (await this.#try([part])) === "saved"
    }
    if (!isSaved) return
    this.#held.delete(part.source)
    settle([part])
  }

  /** `store`: no part can be saved now. `fault`: the fault may be that of some parts alone. */
  async #try(parts: readonly Part[]): Promise<"saved" | "store" | "fault"> {
    try {
      const lost = await this.#deps.store.saveProgress(parts.map(({ progress }) => progress))
      if (lost.length > 0) this.#deps.leases.lost(lost)
      return "saved"
    } catch (error) {
      this.#deps.events.failed({ where: "progress saves", error })
      this.#hasStoreFailed ||= error instanceof StoreFailed
      return error instanceof StoreDamaged || error instanceof StoreUnreadable ? "fault" : "store"
    }
  }
}

function settle(parts: readonly Part[]): void {
  for (const { source, saved } of parts) {
    source.progressSaved()
    saved.resolve()
  }
}
