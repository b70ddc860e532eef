/**
 * Splits a body into the items of its lines. A line ends at LF. A line that is too long takes no memory beyond the bound:
 * its beginning becomes an item with a fault at once, and the rest is passed over.
 */
import { itemBytesKept, tooLong, type SourceItem } from "../mapping/source-item.ts"

/** Bytes of a line after which the body is given up: its end will not come. Ours. */
export const endlessBytes = 256 * 1024 * 1024

/** A line has no end, or an event has none. */
export class Endless extends Error {
  constructor() {
    super(`A line goes on for more than ${endlessBytes / 1024 / 1024} MiB.`)
  }
}

/** Smallest buffer of a line whose end has not come. Ours. */
const keptBytesMin = 1_024

const nothing = Buffer.alloc(0)

/** Reads the lines of one body. */
export class ItemLines {
  readonly #bytesMax: number
  /** Begins with the line whose end has not come, unless that is too long. */
  #kept = nothing
  #bytes = 0

  /** `bytesMax` is the most bytes of a line without its end. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** The items of the lines that end in a chunk. Throws `Endless`. */
  *read(chunk: Buffer): Generator<SourceItem, void, void> {
    let start = 0
    for (;;) {
      const end = chunk.indexOf(lf, start)
      yield* this.#add(chunk.subarray(start, end === -1 ? chunk.length : end))
      if (end === -1) return
      yield* this.end()
      start = end + 1
    }
  }

  /** The item of the last line, when no LF ends it. */
  *end(): Generator<SourceItem, void, void> {
    const bytes = this.#bytes > this.#bytesMax ? nothing : this.#kept.subarray(0, this.#bytes)
    this.#kept = nothing
    this.#bytes = 0
    if (!isBlank(bytes)) yield { bytes }
  }

  *#add(part: Buffer): Generator<SourceItem, void, void> {
    const from = this.#bytes
    this.#bytes += part.length
    if (this.#bytes > endlessBytes) throw new Endless()
    if (this.#bytes <= this.#bytesMax) {
      this.#keep(part, from)
    } else if (from <= this.#bytesMax) {
      const bytes = Buffer.concat([this.#kept.subarray(0, from), part.subarray(0, itemBytesKept)])
      this.#kept = nothing
      yield { bytes: bytes.subarray(0, itemBytesKept), fault: tooLong(this.#bytes, this.#bytesMax) }
    }
  }

  #keep(part: Buffer, from: number): void {
    if (this.#bytes > this.#kept.length) {
      const doubled = Math.min(this.#bytesMax, Math.max(keptBytesMin, 2 * from))
      const larger = Buffer.allocUnsafeSlow(Math.max(doubled, this.#bytes))
      larger.set(this.#kept.subarray(0, from))
      this.#kept = larger
    }
    this.#kept.set(part, from)
  }
}

const lf = 0x0a

/** Longest line that may only keep the connection: no JSON object is shorter than two bytes, and blanks are no item. */
const blankMax = 64

function isBlank(bytes: Buffer): boolean {
  return bytes.length <= blankMax && bytes.toString("utf8").trim() === ""
}
