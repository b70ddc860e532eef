/**
 * Bytes into JSON values that may have any number of lines, as `curl` and `jq` write them: an array by its items, and
 * values one after the other. Only brackets and strings are looked at; whether a value is right JSON is seen when it is
 * parsed. At most one value is kept, so an array may have any length.
 */
import { inputBytesMax, inputLine, type InputLine } from "./input-line.ts"

const byteOf = (character: string): number => character.charCodeAt(0)
const lineBreak = byteOf("\n")
const quote = byteOf('"')
const backslash = byteOf("\\")
const opening = new Set([byteOf("{"), byteOf("[")])
const closing = new Set([byteOf("}"), byteOf("]")])
const arrayStart = byteOf("[")
const arrayEnd = byteOf("]")
/** Bytes between values, including a byte order mark. */
const between = new Set([byteOf(" "), byteOf("\t"), byteOf("\r"), byteOf("\n"), byteOf(","), 0xef, 0xbb, 0xbf])

/**
 * The values, each under the number of the line in which it begins; several may begin in one line.
 */
export async function* valuesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<InputLine, void, void> {
  const splitter = new ValueSplitter()
  for await (const chunk of chunks) yield* splitter.read(chunk)
  yield* splitter.end()
}

class ValueSplitter {
  #lineNumber = 1
  /** Inside an array whose items are the values. */
  #isInArray = false
  /** Line in which the current value begins; 0 between values. */
  #startLine = 0
  /** Open brackets of the current value. */
  #depth = 0
  #isInString = false
  #isEscaped = false
  #kept: Buffer[] = []
  #byteCount = 0

  #begins(byte: number): boolean {
    if (between.has(byte)) return false
    if (byte === arrayStart && !this.#isInArray) this.#isInArray = true
    else if (byte === arrayEnd && this.#isInArray) this.#isInArray = false
    else {
      this.#startLine = this.#lineNumber
      return true
    }
    return false
  }

  /** Takes a byte of the current value, and says whether it is its last. */
  #endsAfter(byte: number): boolean {
    if (this.#isInString) {
      if (this.#isEscaped) this.#isEscaped = false
      else if (byte === backslash) this.#isEscaped = true
      else if (byte === quote) this.#isInString = false
      // A string has no line break. One that does is not closed, and must not swallow the rest of the file.
      else if (byte === lineBreak) this.#isInString = false
      return false
    }
    if (byte === quote) this.#isInString = true
    else if (opening.has(byte)) this.#depth += 1
    else if (closing.has(byte)) this.#depth -= 1
    // A value without brackets ends with its line.
    return this.#depth <= 0 && (closing.has(byte) || byte === lineBreak)
  }

  #keep(part: Buffer): void {
    this.#byteCount += part.length
    if (this.#byteCount > inputBytesMax) this.#kept = []
    else this.#kept.push(part)
  }

  *read(chunk: Buffer): Generator<InputLine, void, void> {
    let start = 0
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] ?? 0
      if (byte === lineBreak) this.#lineNumber += 1
      if (this.#startLine === 0) {
        if (!this.#begins(byte)) continue
        start = at
      }
      if (!this.#endsAfter(byte)) continue
      this.#keep(chunk.subarray(start, at + 1))
      yield* this.#take()
    }
    if (this.#startLine !== 0) this.#keep(chunk.subarray(start))
  }

  /** The rest is an incomplete value, whose parsing fails. */
  *end(): Generator<InputLine, void, void> {
    if (this.#startLine !== 0) yield* this.#take()
  }

  *#take(): Generator<InputLine, void, void> {
    // The next value may begin in the same line.
    const line = inputLine(this.#startLine, this.#byteCount, this.#kept, this.#startLine)
    this.#startLine = 0
    this.#depth = 0
    this.#isInString = false
    this.#kept = []
    this.#byteCount = 0
    if (line !== undefined) yield line
  }
}
