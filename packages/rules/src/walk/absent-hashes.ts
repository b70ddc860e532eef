/**
 * Hashes that no term of the rules has, as bits in the memory of the walk's module: it makes no query for a word or key
 * with one of them. Most words of a post are in no rule.
 *
 * The bits are those of one matcher, which keeps them. Without one there are none, and every text becomes a query.
 */

import type { Walk } from "./walk-module.ts"

/** The bits of one module. */
export class AbsentHashes {
  readonly bits: Int32Array<ArrayBuffer>
  /** The matcher that keeps the bits. */
  keeper: object | undefined

  constructor(walk: Walk) {
    this.bits = new Int32Array(walk.memory.buffer, walk.absentHashes.value, walk.absentHashesBits.value / 32)
  }
}
