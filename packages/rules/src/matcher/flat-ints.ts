/**
 * An array of integers that grows in place.
 *
 * Doubling copies the array: with a hundred million bytes, one write in a million would wait for that. Pages need no
 * copy, but each access then reads two more places in memory, which takes five times as long when they are not in a
 * cache. So an array that has become large is moved into a `WebAssembly.Memory`: it has its addresses reserved, and
 * grows without moving. If they cannot be reserved, it is copied as before.
 */

/** Integers up to which the array is copied when it grows: 1 MiB. */
const copiedMax = 2 ** 18

/** Initial length. */
const firstLength = 64

/** Integers of a page of a `WebAssembly.Memory`, and the pages by which it grows at a time: 1 MiB. */
const memoryPage = 2 ** 14
const memoryStep = 16

/** 4 GiB, the most that such a memory may have. */
const memoryPagesMax = 2 ** 16

/** The used part of `WebAssembly`, which TypeScript declares for browsers only. */
declare const WebAssembly: {
  readonly Memory: new (size: { readonly initial: number; readonly maximum: number }) => Memory
}
interface Memory {
  readonly buffer: ArrayBuffer
  grow(pages: number): number
}

/** 32-bit integers by index; 0 if nothing was written. */
export class FlatInts {
  /** Replaced when the array grows: to be read anew after every `set` and `grow`. */
  ints: Int32Array = empty
  #memory: Memory | undefined

  get(index: number): number {
    return this.ints[index] ?? 0
  }

  set(index: number, value: number): void {
    if (index >= this.ints.length) this.grow(index + 1)
    this.ints[index] = value
  }

  /** Makes the array at least as long. */
  grow(length: number): void {
    const { ints } = this
    if (length <= ints.length) return
    const doubled = Math.max(firstLength, 2 ** Math.ceil(Math.log2(length)))
    const pages = Math.ceil(length / memoryPage / memoryStep) * memoryStep
    if (this.#memory !== undefined) {
      this.#memory.grow(pages - ints.length / memoryPage)
      this.ints = new Int32Array(this.#memory.buffer)
      return
    }
    if (doubled > copiedMax) this.#memory = reserved(pages)
    this.ints = this.#memory === undefined ? new Int32Array(doubled) : new Int32Array(this.#memory.buffer)
    this.ints.set(ints)
  }

  /** Releases the memory. */
  clear(): void {
    this.ints = empty
    this.#memory = undefined
  }
}

const empty = new Int32Array(0)

/**
 * A memory that can grow; undefined where no addresses can be reserved, because a limit is set on them (`ulimit -v`).
 */
function reserved(pages: number): Memory | undefined {
  try {
    return new WebAssembly.Memory({ initial: pages, maximum: memoryPagesMax })
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

/** A copy of at least twice the length, for small arrays that are not kept for long. */
export function longer(ints: Int32Array, least = 0): Int32Array<ArrayBuffer> {
  const copy = new Int32Array(Math.max(ints.length, least) * 2)
  copy.set(ints)
  return copy
}
