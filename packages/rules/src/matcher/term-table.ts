/**
 * The terms of the rules, as small integers.
 *
 * A term is a word in a zone, or a key of an operator. It is found by a hash of its characters, which are then compared
 * one by one: texts and rules are untrusted, and an author could construct two words with the same hash. For the same
 * reason the length of a bucket is bounded, since every post could be made to read all of it. Further terms go into a
 * `Map`, whose hashes are unpredictable.
 *
 * Each term counts the posts that contain it, so that rules are filed under terms that are rare in fact.
 */

import type { IntArena } from "./int-arena.ts"
import { ChainedTable, type Chain } from "./chained-table.ts"
import { FlatInts } from "./flat-ints.ts"
import { comparedFields } from "../language/rule.ts"
import { isStopword } from "../language/stopwords.ts"
import { estimateOf } from "./term-estimate.ts"
import { flagTermMax, flagTermOf } from "./flag-masks.ts"
import { PairFilter } from "./pair-filter.ts"
import {
  addressSlot,
  fieldNumber,
  lengthShift,
  stopwordBit,
  termBits,
  termFields,
  termSlot,
  textSlots,
} from "./term-layout.ts"
import { TermHashes } from "./term-hashes.ts"
import { pairHash, TermQueries, type Queries } from "./term-queries.ts"

/** Maximum number of terms in a bucket. Ours. */
const bucketTermsMax = 64

/** Bits of an integer that no number of a term needs: 4 GiB of records of 64 bytes have numbers of 26 bits. */
const termTagBits = 6

/** Number of posts after which a term's count is halved, so that it follows what people write about. Ours. */
const halvingPosts = 1_000_000

/** Number of posts that outweigh the estimate for a new term. Ours. */
const estimateWeight = 1000

