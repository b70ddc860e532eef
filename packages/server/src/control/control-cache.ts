/**
 * Recent reads of control data, for questions that every request asks.
 *
 * A value is kept until a change of control is announced. A store announces a change before it confirms it to the
 * caller who made it, so nobody reads what they have just overwritten. Announcements of other processes may be late or
 * lost, so no value is older than a second.
 */
import { LRUCache } from "lru-cache"
import type { Clock } from "../runtime/clock.ts"
import type { Store } from "../store/store.ts"

/** Oldest that a value may be. Ours: the bound that holds for rules as well. */
const ageMsMax = 1_000

/** Most values that are kept; beyond it the least recently used is dropped. Ours. */
const valuesMax = 10_000

/** Values by key. Undefined is not kept, so that keys that do not exist take no room. */
export class ControlCache<Value> {
  readonly #clock: Clock
  readonly #values = new LRUCache<string, { readonly value: Value; readonly untilMs: number }>({
    max: valuesMax,
  })
  #changes = 0

  constructor(store: Store, clock: Clock) {
    this.#clock = clock
    store.onChange((change) => {
      if (change.kind === "control") this.clear()
    })
  }

  /** The value of `key`, from `read` unless it is kept. */
  async get(key: string, read: () => Promise<Value | undefined>): Promise<Value | undefined> {
    const nowMs = this.#clock.monotonicMs()
    const kept = this.#values.get(key)
    if (kept !== undefined && kept.untilMs > nowMs) return kept.value
    const changes = this.#changes
    const value = await read()
    // A value that was read during a change may be from before it.
    if (value === undefined || changes !== this.#changes) return value
    this.#values.set(key, { value, untilMs: nowMs + ageMsMax })
    return value
  }

  /** Drops everything. Called by the code that makes a change, in case the announcement is lost. */
  clear(): void {
    this.#changes += 1
    this.#values.clear()
  }
}
