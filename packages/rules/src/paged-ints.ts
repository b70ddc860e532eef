/**
 * An array of integers that grows page by page. Growing copies nothing, so that no single write waits for
 * the whole array to move, as it would when an array doubles.
 */

/** Bits of an index within a page, for those who walk the pages themselves. */
export const pageBits = 13

/** Integers of a page. */
export const pageLength = 1 << pageBits

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
    while (this.pages.length <= number) this.pages.push(new Int32Array(pageLength))
    const page = this.pages[number] ?? noPage
    page[index & pageMask] = value
  }

  /** Gives the pages back. */
  clear(): void {
    this.pages.length = 0
  }
}