/** Terms by their text. Each counts its uses and is removed with the last one. */
export class TermTable {
  readonly #arena: IntArena
  /** The records of all terms, for the code that counts and files. */
  readonly slots = new FlatInts()
  readonly #queries = new TermQueries()
  /** The text of a single look-up, or of the term that is made. */
  readonly #single = new TermQueries()
  #found = new Int32Array(64)
  readonly #table: ChainedTable
  readonly #overflow = new Map<string, number>()
  /** Number of terms in each field. */
  readonly #sizes = new Int32Array(termFields.length)
  #size = 0
  readonly #pairs = new PairFilter()
  /** Those of the terms that are found by their text. */
  readonly hashes = new TermHashes((take) => this.#forEachText((term) => take(this.#get(term, termSlot.hash))))
  /** Numbers assigned so far; 0 is `always`, and those of flags follow. */
  #numbers = flagTermMax + 1
  /** First free number; its `next` is the next one. */
  #free = 0
  #posts = 0
  /** Result of prefetching, kept so that the engine does not remove it as dead code. */
  prefetched = 0

  constructor(arena: IntArena) {
    this.#arena = arena
    // Twice as many buckets as terms, so that most words that are no term hit an empty bucket.
    this.#table = new ChainedTable(chainOf(this.slots), { bucketsPerEntry: 2, entryBits: 32 - termTagBits })
    this.slots.set((flagTermMax << termBits) + termSlot.hash, 0)
  }

  /** Number of terms in use. */
  get size(): number {
    return this.#size
  }

  /** Integers in memory, used or not. */
  get capacity(): number {
    return this.slots.ints.length + this.#table.capacity
  }

  /** Greater than every term. */
  get numbers(): number {
    return this.#numbers
  }

  /** Number of terms in use in the field. */
  sizeOf(field: number): number {
    return this.#sizes[field] ?? 0
  }

  /** Number of the term's field. */
  fieldOf(term: number): number {
    return this.#get(term, termSlot.info) & (stopwordBit - 1)
  }

  /** Counts a post, and forgets the queries of one whose reading threw. */
  countPost(): void {
    this.#posts++
    this.#queries.clear()
  }

  /** Adds a query for a text. Returns its number, 1 for the first query since `findAll`. */
  query(field: number, text: string): number {
    return this.#queries.add(field, text)
  }

  /**
   * Adds a query for the two words, of one zone, that follow each other, unless no rule has them. Returns the number of
   * queries.
   */
  queryPair(first: number, second: number): number {
    const hash = pairHash(first, second)
    return this.#pairs.mayHave(hash) ? this.#queries.addPair(first, second, hash) : this.#queries.queriesCount
  }

  /** The terms of the queries that were added, by number; 0 if there is no such term. Valid until the next call. */
  findAll(): Int32Array {
    const found = this.findThose(this.#queries)
    this.#queries.clear()
    return found
  }

  /**
   * Likewise of other queries.
   *
   * Most of the cost of a look-up is waiting for memory. So first the buckets of all queries are read, then their first
   * terms, and only then are texts compared: the waiting times overlap.
   */
  findThose(queries: Queries): Int32Array {
    const { queriesCount: count, hashes, infos, begins, packed } = queries
    if (count >= this.#found.length) this.#found = new Int32Array(count * 2)
    const found = this.#found
    const { ints } = this.slots
    for (let query = 1; query <= count; query++) found[query] = this.#table.first(hashes[query] ?? 0)
    let prefetched = 0
    for (let query = 1; query <= count; query++) {
      prefetched ^= ints[(found[query] ?? 0) << termBits] ?? 0
    }
    this.prefetched = prefetched
    for (let query = 1; query <= count; query++) {
      const term = found[query] ?? 0
      if (term !== 0) found[query] = this.#find(term, packed, begins[query] ?? 0, infos[query] ?? 0, hashes[query] ?? 0)
    }
    if (this.#overflow.size > 0)
      for (let query = 1; query <= count; query++) found[query] ||= this.#findInOverflow(queries, query)
    return found
  }

  /** The term, or 0 if there is none. */
  find(field: number, text: string): number {
    this.#single.clear()
    this.#single.add(field, text)
    return this.#findSingle()
  }

  #findSingle(): number {
    const { hashes, infos, packed } = this.#single
    const first = this.#table.first(hashes[1] ?? 0)
    const found = first === 0 ? 0 : this.#find(first, packed, 0, infos[1] ?? 0, hashes[1] ?? 0)
    return found || this.#findInOverflow(this.#single, 1)
  }

  /** The term of the packed text among the terms of a bucket. */
  #find(first: number, packed: Int32Array, begin: number, info: number, hash: number): number {
    const count = ((info >>> lengthShift) + 1) >> 1
    const { ints } = this.slots
    for (let term = first; term !== 0;) {
      const at = term << termBits
      if (((ints[at + termSlot.info] ?? 0) & ~stopwordBit) === info) {
        if (count > textSlots) {
          const isLike = ints[at + termSlot.hash] === hash
          if (isLike && this.#isLongText(ints[at + addressSlot] ?? 0, packed, begin, count)) return term
        } else {
          let index = 0
          while (index < count && ints[at + termSlot.text + index] === packed[begin + index]) index++
          if (index === count) return term
        }
      }
      term = ints[at + termSlot.next] ?? 0
    }
    return 0
  }

  #findInOverflow({ infos, begins, packed }: Queries, query: number): number {
    if (this.#overflow.size === 0) return 0
    const info = infos[query] ?? 0
    const text = textAt(packed, begins[query] ?? 0, info >>> lengthShift)
    return this.#overflow.get(`${info & (stopwordBit - 1)}:${text}`) ?? 0
  }

  /** The term of the two words, of one zone, that follow each other; 0 if there is none. */
  findPair(first: number, second: number): number {
    const hash = pairHash(first, second)
    if (!this.#pairs.mayHave(hash)) return 0
    this.#single.clear()
    this.#single.addPair(first, second, hash)
    return this.#findSingle()
  }

  /** The term, made if there is none, with one more use. */
  intern(field: number, text: string): number {
    const found = this.find(field, text)
    if (found === 0) return this.#make(flagTermOf(field, text) || this.#newNumber(), isStopword(text))
    this.retain(found)
    return found
  }

  /** The term of a pair of words, made if there is none, with one more use. Takes over a use of each word. */
  internPair(first: number, second: number): number {
    const found = this.findPair(first, second)
    if (found === 0) {
      const hash = pairHash(first, second)
      this.#single.clear()
      this.#single.addPair(first, second, hash)
      const term = this.#make(this.#newNumber(), false)
      this.#pairs.add(hash)
      return term
    }
    this.retain(found)
    this.release(first)
    this.release(second)
    return found
  }

  /** A term of the single text. */
  #make(term: number, isStop: boolean): number {
    const hash = this.#single.hashes[1] ?? 0
    const info = this.#single.infos[1] ?? 0
    const field = info & (stopwordBit - 1)
    const length = info >>> lengthShift
    this.slots.set((term << termBits) + termSlot.hash, hash)
    const { ints } = this.slots
    const at = term << termBits
    ints[at + termSlot.info] = info | (isStop ? stopwordBit : 0)
    this.#write(ints, at, (length + 1) >> 1)
    ints[at + termSlot.seen] = 0
    ints[at + termSlot.uses] = 1
    ints[at + termSlot.postingsCount] = 0
    ints[at + termSlot.since] = this.#posts | 0
    if (this.#isBucketFull(hash)) this.#overflow.set(`${field}:${textAt(this.#single.packed, 0, length)}`, term)
    else this.#table.add(term, hash)
    if (isText(field)) this.hashes.add(hash)
    this.#size++
    this.#sizes[field] = this.sizeOf(field) + 1
    return term
  }

  retain(term: number): void {
    this.#set(term, termSlot.uses, this.#get(term, termSlot.uses) + 1)
  }

  /** Removes one use. Returns true if it was the last one: then the term is gone. */
  release(term: number): boolean {
    const uses = this.#get(term, termSlot.uses) - 1
    this.#set(term, termSlot.uses, uses)
    if (uses > 0) return false
    this.#remove(term)
    return true
  }

  /** Number of posts that contained the term since it was made; halved from time to time. */
  seenOf(term: number): number {
    return this.#get(term, termSlot.seen)
  }

  /** Share of posts that contain the term: estimated at first, counted later. */
  frequencyOf(term: number): number {
    const { ints } = this.slots
    const at = term << termBits
    let seen = ints[at + termSlot.seen] ?? 0
    let age = (this.#posts - (ints[at + termSlot.since] ?? 0)) >>> 0
    if (age > halvingPosts) {
      seen >>= 1
      age >>>= 1
      ints[at + termSlot.seen] = seen
      ints[at + termSlot.since] = (this.#posts - age) | 0
    }
    return (seen + estimateOf(ints[at + termSlot.info] ?? 0) * estimateWeight) / (age + estimateWeight)
  }

  #remove(term: number): void {
    const field = this.fieldOf(term)
    if (!this.#removeOverflow(term, field)) this.#table.remove(term)
    if (isText(field)) this.hashes.remove(this.#get(term, termSlot.hash))
    const count = ((this.#get(term, termSlot.info) >>> lengthShift) + 1) >> 1
    if (count > textSlots) this.#arena.free(this.#get(term, addressSlot), count)
    this.#size--
    this.#sizes[field] = this.sizeOf(field) - 1
    if (field === pairField) {
      this.#pairs.remove(this.#get(term, termSlot.hash))
      this.release(this.#get(term, termSlot.text))
      this.release(this.#get(term, termSlot.text + 1))
    }
    if (term <= flagTermMax) return
    this.#set(term, termSlot.next, this.#free)
    this.#free = term
  }

  /** False if the term is not in the overflow. */
  #removeOverflow(term: number, field: number): boolean {
    if (this.#overflow.size === 0) return false
    const key = `${field}:${this.#textOf(term)}`
    return this.#overflow.get(key) === term && this.#overflow.delete(key)
  }

  #forEachText(take: (term: number) => void): void {
    const takeText = (term: number): void => {
      if (isText(this.fieldOf(term))) take(term)
    }
    this.#table.forEach(takeText)
    for (const term of this.#overflow.values()) takeText(term)
  }

  #newNumber(): number {
    const term = this.#free
    if (term === 0) return this.#numbers++
    this.#free = this.#get(term, termSlot.next)
    return term
  }

  #isBucketFull(hash: number): boolean {
    let count = 0
    for (let term = this.#table.first(hash); term !== 0; term = this.#get(term, termSlot.next)) count++
    return count >= bucketTermsMax
  }

  #get(term: number, slot: number): number {
    return this.slots.get((term << termBits) + slot)
  }

  #set(term: number, slot: number, value: number): void {
    this.slots.set((term << termBits) + slot, value)
  }

  /** Stores the single text, `count` integers, in the record at the index. */
  #write(record: Int32Array, at: number, count: number): void {
    const { packed } = this.#single
    const here = count > textSlots ? textSlots - 1 : count
    for (let index = 0; index < here; index++) record[at + termSlot.text + index] = packed[index] ?? 0
    if (count <= textSlots) return
    const address = this.#arena.allocate(count)
    this.#arena.ints.set(packed.subarray(0, count), address)
    record[at + addressSlot] = address
  }

  /** True if the packed text from the index on is that at the address. */
  #isLongText(address: number, packed: Int32Array, from: number, count: number): boolean {
    const { ints } = this.#arena
    for (let index = 0; index < count; index++) if (ints[address + index] !== packed[from + index]) return false
    return true
  }

  #textOf(term: number): string {
    const { ints } = this.slots
    const at = term << termBits
    const length = (ints[at + termSlot.info] ?? 0) >>> lengthShift
    if ((length + 1) >> 1 <= textSlots) return textAt(ints, at + termSlot.text, length)
    return textAt(this.#arena.ints, ints[at + addressSlot] ?? 0, length)
  }
}

const pairField = fieldNumber("pair")

/** True if terms of the field are words and keys of posts. */
function isText(field: number): boolean {
  return field < comparedFields.length
}

/** The packed text of so many characters. */
function textAt(packed: Int32Array, begin: number, length: number): string {
  let text = ""
  for (let index = 0; index < length; index++) {
    const pair = packed[begin + (index >> 1)] ?? 0
    text += String.fromCharCode((index & 1) === 0 ? pair & 0xffff : pair >>> 16)
  }
  return text
}

function chainOf(slots: FlatInts): Chain {
  return {
    hashOf: (term) => slots.get((term << termBits) + termSlot.hash),
    next: (term) => slots.get((term << termBits) + termSlot.next),
    setNext: (term, next) => slots.set((term << termBits) + termSlot.next, next),
  }
}
