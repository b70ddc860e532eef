/**
 * How far a cursor may move while sends finish in any order: over the finished head, never over one that is
 * still under way.
 *
 *     started   5  6  7  8  9
 *     finished  ✓  ✓     ✓        position 6; when 7 is finished, 8
 */
import assert from "node:assert/strict"
import type { MatchSeq } from "../model/ids.ts"

/** The finished head of what was started after a position. */
export class FinishedHead {
  #position: MatchSeq
  /** Started and after `#position`, in order. */
  readonly #started: MatchSeq[] = []
  /** Finished ahead of `#position`. */
  readonly #finished = new Set<MatchSeq>()

  constructor(position: MatchSeq) {
    this.#position = position
  }

  /** Everything that was started up to here is finished. */
  get position(): MatchSeq {
    return this.#position
  }

  /** How many were started after `position`, finished ones among them. */
  get span(): number {
    return this.#started.length
  }

  /** Each must come after the one before. */
  start(seq: MatchSeq): void {
    assert(seq > (this.#started.at(-1) ?? this.#position), "entries start in order")
    this.#started.push(seq)
  }

  /** Once for each that was started. True when `position` has moved. */
  finish(seq: MatchSeq): boolean {
    this.#finished.add(seq)
    let count = 0
    for (const started of this.#started) {
      if (!this.#finished.delete(started)) break
      this.#position = started
      count += 1
    }
    this.#started.splice(0, count)
    return count > 0
  }
}
