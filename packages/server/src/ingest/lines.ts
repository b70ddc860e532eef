/**
 * Bytes into lines, whatever the chunks. A line ends at LF; a CR before it, and blank lines, are passed over. A
 * line that is too long is not kept, only counted, so an endless one costs no memory.
 */
import { isUtf8 } from "node:buffer"
import { bodyBytesMax } from "@sluice/api"

/** A line that is not blank, numbered from 1 among all; or why it cannot be read. */
export type Line =
  | { readonly number: number; readonly text: string }
  | { readonly number: number; readonly fault: { readonly title: string; readonly detail: string } }

const lf = 0x0a

export class LineReader {
  #number = 0
  #kept: Uint8Array[] = []
  #keptBytes = 0;

  /** The lines that end in `chunk`. */
  *read(chunk: Uint8Array): Generator<Line, void, void> {
    let start = 0
    for (;;) {
      const end = chunk.indexOf(lf, start)
      if (end === -1) break
      const line = this.#finish(chunk.subarray(start, end))
      if (line !== undefined) yield line
      start = end + 1
    }
    this.#keep(chunk.subarray(start))
  }

  /** The last line, when no LF ended it. */
  *end(): Generator<Line, void, void> {
    if (this.#keptBytes === 0) return
    const line = this.#finish(new Uint8Array(0))
    if (line !== undefined) yield line
  }

  #keep(part: Uint8Array): void {
    this.#keptBytes += part.length
    if (this.#keptBytes > bodyBytesMax) this.#kept = []
    else if (part.length > 0) this.#kept.push(part)
  }

  #finish(rest: Uint8Array): Line | undefined {
    this.#keep(rest)
    this.#number += 1
    const number = this.#number
    const [kept, keptBytes] = [this.#kept, this.#keptBytes]
    this.#kept = []
    this.#keptBytes = 0
    if (keptBytes > bodyBytesMax) {
      const detail = `The line has ${keptBytes} bytes, and may have at most ${bodyBytesMax}.`
      return { number, fault: { title: "Line Too Long", detail } }
    }
    const bytes = kept.length === 1 && kept[0] !== undefined ? kept[0] : Buffer.concat(kept)
    if (!isUtf8(bytes)) {
      return { number, fault: { title: "Invalid Text", detail: "The line is not UTF-8." } }
    }
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8").trim()
    return text === "" ? undefined : { number, text }
  }
}
