import type { ArrivalSource, ChangeSource } from "./store.ts"

/** The arrivals of a store that announces every append. */
export function arrivalsOf(store: ChangeSource): ArrivalSource["onArrival"] {
  return (listener) =>
    store.onChange(({ kind }) => {
      if (kind === "matches") listener()
    })
}

/** Those who listen to a store's changes, in the order in which they came. */
export class ChangeListeners<Change> {
  readonly #listeners = new Set<(change: Change) => void>()

  readonly announce = (change: Change): void => {
    for (const listener of this.#listeners) listener(change)
  }

  /** Calls `listener` after each change, until the returned function is called. */
  readonly onChange = (listener: (change: Change) => void): (() => void) => {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Forgets all of them. */
  clear(): void {
    this.#listeners.clear()
  }
}
