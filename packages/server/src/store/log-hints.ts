/**
 * Who waits for which log to grow: one listener and one poll for all readers of a store, however many they are.
 *
 *     store.onChange ─► app ─► its hints ─► called
 *     every 10 s ─► store.heads() ─► hints whose reader is behind its app's head ─► called
 *
 * A reader of a log that does not grow costs nothing but its memory: it has no timer of its own, and nobody looks
 * at it but the poll, which compares two numbers. The poll is there because an announcement may be lost.
 */
import type { AppId, MatchSeq } from "../model/ids.ts"
import type { Clock } from "../runtime/clock.ts"
import type { Store } from "./store.ts"

/** Time between two looks at the heads. Ours: a lost announcement delays a match by at most this. */
const pollMs = 10_000

type HintedStore = Pick<Store, "onChange" | "heads">

/** One for each store, and within it for each clock that its readers wait by: in a server, one. */
const hintsOfStores = new WeakMap<object, WeakMap<Clock, LogHints>>()

/** A hint that a reader opens before it reads and closes when it has done with the log. */
export function openLogHint(store: HintedStore, clock: Clock, appId: AppId): LogHint {
  const ofStore = hintsOfStores.get(store) ?? new WeakMap<Clock, LogHints>()
  hintsOfStores.set(store, ofStore)
  const hints = ofStore.get(clock) ?? new LogHints(store, clock)
  ofStore.set(clock, hints)
  return hints.open(appId)
}

/** What tells one reader that its log may have grown. */
class LogHint {
  readonly #close: (hint: LogHint) => void
  #isCalled = false
  #after: MatchSeq | undefined
  #end: (() => void) | undefined

  constructor(close: (hint: LogHint) => void) {
    this.#close = close
  }

  /** Forgets calls up to now. To be called before a read: a call during the read then ends the wait after it. */
  clear(): void {
    this.#isCalled = false
  }

  call(): void {
    this.#isCalled = true
    this.#end?.()
  }

  /** Called when a reader waits before this head. */
  callIfBehind(head: MatchSeq): void {
    if (this.#after !== undefined && this.#after < head) this.call()
  }

  /** Until the log may hold something after `after`: the next call, or one since `clear`. */
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
  /** Ends listening and polling; there while hints are open. */
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
      for (const appId of change.appIds) {
        for (const hint of this.#open.get(appId) ?? []) hint.call()
      }
    })
    stop.signal.addEventListener("abort", stopListening, { once: true })
    void this.#poll(stop.signal)
    return stop
  }

  async #poll(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#clock.sleep(pollMs, signal)
      if (signal.aborted) return
      const heads = await this.#heads()
      for (const [appId, hints] of this.#open) {
        const head = heads?.get(appId)
        if (head !== undefined) for (const hint of hints) hint.callIfBehind(head)
      }
    }
  }

  /** A store that cannot say now is asked again in time; whoever reads from it meets, and tells, the failure. */
  async #heads(): Promise<ReadonlyMap<AppId, MatchSeq> | undefined> {
    try {
      return await this.#store.heads()
    } catch {
      return undefined
    }
  }
}
