/** The units of a file of posts: lines, or JSON values. */

/** A line that is not blank, or a JSON value; with the number of its (first) line, from 1 among all lines. */
export type InputLine = {
  readonly number: number
  /** The line to go on from once this one is done. */
  readonly next: number
} & (
  | { readonly kind: "line"; readonly bytes: Buffer }
  | { readonly kind: "too-long"; readonly byteCount: number; readonly byteCountMax: number }
)

/**
 * Most bytes of a line or value. Ours: a line may be a page, and X's largest, of 500 posts with all their fields, have a
 * few megabytes.
 */
export const inputBytesMax = 16 * 1024 * 1024

/** A line or value with these bytes; `undefined` when it is blank. `kept` is empty beyond the bound. */
export function inputLine(
  number: number,
  byteCount: number,
  kept: readonly Buffer[],
  next: number,
): InputLine | undefined {
  if (byteCount > inputBytesMax) return { kind: "too-long", number, next, byteCount, byteCountMax: inputBytesMax }
  const [first] = kept
  const bytes = kept.length === 1 && first !== undefined ? first : Buffer.concat(kept)
  return isBlank(bytes) ? undefined : { kind: "line", number, next, bytes }
}

/** Nearly every line begins with a brace, and then the rest need not be read. */
function isBlank(bytes: Buffer): boolean {
  return bytes[0] !== 0x7b && bytes.toString("utf8").trim() === ""
}
