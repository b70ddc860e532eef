/**
 * What is filed under each term: lists of pairs of integers, an entry and its guard.
 *
 *     term ──► chunk of 63, the last one perhaps not full ──► chunk of 63 ──► … ──► chunk of 63
 *
 * A single pair stands in the fields of its term. A list is read from end to end for a post, and a million may be filed under one term: so pairs stand side by side,
 * and adding or taking one out moves at most one chunk. The last pair takes the place of one that is taken out, and
 * whoever owns the list is told.
 */

import type { IntArena } from "./int-arena.ts"
import type { TermTable } from "./term-table.ts"
import { termBits, termField } from "./term-table.ts"

/** What stands in a chunk, in this order; pairs after that. */
export const chunkField = { next: 0, capacity: 1, pairs: 2 } as const

/** Pairs of a full chunk. */
export const chunkPairs = 63

/** Smaller ones, for lists that have one chunk only: as many as fill a block of the arena. */
const capacities = [2, 3, 5, 7, 11, 15, 23, 31, 47, chunkPairs]

/** The address of a pair that is alone under its term. */
const single = 0

/** No address: the walk is over. */
export const walkEnd = -1

/** Told when a pair now stands at another address. */
export type OnMove = (entry: number, term: number, address: number) => void

/** Where a walk over a list is. Walks go from the end to the beginning, so that what moves was seen already. */
export type Walk = {
  readonly term: number
  chunk: number
  /** Pairs of the chunk that are still to come, those before this number. */
  left: number
}

/** Pairs of the list's first chunk in reading order, which alone may not be full. */
export function pairsOfFirst(count: number): number {
  return count === 0 ? 0 : ((count - 1) % chunkPairs) + 1
}

/** The lists of all terms; a term's fields say where its list begins. */
export class PostingLists {
  readonly #arena: IntArena
  readonly #terms: TermTable
  readonly #onMove: OnMove
  #walk: Walk | undefined

  constructor(arena: IntArena, terms: TermTable, onMove: OnMove) {
    this.#arena = arena
    this.#terms = terms
    this.#onMove = onMove
  }

  countOf(term: number): number {
    return this.#terms.fields.get((term << termBits) + termField.postingsCount)
  }

  /** Address of the new pair: `single` when it is alone. */
  add(term: number, entry: number, guard: number): number {
    const count = this.countOf(term)
    if (count === 0) {
      this.#setSingle(term, entry, guard)
      return single
    }
    if (count === 1) this.#leaveSingle(term)
    const fill = count % chunkPairs
    let chunk = this.#firstOf(term)
    if (fill === 0) chunk = this.#newChunk(term, chunk)
    else if (fill === this.#arena.read(chunk, chunkField.capacity))
      chunk = this.#resize(term, chunk, fill, fill + 1)
    const address = chunk + chunkField.pairs + fill * 2
    this.#arena.write(address, 0, entry)
    this.#arena.write(address, 1, guard)
    this.#setCount(term, count + 1)
    return address
  }

  /** Takes out the pair that stands at the address. */
  remove(term: number, address: number): void {
    const count = this.countOf(term)
    if (count === 1) {
      this.#setCount(term, 0)
      return
    }
    const chunk = this.#firstOf(term)
    const last = pairsOfFirst(count) - 1
    const lastAddress = chunk + chunkField.pairs + last * 2
    if (address !== lastAddress) {
      const entry = this.#arena.read(lastAddress, 0)
      this.#arena.write(address, 0, entry)
      this.#arena.write(address, 1, this.#arena.read(lastAddress, 1))
      this.#onMove(entry, term, address)
    }
    this.#setCount(term, count - 1)
    if (last === 0) this.#dropChunk(term, chunk)
    else if (count === 2) this.#enterSingle(term, chunk)
    else if (count <= chunkPairs && last * 4 <= this.#arena.read(chunk, chunkField.capacity))
      this.#resize(term, chunk, last, last)
  }

  /** The entry at an address of the term's list. */
  entryAt(term: number, address: number): number {
    return address === single
      ? this.#terms.fields.get((term << termBits) + termField.postings)
      : this.#arena.read(address, 0)
  }

  guardAt(term: number, address: number): number {
    return address === single
      ? this.#terms.fields.get((term << termBits) + termField.guard)
      : this.#arena.read(address, 1)
  }

  setEntry(term: number, address: number, entry: number): void {
    if (address === single) this.#terms.fields.set((term << termBits) + termField.postings, entry)
    else this.#arena.write(address, 0, entry)
  }

  /** Begins a walk over a list that may change meanwhile. One walk at a time: it ends the one before. */
  startWalk(term: number): Walk {
    const count = this.countOf(term)
    this.#walk = { term, chunk: count < 2 ? 0 : this.#firstOf(term), left: pairsOfFirst(count) }
    return this.#walk
  }

  /** Address of the next pair of the walk; `walkEnd` when there is none. */
  step(walk: Walk): number {
    const count = this.countOf(walk.term)
    if (walk.chunk === 0) {
      if (walk.left !== 1 || count !== 1) return walkEnd
      walk.left = 0
      return single
    }
    if (walk.chunk === this.#firstOf(walk.term)) walk.left = Math.min(walk.left, pairsOfFirst(count))
    if (walk.left === 0) {
      walk.chunk = this.#arena.read(walk.chunk, chunkField.next)
      walk.left = chunkPairs
      if (walk.chunk === 0) walk.left = 0
      return this.step(walk)
    }
    walk.left--
    return walk.chunk + chunkField.pairs + walk.left * 2
  }

  #setSingle(term: number, entry: number, guard: number): void {
    const { fields } = this.#terms
    fields.set((term << termBits) + termField.postings, entry)
    fields.set((term << termBits) + termField.guard, guard)
    this.#setCount(term, 1)
  }

  #leaveSingle(term: number): void {
    const { fields } = this.#terms
    const entry = fields.get((term << termBits) + termField.postings)
    const guard = fields.get((term << termBits) + termField.guard)
    const address = this.#newChunk(term, 0) + chunkField.pairs
    this.#arena.write(address, 0, entry)
    this.#arena.write(address, 1, guard)
    this.#onMove(entry, term, address)
  }

  #enterSingle(term: number, chunk: number): void {
    const entry = this.#arena.read(chunk, chunkField.pairs)
    this.#setSingle(term, entry, this.#arena.read(chunk, chunkField.pairs + 1))
    this.#onMove(entry, term, single)
    this.#endWalk(chunk)
    this.#freeChunk(chunk)
  }

