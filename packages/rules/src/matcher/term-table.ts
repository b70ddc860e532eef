/**
 * The terms of the rules, as small integers.
 *
 * A term is a word in a zone, or a key of an operator. It is found by a hash of its characters, which are then compared
 * one by one: texts and rules are untrusted, and somebody could construct two words with the same hash. For the same
 * reason the length of a bucket is bounded, since every post could be made to read all of it. Further terms go into a
 * `Map`, whose hashes are unpredictable.
 *
 * Each term counts the posts that contain it, so that rules are filed under terms that are rare in fact.
 */

import type { IntArena } from "./int-arena.ts"
import { ChainedTable, mixed, type Chain } from "./chained-table.ts"
import { codeAt } from "../text/code-at.ts"
import { longer, noPage, pageBits, PagedInts, pageMask } from "./paged-ints.ts"
import { isStopword } from "../language/stopwords.ts"
import { estimateOf } from "./term-estimate.ts"
import { addressSlot, lengthShift, stopwordBit, termBits, termFields, termSlot, textSlots } from "./term-layout.ts"

/** Maximum number of terms in a bucket. Ours. */
const bucketTermsMax = 64

/** Number of posts after which a term's count is halved, so that it follows what people write about. Ours. */
const halvingPosts = 1_000_000

/** Number of posts that outweigh the estimate for a new term. Ours. */
const estimateWeight = 1000

/** Terms by their text. Each counts its uses and is removed with the last one. */
export class TermTable {
  readonly #arena: IntArena
  /** The records of all terms, for the code that counts and files. */
  readonly slots = new PagedInts()
  /** The texts of the queries, two characters in each integer. */
  #packed = new Int32Array(256)
  /** The queries by number: hash, `info`, and start in `packed`. */
  #hashes = new Int32Array(64)
  #infos = new Int32Array(64)
  #begins = new Int32Array(64)
  #found = new Int32Array(64)
  #queries = 0
  readonly #table: ChainedTable
  readonly #overflow = new Map<string, number>()
  /** Number of terms in each field. */
  readonly #sizes = new Int32Array(termFields.length)
  #size = 0
  /** Numbers assigned so far; 0 is `always`. */
  #numbers = 1
  /** First free number; its `next` is the next one. */
  #free = 0
  #posts = 0
  /** Result of prefetching, kept so that the engine does not remove it as dead code. */
  prefetched = 0

  constructor(arena: IntArena) {
    this.#arena = arena
    // Twice as many buckets as terms, so that most words that are no term hit an empty bucket.
    this.#table = new ChainedTable(chainOf(this.slots), 2)
    this.slots.set(termSlot.next, 0)
  }

