/**
 * The posting lists of the terms: lists of postings, each an entry, its guard and its mask.
 *
 *     term ──► chunk of up to 42 postings ──► chunk of 42 ──► … ──► chunk of 42
 *
 * A list is read from end to end for a post, and may have a million postings. So they are stored contiguously, and adding
 * or removing one moves at most one chunk. A removed posting is replaced by the last one of the list, and the owner of the
 * lists is notified that this one has moved. The only posting of a list is stored in the slots of its term.
 */

import type { IntArena } from "./int-arena.ts"
import type { TermTable } from "./term-table.ts"
import { termBits, termSlot } from "./term-layout.ts"

/** Layout of a chunk; postings follow. */
export const chunkSlot = { next: 0, capacity: 1, postings: 2 } as const

/** Layout of a posting. */
export const postingSlot = { entry: 0, guard: 1, mask: 2 } as const

/** Integers of a posting. */
export const postingLength = 3

/** Number of postings of a full chunk. */
export const chunkPostings = 42

/** Capacities of the only chunk of a list: each fills a block of the arena, or all of it but one integer. */
const capacities = [2, 3, 4, 6, 8, 10, 15, 20, 31, chunkPostings]

/** The address of a posting in the slots of its term. */
const single = 0

/** Returned by `step` at the end of a walk. */
export const walkEnd = -1

/** Called when a posting has moved to another address. */
type OnMove = (entry: number, term: number, address: number) => void

/** Position of a walk over a list. A walk goes from the end to the beginning, so that a moved posting was visited before. */
export type Walk = {
  readonly term: number
  chunk: number
  /** Postings of the chunk before this index are still to be visited. */
  left: number
}

