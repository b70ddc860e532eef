/**
 * The hashes of the terms that posts are compared with, for the walk: it looks up no text whose hash no term has
 * (`walk/absent-hashes.ts`).
 *
 * Hashes are counted, so that a bit is right again when a term is removed. A count that has reached its maximum stays: its
 * bit costs a look-up and no more. Nothing is counted before a walked post is matched, as most matchers match none.
 */

import type { AbsentHashes } from "../walk/absent-hashes.ts"

const countMax = 255

/** The hashes of one table of terms. */
export class TermHashes {
  readonly #forEach: (take: (hash: number) => void) => void
  #absent: AbsentHashes | undefined
  #counts = new Uint8Array(0)

  /** `forEach` calls the function with the hash of every term. */
  constructor(forEach: (take: (hash: number) => void) => void) {
    this.#forEach = forEach
  }

  /** Keeps these bits from now on, until another matcher does. */
  keep(absent: AbsentHashes): void {
    if (absent === this.#absent && absent.keeper === this) return
    absent.keeper = this
    absent.bits.fill(-1)
    this.#absent = absent
    this.#counts = new Uint8Array(absent.bits.length * 32)
    this.#forEach((hash) => this.add(hash))
  }

  add(hash: number): void {
    if (this.#absent?.keeper !== this) return
    const { bits } = this.#absent
    const bit = hash & (this.#counts.length - 1)
    const count = this.#counts[bit] ?? 0
    if (count === countMax) return
    this.#counts[bit] = count + 1
    bits[bit >>> 5] = (bits[bit >>> 5] ?? 0) & ~(1 << bit)
  }

  remove(hash: number): void {
    if (this.#absent?.keeper !== this) return
    const { bits } = this.#absent
    const bit = hash & (this.#counts.length - 1)
    const count = this.#counts[bit] ?? 0
    if (count === countMax) return
    this.#counts[bit] = count - 1
    if (count === 1) bits[bit >>> 5] = (bits[bit >>> 5] ?? 0) | (1 << bit)
  }
}
