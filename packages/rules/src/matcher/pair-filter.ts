/**
 * A filter of pairs: two words may be a pair of some rule only if the bit of the pair's hash is set.
 *
 * Every two words of a post that follow each other are asked for, and nearly none are a pair: the bits show that
 * without a look-up. The bit of a removed pair stays until the last pair is removed; it costs a look-up and no more.
 * There are two sizes, because a filter that doubled again and again would be filled anew each time: one for the few
 * pairs of most matchers, and one for many.
 */

const smallBits = 2 ** 13
const largeBits = 2 ** 20

/** Number of pairs for which the small size is enough. */
const smallPairs = 1_000

/** The hashes of the pairs. */
export class PairFilter {
  #bits = new Int32Array(0)
  #mask = 0
  #size = 0
  /** All hashes, while the filter is small. */
  #hashes: number[] = []

  /** False only if no pair has the hash. */
  mayHave(hash: number): boolean {
    const bit = hash & this.#mask
    return ((this.#bits[bit >>> 5] ?? 0) & (1 << bit)) !== 0
  }

  /** Adds a pair. */
  add(hash: number): void {
    if (this.#bits.length === 0) this.#resize(smallBits)
    this.#size++
    this.#set(hash)
    if (this.#bits.length * 32 === largeBits) return
    this.#hashes.push(hash)
    if (this.#hashes.length <= smallPairs) return
    this.#resize(largeBits)
    for (const one of this.#hashes) this.#set(one)
    this.#hashes = []
  }

  /** Removes a pair, which must have been added. */
  remove(hash: number): void {
    this.#size--
    const at = this.#hashes.indexOf(hash)
    if (at >= 0) this.#hashes.splice(at, 1)
    if (this.#size === 0) this.#bits = new Int32Array(0)
  }

  #set(hash: number): void {
    const bit = hash & this.#mask
    this.#bits[bit >>> 5] = (this.#bits[bit >>> 5] ?? 0) | (1 << bit)
  }

  #resize(bits: number): void {
    this.#bits = new Int32Array(bits >>> 5)
    this.#mask = bits - 1
  }
}
