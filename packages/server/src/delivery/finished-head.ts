/**
 * The position of a reader of a log, while its deliveries finish in any order.
 *
 *     started    5  6  7  8  9
 *     finished   ✓  ✗     ✓        head 5, passed 8
 *
 * The head moves over finished positions only: everything up to it is finished. The reader decides when a delivery is
 * finished, and whether a cursor may pass one that is not.
 */
import assert from "node:assert/strict"
import type { MatchSeq } from "../model/ids.ts"

/** The positions that a reader has started and not finished, and the head that follows from them. */
export class FinishedHead {
  #passed: MatchSeq
  /** Started and not finished. Ascending, except for those that were resumed. */
  readonly #unfinished = new Set<MatchSeq>()
  /** The least of the unfinished ones. Absent when it is not known. */
  #oldest: MatchSeq | undefined

  /** Everything up to `position` is finished. */
  constructor(position: MatchSeq) {
    this.#passed = position
  }

  /** Everything up to here is finished. */
  get position(): MatchSeq {
    return Math.min(this.#passed, this.#oldestUnfinished() - 1) as MatchSeq
  }

  /** The newest position that was passed: everything up to here is finished or unfinished, and not to be read. */
  get passed(): MatchSeq {
    return this.#passed
  }

  /** Number of positions up to `seq`, which is passed or beyond, that are not finished. */
  unfinishedUpTo(seq: MatchSeq): number {
    let passed = 0
    for (const unfinished of this.#unfinished) if (unfinished <= this.#passed) passed += 1
    return passed + Math.max(0, seq - this.#passed)
  }

  /** True from the start of a position until its finish. */
  isUnfinished(seq: MatchSeq): boolean {
    return this.#unfinished.has(seq)
  }

  /** Starts a position beyond those that are passed. Each must come after those started before. */
  start(seq: MatchSeq): void {
    assert(seq > this.#passed && !this.#unfinished.has(seq), "entries start once, beyond the cursor")
    this.#unfinished.add(seq)
  }

  /** Takes up a position that was started earlier, by this process or another, and is passed. */
  resume(seq: MatchSeq): void {
    this.#unfinished.add(seq)
    this.#oldest = undefined
  }

  /** Finishes a position, and passes it. */
  finish(seq: MatchSeq): void {
    this.#unfinished.delete(seq)
    if (seq === this.#oldest) this.#oldest = undefined
    this.pass(seq)
  }

  /** Passes everything up to `seq`. Never moves back. */
  pass(seq: MatchSeq): void {
    if (seq > this.#passed) this.#passed = seq
  }

  #oldestUnfinished(): number {
    if (this.#oldest === undefined) {
      let oldest = Number.POSITIVE_INFINITY as MatchSeq
      for (const seq of this.#unfinished) if (seq < oldest) oldest = seq
      this.#oldest = this.#unfinished.size === 0 ? undefined : oldest
    }
    return this.#oldest ?? Number.POSITIVE_INFINITY
  }
}
