/**
 * The posting lists of the terms: lists of pairs of integers, an entry and its guard.
 *
 *     term ──► chunk of up to 63 pairs ──► chunk of 63 ──► … ──► chunk of 63
 *
 * A list is read from end to end for a post, and may have a million pairs. So pairs are stored contiguously, and adding or
 * removing one moves at most one chunk. A removed pair is replaced by the last pair of the list, and the owner of the
 * lists is notified that this one has moved. The only pair of a list is stored in the slots of its term.
 */

import type { IntArena } from "./int-arena.ts"
import type { TermTable } from "./term-table.ts"
import { termBits, termSlot } from "./term-layout.ts"

/** Layout of a chunk; pairs follow. */
export const chunkSlot = { next: 0, capacity: 1, pairs: 2 } as const

/** Number of pairs of a full chunk. */
export const chunkPairs = 63

/** Capacities of the only chunk of a list: each fills a block of the arena. */
const capacities = [2, 3, 5, 7, 11, 15, 23, 31, 47, chunkPairs]

/** The address of a pair in the slots of its term. */
const single = 0

/** Returned by `step` at the end of a walk. */
export const walkEnd = -1

/** Called when a pair has moved to another address. */
type OnMove = (entry: number, term: number, address: number) => void

/** Position of a walk over a list. A walk goes from the end to the beginning, so that a moved pair was visited before. */
export type Walk = {
  readonly term: number
  chunk: number
  /** Pairs of the chunk before this index are still to be visited. */
  left: number
}

/** Number of pairs in the first chunk of a list of so many pairs. The other chunks are full. */
export function pairsOfFirst(count: number): number {
  return count === 0 ? 0 : ((count - 1) % chunkPairs) + 1
}

