/** Offsets in texts, in code points, as X counts them. */
import { postCharactersMax } from "@sluice/api"

/** The text as far as a post may have one, at most 25,000 code points; an ellipsis ends one that was cut. */
export function postText(text: string): string {
  if (text.length <= postCharactersMax) return text
  const points = Array.from(text.slice(0, 2 * postCharactersMax + 2))
  return points.length <= postCharactersMax ? text : `${points.slice(0, postCharactersMax - 1).join("")}…`
}

/** Number of code points. The text is well-formed. */
export function pointsOf(text: string): number {
  let points = text.length
  // Most texts have no character of two units, which the pattern finds out faster.
  if (!/[\uDC00-\uDFFF]/.test(text)) return points
  for (let at = 0; at < text.length; at++) if (isSecondHalf(text.charCodeAt(at))) points--
  return points
}

function isSecondHalf(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff
}

/** A part of a text. */
export interface TextPart {
  /** In code points. */
  readonly start: number
  /** In code points, exclusive. */
  readonly end: number
  readonly text: string
}

/** Finds the parts of a text by offsets in its UTF-8 bytes. */
export type PartFinder = (byteStart: number, byteEnd: number) => TextPart | undefined

/**
 * A finder of parts; it finds none for offsets that are out of the text, are not whole numbers, lie within a character or
 * hold no character between them.
 */
export function partsByBytes(text: string): PartFinder {
  // Most texts are ASCII, where all offsets are the same.
  if (Buffer.byteLength(text) === text.length) {
    return (start, end) => (isRange(start, end, text.length) ? { start, end, text: text.slice(start, end) } : undefined)
  }
  const { units, points } = placesOfBytes(text)
  return (byteStart, byteEnd) => {
    if (!isRange(byteStart, byteEnd, units.length - 1)) return undefined
    const [from, to] = [units[byteStart] ?? -1, units[byteEnd] ?? -1]
    if (from < 0 || to < 0) return undefined
    return { start: points[byteStart] ?? 0, end: points[byteEnd] ?? 0, text: text.slice(from, to) }
  }
}

function isRange(start: number, end: number, max: number): boolean {
  return Number.isInteger(start) && Number.isInteger(end) && start >= 0 && start < end && end <= max
}

/** For each byte, and for the end, the place of the character that begins there; -1 within a character. */
function placesOfBytes(text: string): { readonly units: Int32Array; readonly points: Int32Array } {
  const length = Buffer.byteLength(text) + 1
  const units = new Int32Array(length).fill(-1)
  const points = new Int32Array(length)
  let [byte, unit, point] = [0, 0, 0]
  for (; unit < text.length; point++) {
    units[byte] = unit
    points[byte] = point
    const code = text.codePointAt(unit) ?? 0
    byte += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4
    unit += code < 0x10000 ? 1 : 2
  }
  units[byte] = unit
  points[byte] = point
  return { units, points }
}