/** Number of postings in the first chunk of a list of so many. The other chunks are full. */
export function postingsOfFirst(count: number): number {
  return count === 0 ? 0 : ((count - 1) % chunkPostings) + 1
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

  /** Adds a posting. Returns its address. */
  add(term: number, entry: number, guard: number, mask: number): number {
    const count = this.countOf(term)
    if (count === 0) {
      this.#setSingle(term, entry, guard, mask)
      return single
    }
    if (count === 1) this.#leaveSingle(term)
    const fill = count % chunkPostings
    let chunk = this.#firstOf(term)
    if (fill === 0) chunk = this.#newChunk(term, chunk)
    else if (fill === this.#arena.read(chunk, chunkSlot.capacity)) chunk = this.#resize(term, chunk, fill, fill + 1)
    const address = chunk + chunkSlot.postings + fill * postingLength
    this.#write(address, entry, guard, mask)
    this.#setCount(term, count + 1)
    return address
  }

  /** Removes the posting at the address. */
  remove(term: number, address: number): void {
    const count = this.countOf(term)
    if (count === 1) {
      this.#setCount(term, 0)
      return
    }
    const chunk = this.#firstOf(term)
    const last = postingsOfFirst(count) - 1
    const lastAddress = chunk + chunkSlot.postings + last * postingLength
    if (address !== lastAddress) this.#onMove(this.#copy(lastAddress, address), term, address)
    this.#setCount(term, count - 1)
    if (last === 0) this.#dropChunk(term, chunk)
    else if (count === 2) this.#enterSingle(term, chunk)
    else if (count <= chunkPostings && last * 4 <= this.#arena.read(chunk, chunkSlot.capacity))
      this.#resize(term, chunk, last, last)
  }

  /** The entry of the posting at an address of the term's list. */
  entryAt(term: number, address: number): number {
    return address === single
      ? this.#terms.slots.get((term << termBits) + termSlot.postings)
      : this.#arena.read(address, postingSlot.entry)
  }

  guardAt(term: number, address: number): number {
    return address === single
      ? this.#terms.slots.get((term << termBits) + termSlot.guard)
      : this.#arena.read(address, postingSlot.guard)
  }

  setEntry(term: number, address: number, entry: number): void {
    if (address === single) this.#terms.slots.set((term << termBits) + termSlot.postings, entry)
    else this.#arena.write(address, postingSlot.entry, entry)
  }

  /** Starts a walk over a list, which may change meanwhile. There is one walk at a time: this ends the one before. */
  startWalk(term: number): Walk {
    const count = this.countOf(term)
    this.#walk = { term, chunk: count < 2 ? 0 : this.#firstOf(term), left: postingsOfFirst(count) }
    return this.#walk
  }

  /** Address of the next posting of the walk; `walkEnd` if there is none. */
  step(walk: Walk): number {
    const count = this.countOf(walk.term)
    if (walk.chunk === 0) {
      if (walk.left !== 1 || count !== 1) return walkEnd
      walk.left = 0
      return single
    }
    if (walk.chunk === this.#firstOf(walk.term)) walk.left = Math.min(walk.left, postingsOfFirst(count))
    if (walk.left === 0) {
      walk.chunk = this.#arena.read(walk.chunk, chunkSlot.next)
      walk.left = chunkPostings
      if (walk.chunk === 0) walk.left = 0
      return this.step(walk)
    }
    walk.left--
    return walk.chunk + chunkSlot.postings + walk.left * postingLength
  }

  #setSingle(term: number, entry: number, guard: number, mask: number): void {
    const { slots } = this.#terms
    slots.set((term << termBits) + termSlot.postings, entry)
    slots.set((term << termBits) + termSlot.guard, guard)
    slots.set((term << termBits) + termSlot.mask, mask)
    this.#setCount(term, 1)
  }

  #leaveSingle(term: number): void {
    const { slots } = this.#terms
    const entry = slots.get((term << termBits) + termSlot.postings)
    const guard = slots.get((term << termBits) + termSlot.guard)
    const mask = slots.get((term << termBits) + termSlot.mask)
    const address = this.#newChunk(term, 0) + chunkSlot.postings
    this.#write(address, entry, guard, mask)
    this.#onMove(entry, term, address)
  }

  #enterSingle(term: number, chunk: number): void {
    const address = chunk + chunkSlot.postings
    const entry = this.#arena.read(address, postingSlot.entry)
    const guard = this.#arena.read(address, postingSlot.guard)
    this.#setSingle(term, entry, guard, this.#arena.read(address, postingSlot.mask))
    this.#onMove(entry, term, single)
    this.#endWalk(chunk)
    this.#freeChunk(chunk)
  }

  #write(address: number, entry: number, guard: number, mask: number): void {
    this.#arena.write(address, postingSlot.entry, entry)
    this.#arena.write(address, postingSlot.guard, guard)
    this.#arena.write(address, postingSlot.mask, mask)
  }

  /** Copies a posting. Returns its entry. */
  #copy(from: number, to: number): number {
    const entry = this.#arena.read(from, postingSlot.entry)
    this.#write(to, entry, this.#arena.read(from, postingSlot.guard), this.#arena.read(from, postingSlot.mask))
    return entry
  }

  #newChunk(term: number, next: number): number {
    // Only the first chunk of a list grows. In a longer list, half a chunk of unused space does not matter.
    const capacity = next === 0 ? capacityFor(2) : chunkPostings
    const chunk = this.#arena.allocate(lengthOf(capacity))
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
      this.#walk.left = chunkPostings
    }
    this.#freeChunk(chunk)
  }

  #resize(term: number, chunk: number, fill: number, wanted: number): number {
    const capacity = capacityFor(wanted)
    const to = this.#arena.allocate(lengthOf(capacity))
    this.#arena.write(to, chunkSlot.next, 0)
    this.#arena.write(to, chunkSlot.capacity, capacity)
    for (let posting = 0; posting < fill; posting++) {
      const offset = chunkSlot.postings + posting * postingLength
      this.#onMove(this.#copy(chunk + offset, to + offset), term, to + offset)
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
    this.#arena.free(chunk, lengthOf(this.#arena.read(chunk, chunkSlot.capacity)))
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

function capacityFor(postings: number): number {
  return capacities.find((capacity) => capacity >= postings) ?? chunkPostings
}

/** Integers of a chunk of the capacity. */
function lengthOf(capacity: number): number {
  return chunkSlot.postings + capacity * postingLength
}
