/**
 * An array of integers that grows page by page. Growing copies nothing, so that no single write waits for
 * the whole array to move, as it would when an array doubles. Only the first page does that.
 */

/** Bits of an index within a page, for those who walk the pages themselves. */
export const pageBits = 13

/** Integers of a page. */
export const pageLength = 1 << pageBits

/** Integers of the first page at first. */
const firstLength = 64

/** The bits of an index within a page. */
export const pageMask = pageLength - 1

/** Stands where there is no page; nothing is read from it. */
export const noPage = new Int32Array(0)

/** 32-bit integers by index; 0 where nothing was written. */
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
    // The first page begins small, since there are many arrays of few numbers.
    const before = this.pages[number] ?? noPage
    const length = number > 0 ? pageLength : Math.max(firstLength, 2 ** Math.ceil(Math.log2(at + 1)))
    const page = new Int32Array(length)
    page.set(before)
    this.pages[number] = page
    return page
  }

  /** Gives the pages back. */
  clear(): void {
    this.pages.length = 0
  }
}
