/**
 * Text of strangers, made safe for a terminal.
 *
 * Posts, names, tags and rules are written by people who may want to move the cursor, hide a line, reverse the
 * reading order or fill the screen. What comes out of here is a single line that shows such characters instead
 * of obeying them, and that is no wider than asked:
 *
 *     control characters        their picture (␛), or number (<U+009B>)
 *     bidi controls, invisible  their number (<U+202E>)
 *     line breaks, tabs         ⏎, a space
 *     half a surrogate pair     �
 *     too many marks, too wide  …
 *
 * Joiners and variation selectors stay, because emoji, Persian, the scripts of India and Japanese names are spelt
 * with them; so do the tags in the flags of Scotland and its like, which anywhere else would be hidden text.
 */

/** Most marks in a row on one character; Hebrew, Thai, Tibetan and Vietnamese need no more. Ours. */
const marksMax = 4

/** Most code points of one character; the longest emoji in use have ten. Ours. */
const codePointsMax = 16

/** Code units of input per column of output beyond which nothing more can show: emoji need the most. */
const codeUnitsPerColumn = 2 * codePointsMax

/** Line breaks of every kind, each of which a terminal or a pager may obey. */
const lineBreak = /\r\n|[\n\r\u0085\u2028\u2029]/g

/** What a terminal or the reader's eye would obey instead of show; flags that are spelt with tags come first. */
const obeyed =
  /\p{RGI_Emoji_Tag_Sequence}|[[\p{Cc}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\uFFF9-\uFFFB]--[\p{Join_Control}\p{Variation_Selector}]]/gv

/** A run of marks that is longer than any script needs. */
const pileOfMarks = new RegExp(String.raw`([\p{Mn}\p{Me}]{${String(marksMax)}})[\p{Mn}\p{Me}]+`, "gu")

const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" })

/** The text as one line in which every character that a terminal would obey is shown instead. */
export function visibleText(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(lineBreak, "⏎")
    .replaceAll("\t", " ")
    .replaceAll(obeyed, shown)
    .replaceAll(pileOfMarks, "$1…")
}

/** The text as `visibleText` shows it, at most `columns` wide; "…" at its end tells that it was cut. */
export function terminalText(text: string, columns: number): string {
  const readMax = (columns + 1) * codeUnitsPerColumn
  const visible = visibleText(text.slice(0, readMax))
  let kept = ""
  let keptBeforeMark = ""
  let width = 0
  for (const { segment } of segmenter.segment(visible)) {
    const character = shortened(segment)
    width += characterWidth(character)
    if (width > columns) return `${keptBeforeMark}…`
    kept += character
    if (width < columns) keptBeforeMark = kept
  }
  return text.length > readMax ? `${keptBeforeMark}…` : kept
}

/** The end of the text as `visibleText` shows it, at most `columns` wide; "…" before it tells that it was cut. */
export function terminalTextEnd(text: string, columns: number): string {
  const readMax = (columns + 1) * codeUnitsPerColumn
  const visible = visibleText(text.slice(-readMax))
  const characters = Array.from(segmenter.segment(visible), ({ segment }) => shortened(segment))
  const width = characters.reduce((sum, character) => sum + characterWidth(character), 0)
  if (width <= columns && text.length <= readMax) return characters.join("")
  let kept = ""
  let room = columns - 1
  for (const character of characters.toReversed()) {
    room -= characterWidth(character)
    if (room < 0) break
    kept = character + kept
  }
  return columns > 0 ? `…${kept}` : ""
}

/** Columns that a text takes which `visibleText` has made. An estimate: terminals disagree about emoji. */
export function textWidth(visible: string): number {
  let width = 0
  for (const { segment } of segmenter.segment(visible)) width += characterWidth(segment)
  return width
}

function shown(found: string): string {
  const codePoint = found.codePointAt(0) ?? 0
  if (found.length > 2) return found
  if (codePoint < 0x20) return String.fromCodePoint(0x2400 + codePoint)
  if (codePoint === 0x7f) return "\u2421"
  return `<U+${codePoint.toString(16).toUpperCase().padStart(4, "0")}>`
}

function shortened(character: string): string {
  if (character.length <= codePointsMax) return character
  const codePoints = Array.from(character)
  return codePoints.length <= codePointsMax ? character : `${codePoints.slice(0, codePointsMax).join("")}…`
}

/** Scripts and pictures that take two columns. Source: Unicode Standard Annex 11, wide and fullwidth. */
const wide =
  /[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uA960-\uA97C\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF01-\uFF60\uFFE0-\uFFE6\u{17000}-\u{18DFF}\u{1B000}-\u{1B2FF}\u{1F200}-\u{1F2FF}\u{20000}-\u{3FFFD}\p{Emoji_Presentation}\uFE0F]/u

const zeroWidth = /^[\p{Mn}\p{Me}\p{Join_Control}]+$/u

function characterWidth(character: string): number {
  if (character.endsWith("…") && character.length > 1) return characterWidth(character.slice(0, -1)) + 1
  if (zeroWidth.test(character)) return 0
  return wide.test(character) ? 2 : 1
}