/** The lists of all terms. The slots of a term refer to its list. */
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
    return this.#terms.slots.get((term << termBits) + termSlot.postingsCount)
  }

  /** Adds a pair. Returns its address. */
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
    else if (fill === this.#arena.read(chunk, chunkSlot.capacity)) chunk = this.#resize(term, chunk, fill, fill + 1)
    const address = chunk + chunkSlot.pairs + fill * 2
    this.#arena.write(address, 0, entry)
    this.#arena.write(address, 1, guard)
    this.#setCount(term, count + 1)
    return address
  }

  /** Removes the pair at the address. */
  remove(term: number, address: number): void {
    const count = this.countOf(term)
    if (count === 1) {
      this.#setCount(term, 0)
      return
    }
    const chunk = this.#firstOf(term)
    const last = pairsOfFirst(count) - 1
    const lastAddress = chunk + chunkSlot.pairs + last * 2
    if (address !== lastAddress) {
      const entry = this.#arena.read(lastAddress, 0)
      this.#arena.write(address, 0, entry)
      this.#arena.write(address, 1, this.#arena.read(lastAddress, 1))
      this.#onMove(entry, term, address)
    }
    this.#setCount(term, count - 1)
    if (last === 0) this.#dropChunk(term, chunk)
    else if (count === 2) this.#enterSingle(term, chunk)
    else if (count <= chunkPairs && last * 4 <= this.#arena.read(chunk, chunkSlot.capacity))
      this.#resize(term, chunk, last, last)
  }

  /** The entry of the pair at an address of the term's list. */
  entryAt(term: number, address: number): number {
    return address === single
      ? this.#terms.slots.get((term << termBits) + termSlot.postings)
      : this.#arena.read(address, 0)
  }

  guardAt(term: number, address: number): number {
    return address === single
      ? this.#terms.slots.get((term << termBits) + termSlot.guard)
      : this.#arena.read(address, 1)
  }

  setEntry(term: number, address: number, entry: number): void {
    if (address === single) this.#terms.slots.set((term << termBits) + termSlot.postings, entry)
    else this.#arena.write(address, 0, entry)
  }

  /** Starts a walk over a list, which may change meanwhile. There is one walk at a time: this ends the one before. */
  startWalk(term: number): Walk {
    const count = this.countOf(term)
    this.#walk = { term, chunk: count < 2 ? 0 : this.#firstOf(term), left: pairsOfFirst(count) }
    return this.#walk
  }

  /** Address of the next pair of the walk; `walkEnd` if there is none. */
  step(walk: Walk): number {
    const count = this.countOf(walk.term)
    if (walk.chunk === 0) {
      if (walk.left !== 1 || count !== 1) return walkEnd
      walk.left = 0
      return single
    }
    if (walk.chunk === this.#firstOf(walk.term)) walk.left = Math.min(walk.left, pairsOfFirst(count))
    if (walk.left === 0) {
      walk.chunk = this.#arena.read(walk.chunk, chunkSlot.next)
      walk.left = chunkPairs
      if (walk.chunk === 0) walk.left = 0
      return this.step(walk)
    }
    walk.left--
    return walk.chunk + chunkSlot.pairs + walk.left * 2
  }

  #setSingle(term: number, entry: number, guard: number): void {
    const { slots } = this.#terms
    slots.set((term << termBits) + termSlot.postings, entry)
    slots.set((term << termBits) + termSlot.guard, guard)
    this.#setCount(term, 1)
  }

  #leaveSingle(term: number): void {
    const { slots } = this.#terms
    const entry = slots.get((term << termBits) + termSlot.postings)
    const guard = slots.get((term << termBits) + termSlot.guard)
    const address = this.#newChunk(term, 0) + chunkSlot.pairs
    this.#arena.write(address, 0, entry)
    this.#arena.write(address, 1, guard)
    this.#onMove(entry, term, address)
  }

  #enterSingle(term: number, chunk: number): void {
    const entry = this.#arena.read(chunk, chunkSlot.pairs)
    this.#setSingle(term, entry, this.#arena.read(chunk, chunkSlot.pairs + 1))
    this.#onMove(entry, term, single)
    this.#endWalk(chunk)
    this.#freeChunk(chunk)
  }

  #newChunk(term: number, next: number): number {
    // Only the first chunk of a list grows. In a longer list, half a chunk of unused space does not matter.
    const capacity = next === 0 ? capacityFor(2) : chunkPairs
    const chunk = this.#arena.allocate(chunkSlot.pairs + capacity * 2)
    this.#arena.write(chunk, chunkSlot.next, next)
    this.#arena.write(chunk, chunkSlot.capacity, capacity)
    this.#setFirst(term, chunk)
    return chunk
  }

  #dropChunk(term: number, chunk: number): void {
    const next = this.#arena.read(chunk, chunkSlot.next)
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
    const to = this.#arena.allocate(chunkSlot.pairs + capacity * 2)
    this.#arena.write(to, chunkSlot.next, 0)
    this.#arena.write(to, chunkSlot.capacity, capacity)
    for (let offset = chunkSlot.pairs; offset < chunkSlot.pairs + fill * 2; offset += 2) {
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

  /** Ends the walk if it is in the chunk. */
  #endWalk(chunk: number): void {
    if (this.#walk?.chunk !== chunk) return
    this.#walk.chunk = 0
    this.#walk.left = 0
  }

  #freeChunk(chunk: number): void {
    this.#arena.free(chunk, chunkSlot.pairs + this.#arena.read(chunk, chunkSlot.capacity) * 2)
  }

  #firstOf(term: number): number {
    return this.#terms.slots.get((term << termBits) + termSlot.postings)
  }

  #setFirst(term: number, chunk: number): void {
    this.#terms.slots.set((term << termBits) + termSlot.postings, chunk)
  }

  #setCount(term: number, count: number): void {
    this.#terms.slots.set((term << termBits) + termSlot.postingsCount, count)
  }
}

function capacityFor(pairs: number): number {
  return capacities.find((capacity) => capacity >= pairs) ?? chunkPairs
}