  /** Number of terms in use. */
  get size(): number {
    return this.#size
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

  /** Counts a post. */
  countPost(): void {
    this.#posts++
  }

  /** Adds a query for a text. Returns its number, 1 for the first query since `findAll`. */
  query(field: number, text: string): number {
    const query = ++this.#queries
    if (query + 1 >= this.#hashes.length) this.#makeRoom()
    this.#pack(query, field, text)
    return query
  }

  /**
   * The terms of the queries by number; 0 if there is no such term. Valid until the next query.
   *
   * Most of the cost of a look-up is waiting for memory. So first the buckets of all queries are read, then their first
   * terms, and only then are texts compared: the waiting times overlap.
   */
  findAll(): Int32Array {
    const count = this.#queries
    const [found, hashes] = [this.#found, this.#hashes]
    const { pages } = this.slots
    for (let query = 1; query <= count; query++) found[query] = this.#table.first(hashes[query] ?? 0)
    let prefetched = 0
    for (let query = 1; query <= count; query++) {
      const term = found[query] ?? 0
      prefetched ^= (pages[(term << termBits) >>> pageBits] ?? noPage)[(term << termBits) & pageMask] ?? 0
    }
    this.prefetched = prefetched
    for (let query = 1; query <= count; query++) {
      const term = found[query] ?? 0
      if (term !== 0) found[query] = this.#find(term, query)
    }
    if (this.#overflow.size > 0)
      for (let query = 1; query <= count; query++) found[query] ||= this.#findInOverflow(query)
    this.#queries = 0
    return found
  }

  /** The term, or 0 if there is none. */
  find(field: number, text: string): number {
    this.#pack(0, field, text)
    const first = this.#table.first(this.#hashes[0] ?? 0)
    return (first === 0 ? 0 : this.#find(first, 0)) || this.#findInOverflow(0)
  }

  /** The term of the query among the terms of a bucket. */
  #find(first: number, query: number): number {
    const hash = this.#hashes[query] ?? 0
    const info = this.#infos[query] ?? 0
    const begin = this.#begins[query] ?? 0
    const count = ((info >>> lengthShift) + 1) >> 1
    const packed = this.#packed
    const { pages } = this.slots
    for (let term = first; term !== 0;) {
      const page = pages[(term << termBits) >>> pageBits] ?? noPage
      const at = (term << termBits) & pageMask
      if (((page[at + termSlot.info] ?? 0) & ~stopwordBit) === info) {
        if (count > textSlots) {
          if (page[at + termSlot.hash] === hash && this.#isLongText(page, at, begin, count)) return term
        } else {
          let index = 0
          while (index < count && page[at + termSlot.text + index] === packed[begin + index]) index++
          if (index === count) return term
        }
      }
      term = page[at + termSlot.next] ?? 0
    }
    return 0
  }

  #findInOverflow(query: number): number {
    if (this.#overflow.size === 0) return 0
    const info = this.#infos[query] ?? 0
    const text = textAt(this.#packed, this.#begins[query] ?? 0, info >>> lengthShift)
    return this.#overflow.get(`${info & (stopwordBit - 1)}:${text}`) ?? 0
  }

  /** The term, made if there is none, with one more use. */
  intern(field: number, text: string): number {
    const found = this.find(field, text)
    if (found !== 0) {
      this.retain(found)
      return found
    }
    const term = this.#newNumber()
    const hash = this.#hashes[0] ?? 0
    this.slots.set((term << termBits) + termSlot.hash, hash)
    const page = this.slots.pages[(term << termBits) >>> pageBits] ?? noPage
    const at = (term << termBits) & pageMask
    page[at + termSlot.info] = (text.length << lengthShift) | (isStopword(text) ? stopwordBit : 0) | field
    this.#write(page, at, (text.length + 1) >> 1)
    page[at + termSlot.seen] = 0
    page[at + termSlot.uses] = 1
    page[at + termSlot.postingsCount] = 0
    page[at + termSlot.since] = this.#posts | 0
    page[at + termSlot.since + 1] = Math.floor(this.#posts / 2 ** 32)
    if (this.#isBucketFull(hash)) this.#overflow.set(`${field}:${text}`, term)
    else this.#table.add(term, hash)
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

  /** Share of posts that contain the term: estimated at first, counted later. */
  frequencyOf(term: number): number {
    const page = this.slots.pages[(term << termBits) >>> pageBits] ?? noPage
    const at = (term << termBits) & pageMask
    const since = (page[at + termSlot.since + 1] ?? 0) * 2 ** 32 + ((page[at + termSlot.since] ?? 0) >>> 0)
    let seen = page[at + termSlot.seen] ?? 0
    let age = this.#posts - since
    if (age > halvingPosts) {
      seen >>= 1
      age = Math.floor(age / 2)
      page[at + termSlot.seen] = seen
      const from = this.#posts - age
      page[at + termSlot.since] = from | 0
      page[at + termSlot.since + 1] = Math.floor(from / 2 ** 32)
    }
    return (seen + estimateOf(page[at + termSlot.info] ?? 0) * estimateWeight) / (age + estimateWeight)
  }

  #remove(term: number): void {
    const field = this.fieldOf(term)
    if (!this.#removeOverflow(term, field)) this.#table.remove(term)
    const count = ((this.#get(term, termSlot.info) >>> lengthShift) + 1) >> 1
    if (count > textSlots) this.#arena.free(this.#get(term, addressSlot), count)
    this.#size--
    this.#sizes[field] = this.sizeOf(field) - 1
    this.#set(term, termSlot.next, this.#free)
    this.#free = term
  }

  /** False if the term is not in the overflow. */
  #removeOverflow(term: number, field: number): boolean {
    if (this.#overflow.size === 0) return false
    const key = `${field}:${this.#textOf(term)}`
    return this.#overflow.get(key) === term && this.#overflow.delete(key)
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

  /** Packs the text of a query after that of the query before it. Query 0 is for single look-ups. */
  #pack(query: number, field: number, text: string): void {
    const { length } = text
    const begin = query === 0 ? 0 : (this.#begins[query] ?? 0)
    let to = begin
    if (to + length >= this.#packed.length) this.#packed = longer(this.#packed, to + length)
    const packed = this.#packed
    const last = length - 1
    let hash = field
    let index = 0
    for (; index < last; index += 2) {
      const pair = codeAt(text, index) | (codeAt(text, index + 1) << 16)
      packed[to++] = pair
      hash = mixed(hash, pair)
    }
    if (index === last) {
      const single = codeAt(text, index)
      packed[to++] = single
      hash = mixed(hash, single)
    }
    this.#hashes[query] = hash
    this.#infos[query] = (length << lengthShift) | field
    this.#begins[query + 1] = to
  }

  #makeRoom(): void {
    this.#hashes = longer(this.#hashes)
    this.#infos = longer(this.#infos)
    this.#begins = longer(this.#begins)
    this.#found = longer(this.#found)
  }

  /** Stores the packed text, `count` integers, in the record at the index. */
  #write(record: Int32Array, at: number, count: number): void {
    const here = count > textSlots ? textSlots - 1 : count
    for (let index = 0; index < here; index++) record[at + termSlot.text + index] = this.#packed[index] ?? 0
    if (count <= textSlots) return
    const address = this.#arena.allocate(count)
    const page = this.#arena.pages[address >>> pageBits] ?? noPage
    page.set(this.#packed.subarray(0, count), address & pageMask)
    record[at + addressSlot] = address
  }

  /** Whether the packed text is that of the record at the index. */
  #isLongText(record: Int32Array, at: number, from: number, count: number): boolean {
    const address = record[at + addressSlot] ?? 0
    const page = this.#arena.pages[address >>> pageBits] ?? noPage
    const begin = address & pageMask
    for (let index = 0; index < count; index++) if (page[begin + index] !== this.#packed[from + index]) return false
    return true
  }

  #textOf(term: number): string {
    const page = this.slots.pages[(term << termBits) >>> pageBits] ?? noPage
    const at = (term << termBits) & pageMask
    const length = (page[at + termSlot.info] ?? 0) >>> lengthShift
    if ((length + 1) >> 1 <= textSlots) return textAt(page, at + termSlot.text, length)
    const address = page[at + addressSlot] ?? 0
    return textAt(this.#arena.pages[address >>> pageBits] ?? noPage, address & pageMask, length)
  }
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

function chainOf(slots: PagedInts): Chain {
  return {
    hashOf: (term) => slots.get((term << termBits) + termSlot.hash),
    next: (term) => slots.get((term << termBits) + termSlot.next),
    setNext: (term, next) => slots.set((term << termBits) + termSlot.next, next),
  }
}
