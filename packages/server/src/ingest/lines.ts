/**
 * Splits chunks of bytes into lines. A line ends at LF; a CR before it and white space around it are removed. The parts
 * of a line are copied into one buffer, so that a partial line takes at most twice its bytes however small the chunks
 * are. A line that is too long is counted and not buffered, so an endless one takes no memory.
 */
import { isUtf8 } from "node:buffer"

/**
 * A line, numbered from 1, with its length in bytes: its text, which is empty for a blank line, or why it cannot be
 * read.
 */
export type Line = { readonly number: number; readonly byteCount: number } & (
  | { readonly text: string }
  | { readonly fault: { readonly title: string; readonly detail: string } }
)

const lf = 0x0a

/** Smallest buffer, and largest one that is reused for the next line. Ours. */
const keptBytesMin = 1_024
const spareBytesMax = 16_384

const nothing = Buffer.alloc(0)

/** Reads the lines of one body. */
export class LineReader {
  readonly #bytesMax: number
  #number = 0
  /** Begins with the partial line, unless that is too long. */
  #kept = nothing
  #lineBytes = 0

  /** `bytesMax` is the most bytes of a line without its end. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** Bytes of memory that a line without its end takes. */
  get partialLineBytes(): number {
    return this.#kept.length
  }

  /** Discards the partial line. */
  forget(): void {
    this.#kept = nothing
    this.#lineBytes = 0
  }

  /** The lines that end in `chunk`. A caller that stops early discards the rest of the chunk. */
  *read(chunk: Uint8Array): Generator<Line, void, void> {
    let start = 0
    for (;;) {
      const end = chunk.indexOf(lf, start)
      if (end === -1) break
      yield this.#finish(chunk.subarray(start, end))
      start = end + 1
    }
    this.#keep(chunk.subarray(start))
  }

  /** The last line, when no LF ends it. */
  *end(): Generator<Line, void, void> {
    if (this.#lineBytes > 0) yield this.#finish(nothing)
  }

  #keep(part: Uint8Array): void {
    const from = this.#lineBytes
    this.#lineBytes += part.length
    if (this.#lineBytes > this.#bytesMax) {
      this.#kept = nothing
      return
    }
    if (this.#lineBytes > this.#kept.length) {
      const doubled = Math.min(this.#bytesMax, Math.max(keptBytesMin, 2 * from))
      const larger = Buffer.allocUnsafeSlow(Math.max(doubled, this.#lineBytes))
      larger.set(this.#kept.subarray(0, from))
      this.#kept = larger
    }
    this.#kept.set(part, from)
  }

  #finish(rest: Uint8Array): Line {
    this.#number += 1
    const number = this.#number
    const byteCount = this.#lineBytes + rest.length
    if (byteCount > this.#bytesMax) {
      this.forget()
      const detail = `The line has ${byteCount} bytes, and may have at most ${this.#bytesMax}.`
      return { number, byteCount, fault: { title: "Line Too Long", detail } }
    }
    const bytes = this.#lineBytes === 0 ? rest : this.#joined(rest)
    if (byteCount === 0) return { number, byteCount, text: "" }
    if (!isUtf8(bytes)) {
      return { number, byteCount, fault: { title: "Invalid Text", detail: "The line is not UTF-8." } }
    }
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8").trim()
    return { number, byteCount, text }
  }

  /** The whole line. Its buffer is reused for the next one, unless it is large. */
  #joined(rest: Uint8Array): Uint8Array {
    this.#keep(rest)
    const bytes = this.#kept.subarray(0, this.#lineBytes)
    this.#lineBytes = 0
    if (this.#kept.length > spareBytesMax) this.#kept = nothing
    return bytes
  }
}
