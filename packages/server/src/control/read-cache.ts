/**
 * What the store said a moment ago, for questions that every request asks.
 *
 * An answer is kept until anything is announced to have changed. A store announces a change before it answers
 * whoever made it, so nobody reads what they have just overwritten. Announcements of other processes may be late
 * or lost, so an answer is never older than a second.
 */
import type { Clock } from "../runtime/clock.ts"
import type { Store } from "../store/store.ts"

/** Oldest that an answer may be. Ours: the bound that holds for rules as well. */
const ageMsMax = 1_000

/** Most answers kept. At the bound all are forgotten and asked for again. Ours. */
const answersMax = 10_000

/** Answers by key. An answer of `undefined` is not kept, so that made-up keys take no room. */
export class ReadCache<Value> {
  readonly #clock: Clock
  readonly #answers = new Map<string, { readonly value: Value; readonly untilMs: number }>()
  #changes = 0

  constructor(store: Store, clock: Clock) {
    this.#clock = clock
    store.onChange((change) => {
      if (change.kind === "control") this.clear()
    })
  }

  /** The answer to `key`, from `read` unless it is still known. */
  async get(key: string, read: () => Promise<Value | undefined>): Promise<Value | undefined> {
    const nowMs = this.#clock.monotonicMs()
    const known = this.#answers.get(key)
    if (known !== undefined && known.untilMs > nowMs) return known.value
    const changes = this.#changes
    const value = await read()
    // What was read while something changed may be what held before the change.
    if (value === undefined || changes !== this.#changes) return value
    if (this.#answers.size >= answersMax) this.#answers.clear()
    this.#answers.set(key, { value, untilMs: nowMs + ageMsMax })
    return value
  }

  /** Forgets everything. For whoever changes something, in case the announcement is lost. */
  clear(): void {
    this.#changes += 1
    this.#answers.clear()
  }
}
