/**
 * An allocator for blocks of integers in pages.
 *
 * A million rules as objects would take a hundred million bytes of headers and pointers, which the garbage collector
 * would traverse again and again. Here they are integers that refer to each other by address. A freed block is reused by
 * the next block of its size class: sizes increase by two integers, and from 32 on in steps of an eighth to a quarter. A
 * block never crosses a page boundary, so the page of its address contains all of it.
 */

import { noPage, pageBits, pageLength, pageMask } from "./paged-ints.ts"

/** Sizes up to this one increase by two integers. */
const fineMax = 32
const fineClasses = fineMax / 2

/** The size class of a block of so many integers. */
function classOf(length: number): number {
  if (length <= fineMax) return (length + 1) >> 1
  const exponent = 31 - Math.clz32(length - 1)
  return fineClasses + (exponent - 5) * 4 + Math.ceil((length - (1 << exponent)) / (1 << (exponent - 2)))
}

/** Number of integers in a block of the class. */
function lengthOf(sizeClass: number): number {
  if (sizeClass <= fineClasses) return sizeClass * 2
  const step = sizeClass - fineClasses - 1
  const exponent = (step >> 2) + 5
  return (1 << exponent) + ((step & 3) + 1) * (1 << (exponent - 2))
}

const classes = classOf(pageLength) + 1

/** Blocks of 32-bit integers by address. No block has the address 0. */
export class IntArena {
  /** The block at `address` begins at index `address & pageMask` of page `address >>> pageBits`. */
  readonly pages: Int32Array[] = []
  /** First free block of each size class; its first integer is the address of the next. */
  readonly #free = new Int32Array(classes)
  /** Numbers of the pages of freed blocks that were larger than a page. */
  #freePages: number[] = []
  /** Start and end of the unused part of the last page. */
  #next = 0
  #end = 0
  #blocks = 0

  /** Number of blocks in use. */
  get blocks(): number {
    return this.#blocks
  }

  /** Number of integers in the pages, used or not. */
  get capacity(): number {
    let capacity = 0
    for (const page of this.pages) capacity += page.length
    return capacity
  }

  /** Address of a new block of at least `length` integers. Its content is undefined. */
  allocate(length: number): number {
    this.#blocks++
    if (length > pageLength) return this.#largePage(length)
    const sizeClass = classOf(Math.max(length, 1))
    const free = this.#free[sizeClass] ?? 0
    if (free !== 0) {
      this.#free[sizeClass] = this.pages[free >>> pageBits]?.[free & pageMask] ?? 0
      return free
    }
    const wanted = lengthOf(sizeClass)
    if (this.#next + wanted > this.#end) this.#startPage()
    const address = this.#next
    this.#next += wanted
    return address
  }

  /** An integer of the block at the address. */
  read(address: number, offset: number): number {
    return this.pages[address >>> pageBits]?.[(address & pageMask) + offset] ?? 0
  }

  write(address: number, offset: number, value: number): void {
    const page = this.pages[address >>> pageBits] ?? noPage
    page[(address & pageMask) + offset] = value
  }

  /** Frees a block. `length` is the length that it was allocated with. */
  free(address: number, length: number): void {
    this.#blocks--
    if (length > pageLength) {
      this.pages[address >>> pageBits] = noPage
      this.#freePages.push(address >>> pageBits)
    } else this.#addFree(address, classOf(Math.max(length, 1)))
    if (this.#blocks === 0) this.#reset()
  }

  #addFree(address: number, sizeClass: number): void {
    const page = this.pages[address >>> pageBits] ?? noPage
    page[address & pageMask] = this.#free[sizeClass] ?? 0
    this.#free[sizeClass] = address
  }

  #largePage(length: number): number {
    const number = this.#freePages.pop() ?? this.#newPage()
    this.pages[number] = new Int32Array(length)
    return number << pageBits
  }

  #startPage(page: Int32Array = new Int32Array(pageLength)): void {
    this.#freeRest()
    const number = this.#freePages.pop() ?? this.#newPage()
    this.pages[number] = page
    this.#next = number << pageBits
    this.#end = this.#next + pageLength
  }

  /** Adds the rest of a page to the free blocks of smaller classes. */
  #freeRest(): void {
    while (this.#end - this.#next >= 2) {
      let sizeClass = classOf(this.#end - this.#next)
      if (lengthOf(sizeClass) > this.#end - this.#next) sizeClass--
      this.#addFree(this.#next, sizeClass)
      this.#next += lengthOf(sizeClass)
    }
  }

  #newPage(): number {
    // Page 0 stays empty, so that no block has the address 0.
    if (this.pages.length === 0) this.pages.push(noPage)
    return this.pages.push(noPage) - 1
  }

  /** Releases all pages but one, which is kept for the next block. */
  #reset(): void {
    const kept = this.pages.find((page) => page.length === pageLength)
    this.pages.length = 0
    this.#freePages = []
    this.#free.fill(0)
    this.#next = 0
    this.#end = 0
    if (kept !== undefined) this.#startPage(kept)
  }
}
