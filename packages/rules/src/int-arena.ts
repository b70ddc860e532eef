/**
 * Blocks of integers in pages.
 *
 * A million rules as objects are a hundred million bytes of headers and pointers, and a garbage collector that walks
 * them again and again. Here they are integers that point at each other by address. A block that is freed is used
 * again by the next one of about its size: sizes go up by two integers, and from 32 on in steps of an eighth to a
 * quarter. A block never lies across two pages, so whoever has the page of its address has all of it.
 */

import { noPage, pageBits, pageLength, pageMask } from "./paged-ints.ts"

/** Sizes up to this one go up by two integers. */
const fineMax = 32
const fineClasses = fineMax / 2

/** The class of blocks that have room for so many integers. */
function classOf(length: number): number {
  if (length <= fineMax) return (length + 1) >> 1
  const exponent = 31 - Math.clz32(length - 1)
  return fineClasses + (exponent - 5) * 4 + Math.ceil((length - (1 << exponent)) / (1 << (exponent - 2)))
}

/** Integers in a block of the class. */
function lengthOf(sizeClass: number): number {
  if (sizeClass <= fineClasses) return sizeClass * 2
  const step = sizeClass - fineClasses - 1
  const exponent = (step >> 2) + 5
  return (1 << exponent) + ((step & 3) + 1) * (1 << (exponent - 2))
}

const classes = classOf(pageLength) + 1

/** Blocks of 32-bit integers, by address. No block has the address 0. */
export class IntArena {
  /** The block at `address` begins at number `address & pageMask` of page `address >>> pageBits`. */
  readonly pages: Int32Array[] = []
  /** First free block of each class; its first integer is the address of the next. */
  readonly #free = new Int32Array(classes)
  /** Pages of a block too large for one that others share, when it was freed. */
  #freePages: number[] = []
  /** Where the last page is still empty, and its end. */
  #next = 0
  #end = 0
  #blocks = 0

  /** Blocks in use. */
  get blocks(): number {
    return this.#blocks
  }

  /** Integers that the pages hold, used or not. */
  get capacity(): number {
    let capacity = 0
    for (const page of this.pages) capacity += page.length
    return capacity
  }

  /** Address of a block of at least `length` integers, whatever they are. */
  allocate(length: number): number {
    this.#blocks++
    if (length > pageLength) return this.#ownPage(length)
    const sizeClass = classOf(Math.max(length, 1))
    const free = this.#free[sizeClass] ?? 0
    if (free !== 0) {
      this.#free[sizeClass] = this.pages[free >>> pageBits]?.[free & pageMask] ?? 0
      return free
    }
    const wanted = lengthOf(sizeClass)
    if (this.#next + wanted > this.#end) this.#turnPage()
    const address = this.#next
    this.#next += wanted
    return address
  }

  /** An integer of the block at the address, by its number there. */
  read(address: number, offset: number): number {
    return this.pages[address >>> pageBits]?.[(address & pageMask) + offset] ?? 0
  }

  write(address: number, offset: number, value: number): void {
    const page = this.pages[address >>> pageBits] ?? noPage
    page[(address & pageMask) + offset] = value
  }

  /** Gives back a block, with the length that it was asked for. */
  free(address: number, length: number): void {
    this.#blocks--
    if (length > pageLength) {
      this.pages[address >>> pageBits] = noPage
      this.#freePages.push(address >>> pageBits)
    } else this.#keep(address, classOf(Math.max(length, 1)))
    if (this.#blocks === 0) this.#forget()
  }

  #keep(address: number, sizeClass: number): void {
    const page = this.pages[address >>> pageBits] ?? noPage
    page[address & pageMask] = this.#free[sizeClass] ?? 0
    this.#free[sizeClass] = address
  }

  #ownPage(length: number): number {
    const number = this.#freePages.pop() ?? this.#newPage()
    this.pages[number] = new Int32Array(length)
    // Its block begins in the middle of nothing: address 0 stays free for "none".
    return number << pageBits
  }

  #turnPage(): void {
    this.#keepRest()
    const number = this.#freePages.pop() ?? this.#newPage()
    this.pages[number] = new Int32Array(pageLength)
    this.#next = number << pageBits
    this.#end = this.#next + pageLength
  }

  /** What is left of a page goes to the smaller blocks. */
  #keepRest(): void {
    while (this.#end - this.#next >= 2) {
      let sizeClass = classOf(this.#end - this.#next)
      if (lengthOf(sizeClass) > this.#end - this.#next) sizeClass--
      this.#keep(this.#next, sizeClass)
      this.#next += lengthOf(sizeClass)
    }
  }

  #newPage(): number {
    // Page 0 holds nothing, so that no block has the address 0.
    if (this.pages.length === 0) this.pages.push(noPage)
    return this.pages.push(noPage) - 1
  }

  /** Nothing is left: one page stays, for what comes next. */
  #forget(): void {
    const kept = this.pages.find((page) => page.length === pageLength)
    this.pages.length = 0
    this.#freePages = []
    this.#free.fill(0)
    this.#next = 0
    this.#end = 0
    if (kept === undefined) return
    const number = this.#newPage()
    this.pages[number] = kept
    this.#next = number << pageBits
    this.#end = this.#next + pageLength
  }
}
