/**
 * Caches reads of control data that every request needs.
 *
 * A value is kept until a change of control is announced. A store announces a change before it confirms it to the
 * caller who made it, so no caller reads what it has just overwritten. Announcements of other processes may be late or
 * lost, so no value is older than a second. Requests that come while a value is being read share that read: otherwise each
 * second would begin with as many reads as there are requests.
 */
import type { ChangeSource } from "../store/store.ts"
import { LRUCache } from "lru-cache"
import type { Clock } from "../runtime/clock.ts"

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
  readonly #reading = new Map<string, Promise<Value | undefined>>()
  #changes = 0

  constructor(store: ChangeSource, clock: Clock) {
    this.#clock = clock
    store.onChange((change) => {
      if (change.kind === "control") this.clear()
    })
  }

  /** The value of `key`, from `read` unless it is kept. */
  async get(key: string, read: () => Promise<Value | undefined>): Promise<Value | undefined> {
    const kept = this.#values.get(key)
    if (kept !== undefined && kept.untilMs > this.#clock.monotonicMs()) return kept.value
    const known = this.#reading.get(key)
    if (known !== undefined) return known
    const reading = this.#read(key, read)
    this.#reading.set(key, reading)
    const forget = (): void => {
      if (this.#reading.get(key) === reading) this.#reading.delete(key)
    }
    reading.then(forget, forget)
    return reading
  }

  async #read(key: string, read: () => Promise<Value | undefined>): Promise<Value | undefined> {
    const untilMs = this.#clock.monotonicMs() + ageMsMax
    const changes = this.#changes
    const value = await read()
    // A value that was read during a change may be from before it.
    if (value !== undefined && changes === this.#changes) this.#values.set(key, { value, untilMs })
    return value
  }

  /** Drops everything. Called by the code that makes a change, in case the announcement is lost. */
  clear(): void {
    this.#changes += 1
    this.#values.clear()
    this.#reading.clear()
  }
}
