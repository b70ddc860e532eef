/**
 * An allocator for blocks of integers in one flat memory.
 *
 * A million rules as objects would take a hundred million bytes of headers and pointers, which the garbage collector
 * would traverse again and again. Here they are integers that refer to each other by address. A freed block is reused by
 * the next block of its size class: sizes increase by two integers, and from 32 on in steps of an eighth to a quarter.
 */

import { FlatInts } from "./flat-ints.ts"

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

const classes = classOf(2 ** 30) + 1

/** No block has the address 0, and all addresses are even. */
const firstAddress = 2

/** Blocks of 32-bit integers by address. */
export class IntArena {
  readonly #memory = new FlatInts()
  /** First free block of each size class; its first integer is the address of the next. */
  readonly #free = new Int32Array(classes)
  /** Start of what no block has used. */
  #next = firstAddress
  #blocks = 0

  /** The memory: a block begins at its address. Replaced when it grows, so to be read anew after every `allocate`. */
  get ints(): Int32Array {
    return this.#memory.ints
  }

  /** Number of blocks in use. */
  get blocks(): number {
    return this.#blocks
  }

  /** Number of integers in the memory, used or not. */
  get capacity(): number {
    return this.#memory.ints.length
  }

  /** Address of a new block of at least `length` integers. Its content is undefined. */
  allocate(length: number): number {
    this.#blocks++
    const sizeClass = classOf(Math.max(length, 1))
    const free = this.#free[sizeClass] ?? 0
    if (free !== 0) {
      this.#free[sizeClass] = this.#memory.get(free)
      return free
    }
    const address = this.#next
    this.#next += lengthOf(sizeClass)
    this.#memory.grow(this.#next)
    return address
  }

  /** An integer of the block at the address. */
  read(address: number, offset: number): number {
    return this.#memory.ints[address + offset] ?? 0
  }

  write(address: number, offset: number, value: number): void {
    this.#memory.ints[address + offset] = value
  }

  /** Frees a block. `length` is the length that it was allocated with. With the last block, the memory is released. */
  free(address: number, length: number): void {
    this.#blocks--
    if (this.#blocks === 0) {
      this.#free.fill(0)
      this.#next = firstAddress
      this.#memory.clear()
      return
    }
    const sizeClass = classOf(Math.max(length, 1))
    this.#memory.set(address, this.#free[sizeClass] ?? 0)
    this.#free[sizeClass] = address
  }
}
