import { LRUCache } from "lru-cache"
import type { Clock } from "../clock.ts"

/** The same line is logged once in this time. Ours: what is broken fails every second, and a log is to be read. */
const repeatMs = 60_000

/** Most lines that are remembered; beyond it, the one that was logged first is forgotten. Ours. */
const linesMax = 1_000

/** Lines that repeat: logged the first time, then once a minute with the number held back in between. */
export class RepeatedLines {
  readonly #clock: Clock
  readonly #known = new LRUCache<string, { readonly loggedAtMs: number; held: number }>({ max: linesMax })

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** How often the line was held back since it was last logged; `undefined` when it is to be held back now. */
  pass(line: string): number | undefined {
    const nowMs = this.#clock.monotonicMs()
    // Not `get`: the order is that in which lines were logged.
    const known = this.#known.peek(line)
    if (known !== undefined && nowMs - known.loggedAtMs < repeatMs) {
      known.held += 1
      return undefined
    }
    this.#known.set(line, { loggedAtMs: nowMs, held: 0 })
    return known?.held ?? 0
  }
}
