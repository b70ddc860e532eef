/**
 * A hash table that grows by one bucket at a time ("linear hashing", Litwin 1980).
 *
 *     buckets   0 1 2 3 │ 4 5      the next entry splits bucket 2 into 2 and 6, the one after it 3 into 3 and 7;
 *               ▲       ▲          then the table has doubled, and splitting begins at 0 again
 *               split next
 *
 * In a table that doubles at once, one addition in a million would wait until all entries are moved.
 */

import { FlatInts } from "./flat-ints.ts"

/** Access to the hash of an entry and to the next entry in its bucket, which the owner of the table stores. */
export interface Chain {
  hashOf(entry: number): number
  /** 0 after the last entry. */
  next(entry: number): number
  setNext(entry: number, next: number): void
}

const bucketsMin = 8

/** Entries, which are positive integers, by hash. The owner of the table stores their content. */
export class ChainedTable {
  readonly #chain: Chain
  readonly #bucketsPerEntry: number
  /**
   * For each bucket its first entry and, above it, a tag: these bits of the hash of an only entry, or all of them set.
   * Most of what is not in the table is then known not to be without reading an entry, which waits for memory.
   */
  readonly #heads = new FlatInts()
  readonly #tagMask: number
  /** Number of buckets before the current doubling. */
  #base = bucketsMin
  #split = 0
  #size = 0

  /** Entries have at most so many bits. The rest of 32 is for tags. */
  constructor(chain: Chain, { bucketsPerEntry = 1, entryBits = 32 } = {}) {
    this.#chain = chain
    this.#tagMask = entryBits === 32 ? 0 : -1 << entryBits
    this.#bucketsPerEntry = bucketsPerEntry
  }

  get size(): number {
    return this.#size
  }

  /** Integers in memory, used or not. */
  get capacity(): number {
    return this.#heads.ints.length
  }

  /** First entry of those that may have the hash; 0 if there is none. The others follow by `next` of the chain. */
  first(hash: number): number {
    const head = this.#heads.ints[this.#bucketOf(hash)] ?? 0
    const tagMask = this.#tagMask
    const tag = head & tagMask
    return tag === tagMask || tag === (hash & tagMask) ? head & ~tagMask : 0
  }

  /** Adds an entry, which must not be in the table, with its hash. */
  add(entry: number, hash: number): void {
    this.#put(this.#bucketOf(hash), entry, hash)
    this.#size++
    while (this.#size * this.#bucketsPerEntry > this.#base + this.#split) this.#splitNext()
  }

  /** Removes an entry, which must be in the table. */
  remove(entry: number): void {
    const chain = this.#chain
    const bucket = this.#bucketOf(chain.hashOf(entry))
    let before = 0
    for (let at = this.#headOf(bucket); at !== entry; at = chain.next(at)) before = at
    if (before === 0) this.#setHead(bucket, chain.next(entry), -1)
    else chain.setNext(before, chain.next(entry))
    this.#size--
    if (this.#size === 0) this.#reset()
  }

  /** Calls the function with every entry, in no particular order. */
  forEach(callback: (entry: number) => void): void {
    for (let bucket = 0; bucket < this.#base + this.#split; bucket++)
      for (let at = this.#headOf(bucket); at !== 0; at = this.#chain.next(at)) callback(at)
  }

  #bucketOf(hash: number): number {
    const bucket = hash & (this.#base - 1)
    return bucket < this.#split ? hash & (this.#base * 2 - 1) : bucket
  }

  #put(bucket: number, entry: number, hash: number): void {
    const head = this.#headOf(bucket)
    this.#chain.setNext(entry, head)
    this.#setHead(bucket, entry, head === 0 ? hash : -1)
  }

  #headOf(bucket: number): number {
    return this.#heads.get(bucket) & ~this.#tagMask
  }

  #setHead(bucket: number, entry: number, tag: number): void {
    this.#heads.set(bucket, entry === 0 ? 0 : entry | (tag & this.#tagMask))
  }

  #splitNext(): void {
    const from = this.#split
    let entry = this.#headOf(from)
    this.#heads.set(from, 0)
    this.#heads.set(from + this.#base, 0)
    this.#split++
    while (entry !== 0) {
      const next = this.#chain.next(entry)
      const hash = this.#chain.hashOf(entry)
      this.#put(hash & (this.#base * 2 - 1), entry, hash)
      entry = next
    }
    if (this.#split < this.#base) return
    this.#base *= 2
    this.#split = 0
  }

  #reset(): void {
    this.#heads.clear()
    this.#base = bucketsMin
    this.#split = 0
  }
}
