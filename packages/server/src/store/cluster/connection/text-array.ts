/**
 * Texts as PostgreSQL reads an array in its binary format: for statements with long texts. As text, an array of JSON would
 * have every quote escaped here and read back there; of a batch of posts that takes ten times as long. Measured.
 *
 *     dimensions (1), has NULL (0 or 1), type of the elements, count, first index (1), then of each its length and bytes
 *
 * Source: PostgreSQL's src/backend/utils/adt/arrayfuncs.c, `array_recv`.
 */
import pg from "pg"

const wordBytes = 4
const headWords = 5

/**
 * A parameter of type `text[]`. PostgreSQL's texts hold no NUL: in a string it becomes U+FFFD, and texts that come as
 * bytes of UTF-8 have none.
 */
export function textArray(values: readonly (string | Uint8Array | null)[]): Uint8Array {
  const texts = values.map((value) => (typeof value === "string" ? value.replaceAll("\0", "\uFFFD") : value))
  const size = texts.reduce(
    (sum, text) => sum + wordBytes + (text === null ? 0 : Buffer.byteLength(text)),
    headWords * wordBytes,
  )
  const bytes = Buffer.allocUnsafe(size)
  const head = [1, texts.includes(null) ? 1 : 0, pg.types.builtins.TEXT, texts.length, 1]
  let at = 0
  for (const word of head) at = bytes.writeInt32BE(word, at)
  for (const text of texts) {
    const length = text === null ? -1 : writeText(bytes, text, at + wordBytes)
    at = bytes.writeInt32BE(length, at) + Math.max(length, 0)
  }
  return bytes
}

/** Returns how many bytes it has written. */
function writeText(bytes: Buffer, text: string | Uint8Array, at: number): number {
  if (typeof text === "string") return bytes.write(text, at)
  bytes.set(text, at)
  return text.length
}
