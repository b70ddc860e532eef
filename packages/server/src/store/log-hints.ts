/**
 * Wakes readers whose log has grown: one listener and one poll for all readers of a store, however many there are.
 *
 *     store.onChange ─► app ─► its hints ─► called
 *     every 10 s ─► store.heads() ─► hints whose reader is behind its app's head ─► called
 *
 * A reader of a log that does not grow costs only memory: it has no timer of its own, and the poll compares two numbers
 * for it. The poll makes up for lost announcements.
 */
import type { AppId, MatchSeq } from "../model/ids.ts"
import type { Clock } from "../runtime/clock.ts"
import type { Store } from "./store.ts"

/** Time between two polls of the heads. Ours: a lost announcement delays a match by at most this. */
const pollMs = 10_000

type HintedStore = Pick<Store, "onChange" | "heads">

/** By store, and by the clock that its readers use. A server has one. */
const hintsOfStores = new WeakMap<object, WeakMap<Clock, LogHints>>()

/** Opens a hint for one reader of a log, which closes it when it stops reading. */
export function openLogHint(store: HintedStore, clock: Clock, appId: AppId): LogHint {
  const ofStore = hintsOfStores.get(store) ?? new WeakMap<Clock, LogHints>()
  hintsOfStores.set(store, ofStore)
  const hints = ofStore.get(clock) ?? new LogHints(store, clock)
  ofStore.set(clock, hints)
  return hints.open(appId)
}

/** Wakes one reader when its log may have grown. */
class LogHint {
  readonly #close: (hint: LogHint) => void
  #isCalled = false
  #after: MatchSeq | undefined
  #end: (() => void) | undefined

  constructor(close: (hint: LogHint) => void) {
    this.#close = close
  }

  /** Discards earlier calls. Called before a read, so that a call during the read ends the wait after it. */
  clear(): void {
    this.#isCalled = false
  }

  call(): void {
    this.#isCalled = true
    this.#end?.()
  }

  /** Wakes the reader if it waits at a position before `head`. */
  callIfBehind(head: MatchSeq): void {
    if (this.#after !== undefined && this.#after < head) this.call()
  }

  /** Waits until the log may have entries after `after`: until the next call, or not at all after a call since `clear`. */
  wait(after: MatchSeq): Promise<void> {
    if (this.#isCalled) return Promise.resolve()
    this.#after = after
    return new Promise((resolve) => {
      this.#end = () => {
        this.#end = undefined
        this.#after = undefined
        resolve()
      }
    })
  }

  close(): void {
    this.#close(this)
  }
}

class LogHints {
  readonly #store: HintedStore
  readonly #clock: Clock
  readonly #open = new Map<AppId, Set<LogHint>>()
  /** Stops the listener and the poll; present while hints are open. */
  #stop: AbortController | undefined

  constructor(store: HintedStore, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  open(appId: AppId): LogHint {
    this.#stop ??= this.#listen()
    const ofApp = this.#open.get(appId) ?? new Set()
    this.#open.set(appId, ofApp)
    const hint = new LogHint((closed) => {
      if (!ofApp.delete(closed) || ofApp.size > 0) return
      this.#open.delete(appId)
      if (this.#open.size > 0) return
      this.#stop?.abort()
      this.#stop = undefined
    })
    ofApp.add(hint)
    return hint
  }

  #listen(): AbortController {
    const stop = new AbortController()
    const stopListening = this.#store.onChange((change) => {
      if (change.kind !== "matches") return
      for (const appId of change.appIds ?? this.#open.keys()) {
        for (const hint of this.#open.get(appId) ?? []) hint.call()
      }
    })
    stop.signal.addEventListener("abort", stopListening, { once: true })
    void this.#poll(stop.signal)
    return stop
  }

  async #poll(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#clock.pause(pollMs, signal)
      if (signal.aborted) return
      const heads = await this.#heads()
      for (const [appId, hints] of this.#open) {
        const head = heads?.get(appId)
        if (head !== undefined) for (const hint of hints) hint.callIfBehind(head)
      }
    }
  }

  /** The heads; `undefined` when they cannot be read. The next poll tries again, and readers report the failure. */
  async #heads(): Promise<ReadonlyMap<AppId, MatchSeq> | undefined> {
    try {
      return await this.#store.heads()
    } catch {
      return undefined
    }
  }
}
