/**
 * Frames a chunked body anew: the data of two hundred chunks becomes one chunk, as far as it is in one read of
 * the socket.
 *
 *     1\r\nx\r\n 1\r\ny\r\n 1\r\nz\r\n   ─►   3\r\nxyz\r\n
 *
 * Node's parser calls JavaScript and allocates memory for each chunk: a microsecond and some 350 bytes for a chunk of
 * one byte, ten thousand of which fit into one read. Here a byte costs the same in any chunk.
 *
 * Node's parser remains the judge of what is valid. It gets each malformed byte in the state in which it would have met
 * it. The only thing that it no longer sees is the text of chunk extensions, which recipients ignore.
 *
 * Source: RFC 9112 §7.1.
 */

/** Largest chunk extension. Node's own bound: more is passed on for Node to refuse. */
const extensionBytesMax = 16_384

/** Most chunks that are taken at once: some 10 µs of work, which each of ten thousand connections may cost in a turn. Ours. */
const chunksMax = 200

/** Largest size of a chunk that a client may announce. Ours: the largest number without rounding. */
const chunkBytesMax = Number.MAX_SAFE_INTEGER / 16

/** A size that Node's parser refuses as too large. */
const overflow = "f".repeat(17)

const CR = 13
const LF = 10
const tab = 9
const semicolon = 59

type State = "size" | "extension" | "size LF" | "data" | "data CR" | "data LF"

/** The chunks of one read. */
export interface JoinedChunks {
  /** Bytes for the parser, in order. */
  readonly pieces: readonly Uint8Array[]
  /** The byte of the read up to which everything is done. */
  readonly end: number
  /** Number of chunks that began. */
  readonly chunks: number
  /** `more` while the body goes on. After `last` and `malformed` the rest is for the parser as it is, trailer included. */
  readonly kind: "more" | "last" | "malformed"
}

/** The chunks of one body. */
export class ChunkJoiner {
  #state: State = "size"
  #size = 0
  /** True if the size has a digit. */
  #hasSize = false
  #left = 0
  #extensionBytes = 0
  #chunks = 0
  /** True if the parser still needs the line break after the data that it got. */
  #owesLineBreak = false

  /**
   * Takes some or all bytes of a read from `from` on. The caller must not use these bytes afterwards: the data is moved
   * together in place.
   */
  take(bytes: Uint8Array, from: number): JoinedChunks {
    const data = { start: from, end: from }
    let at = from
    this.#chunks = 0
    while (at < bytes.length && this.#chunks < chunksMax) {
      if (this.#state === "data") {
        const end = Math.min(at + this.#left, bytes.length)
        append(data, bytes, at, end)
        this.#left -= end - at
        at = end
        if (this.#left === 0) this.#state = "data CR"
        continue
      }
      const refused = this.#step(bytes[at] ?? 0)
      if (refused !== undefined) return this.#end("malformed", bytes, data, refused, at)
      at += 1
      if (this.#isAtLastChunk()) return this.#end("last", bytes, data, "0\r\n", at)
    }
    return { pieces: this.#framed(bytes, data), end: at, chunks: this.#chunks, kind: "more" }
  }

  #isAtLastChunk(): boolean {
    return this.#state === "data" && this.#size === 0
  }

  /**
   * Reads a byte of the framing. Returns the text that the parser must get before the byte when it is malformed, else
   * undefined.
   */
  #step(byte: number): string | undefined {
    switch (this.#state) {
      case "size":
        return this.#stepSize(byte)
      case "extension":
        if (byte === CR) this.#state = "size LF"
        else if (byte < 32 ? byte !== tab : byte === 127) return `${this.#size.toString(16)};`
        else if (++this.#extensionBytes > extensionBytesMax) {
          return `${this.#size.toString(16)};${"a".repeat(extensionBytesMax)}`
        }
        return undefined
      case "size LF":
        if (byte !== LF) return `${this.#size.toString(16)}\r`
        this.#state = "data"
        this.#left = this.#size
        this.#chunks += 1
        return undefined
      case "data CR":
        if (byte !== CR) return ""
        this.#state = "data LF"
        return undefined
      case "data LF":
        if (byte !== LF) return "\r"
        this.#state = "size"
        this.#size = 0
        this.#hasSize = false
        this.#extensionBytes = 0
        return undefined
      case "data":
        throw new Error("the data of a chunk is not framing")
    }
  }

  #stepSize(byte: number): string | undefined {
    const digit = hexDigit(byte)
    if (digit !== undefined) {
      this.#size = this.#size * 16 + digit
      this.#hasSize = true
      return this.#size > chunkBytesMax ? overflow : undefined
    }
    if (!this.#hasSize) return ""
    if (byte === CR) this.#state = "size LF"
    else if (byte === semicolon) this.#state = "extension"
    else return this.#size.toString(16)
    return undefined
  }

  /** After this the parser gets every byte as it is. `before` comes after the line break that ends the data, if it is due. */
  #end(kind: "last" | "malformed", bytes: Uint8Array, data: Span, before: string, end: number): JoinedChunks {
    const pieces = this.#framed(bytes, data)
    const isInData = this.#state === "data CR" || this.#state === "data LF"
    const lineBreak = this.#owesLineBreak && !isInData ? "\r\n" : ""
    return { pieces: [...pieces, Buffer.from(lineBreak + before, "latin1")], end, chunks: this.#chunks, kind }
  }

  /** The data as one chunk, without the line break after it: whether that came is known later. */
  #framed(bytes: Uint8Array, { start, end }: Span): readonly Uint8Array[] {
    if (start === end) return []
    const lineBreak = this.#owesLineBreak ? "\r\n" : ""
    this.#owesLineBreak = true
    return [Buffer.from(`${lineBreak}${(end - start).toString(16)}\r\n`, "latin1"), bytes.subarray(start, end)]
  }
}

/** A part of a read. */
interface Span {
  readonly start: number
  readonly end: number
}

/** Moves the bytes from `from` to `to` behind the data. */
function append(data: { start: number; end: number }, bytes: Uint8Array, from: number, to: number): void {
  if (data.start === data.end) {
    data.start = from
    data.end = to
    return
  }
  const end = data.end
  if (to - from > 32) bytes.copyWithin(end, from, to)
  else for (let at = from; at < to; at++) bytes[end + at - from] = bytes[at] ?? 0
  data.end = end + to - from
}

function hexDigit(byte: number): number | undefined {
  if (byte >= 48 && byte <= 57) return byte - 48
  const lower = byte | 32
  return lower >= 97 && lower <= 102 ? lower - 87 : undefined
}