  #newChunk(term: number, next: number): number {
    // Only a list's first chunk grows: of a long list, half a chunk more or less does not matter.
    const capacity = next === 0 ? capacityFor(2) : chunkPairs
    const chunk = this.#arena.allocate(chunkField.pairs + capacity * 2)
    this.#arena.write(chunk, chunkField.next, next)
    this.#arena.write(chunk, chunkField.capacity, capacity)
    this.#setFirst(term, chunk)
    return chunk
  }

  #dropChunk(term: number, chunk: number): void {
    const next = this.#arena.read(chunk, chunkField.next)
    this.#setFirst(term, next)
    if (next === 0) this.#endWalk(chunk)
    else if (this.#walk?.chunk === chunk) {
      this.#walk.chunk = next
      this.#walk.left = chunkPairs
    }
    this.#freeChunk(chunk)
  }

  #resize(term: number, chunk: number, fill: number, wanted: number): number {
    const capacity = capacityFor(wanted)
    const to = this.#arena.allocate(chunkField.pairs + capacity * 2)
    this.#arena.write(to, chunkField.next, 0)
    this.#arena.write(to, chunkField.capacity, capacity)
    for (let offset = chunkField.pairs; offset < chunkField.pairs + fill * 2; offset += 2) {
      const entry = this.#arena.read(chunk, offset)
      this.#arena.write(to, offset, entry)
      this.#arena.write(to, offset + 1, this.#arena.read(chunk, offset + 1))
      this.#onMove(entry, term, to + offset)
    }
    this.#setFirst(term, to)
    if (this.#walk?.chunk === chunk) this.#walk.chunk = to
    this.#freeChunk(chunk)
    return to
  }

  /** If the walk is in the chunk. */
  #endWalk(chunk: number): void {
    if (this.#walk?.chunk !== chunk) return
    this.#walk.chunk = 0
    this.#walk.left = 0
  }

  #freeChunk(chunk: number): void {
    this.#arena.free(chunk, chunkField.pairs + this.#arena.read(chunk, chunkField.capacity) * 2)
  }

  #firstOf(term: number): number {
    return this.#terms.fields.get((term << termBits) + termField.postings)
  }

  #setFirst(term: number, chunk: number): void {
    this.#terms.fields.set((term << termBits) + termField.postings, chunk)
  }

  #setCount(term: number, count: number): void {
    this.#terms.fields.set((term << termBits) + termField.postingsCount, count)
  }
}

function capacityFor(pairs: number): number {
  return capacities.find((capacity) => capacity >= pairs) ?? chunkPairs
}
