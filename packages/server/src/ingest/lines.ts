/**
 * Splits chunks of bytes into lines. A line ends at LF. The parts of a line are copied into one buffer, so that a partial
 * line takes at most twice its bytes however small the chunks are. A line that is too long is counted and not buffered,
 * so an endless one takes no memory.
 */
import { isUtf8 } from "node:buffer"

/**
 * A line, numbered from 1, with its length in bytes: its bytes, which are part of a chunk where they came in one, or why
 * it cannot be read.
 */
export type Line = { readonly number: number; readonly byteCount: number } & ({ readonly bytes: Buffer } | LineFault)

/** Why a line cannot be read. */
export interface LineFault {
  readonly fault: { readonly title: string; readonly detail: string }
}

/** The text of a line without white space around it, which is empty for a blank line; or why it cannot be read. */
export function textOfLine(bytes: Buffer): string | LineFault {
  if (!isUtf8(bytes)) return { fault: { title: "Invalid Text", detail: "The line is not UTF-8." } }
  return bytes.toString("utf8").trim()
}

const lf = 0x0a

/** Smallest buffer of a partial line. Ours. */
const keptBytesMin = 1_024

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
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    let start = 0
    for (;;) {
      const end = bytes.indexOf(lf, start)
      if (end === -1) break
      yield this.#finish(bytes.subarray(start, end))
      start = end + 1
    }
    this.#keep(bytes.subarray(start))
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

  #finish(rest: Buffer): Line {
    this.#number += 1
    const number = this.#number
    const byteCount = this.#lineBytes + rest.length
    if (byteCount > this.#bytesMax) {
      this.forget()
      const detail = `The line has ${byteCount} bytes, and may have at most ${this.#bytesMax}.`
      return { number, byteCount, fault: { title: "Line Too Long", detail } }
    }
    return { number, byteCount, bytes: this.#lineBytes === 0 ? rest : this.#joined(rest) }
  }

  /** The whole line. Its buffer is not used again: posts are parts of their lines. */
  #joined(rest: Buffer): Buffer {
    this.#keep(rest)
    const bytes = this.#kept.subarray(0, this.#lineBytes)
    this.forget()
    return bytes
  }
}
