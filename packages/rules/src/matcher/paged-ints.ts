/**
 * An array of integers that grows page by page. Growing copies nothing, so no single write waits for the whole array to be
 * copied, as it would if the array doubled. Only the first page doubles.
 */

/** Number of bits of an index within a page, for code that reads the pages directly. */
export const pageBits = 13

/** Integers of a page. */
export const pageLength = 1 << pageBits

/** Initial length of the first page. */
const firstLength = 64

/** The bits of an index within a page. */
export const pageMask = pageLength - 1

/** Stands for a missing page. Empty. */
export const noPage = new Int32Array(0)

/** 32-bit integers by index; 0 if nothing was written. */
export class PagedInts {
  /** Index `i` is number `i & pageMask` of page `i >>> pageBits`. */
  readonly pages: Int32Array[] = []

  get(index: number): number {
    return this.pages[index >>> pageBits]?.[index & pageMask] ?? 0
  }

  set(index: number, value: number): void {
    const number = index >>> pageBits
    const at = index & pageMask
    const page = this.pages[number]
    if (page !== undefined && at < page.length) page[at] = value
    else this.#grownPage(number, at)[at] = value
  }

  #grownPage(number: number, at: number): Int32Array {
    while (this.pages.length < number) this.#grownPage(this.pages.length, pageMask)
    // The first page is small at first, because there are many arrays with few numbers.
    const before = this.pages[number] ?? noPage
    const length = number > 0 ? pageLength : Math.max(firstLength, 2 ** Math.ceil(Math.log2(at + 1)))
    const page = new Int32Array(length)
    page.set(before)
    this.pages[number] = page
    return page
  }

  /** Releases the pages. */
  clear(): void {
    this.pages.length = 0
  }
}

/** A copy of at least twice the length, for small arrays that are not paged. */
export function longer(ints: Int32Array, least = 0): Int32Array<ArrayBuffer> {
  const copy = new Int32Array(Math.max(ints.length, least) * 2)
  copy.set(ints)
  return copy
}
