/**
 * Text from outside, made safe for a terminal.
 *
 * Posts, names, tags and rules may hold characters that move the cursor, hide a line, reverse the reading order or
 * fill the screen. The functions here return a single line that shows such characters instead of sending them, and
 * that is no wider than the caller wants:
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
import stringWidth from "string-width"

/** Most marks in a row on one character; Hebrew, Thai, Tibetan and Vietnamese need no more. Ours. */
const marksMax = 4

/** Most code points of one character; the longest emoji in use have ten. Ours. */
const codePointsMax = 16

/** Code units of input per column of output beyond which nothing more can show: emoji need the most. */
const codeUnitsPerColumn = 2 * codePointsMax

/** Line breaks of every kind that terminals and pagers know. */
const lineBreak = /\r\n|[\n\r\u0085\u2028\u2029]/g

/** Control characters, bidirectional controls and invisible ones; flags that are spelt with tags come first. */
const unsafe =
  /\p{RGI_Emoji_Tag_Sequence}|[[\p{Cc}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\uFFF9-\uFFFB]--[\p{Join_Control}\p{Variation_Selector}]]/gv

/** A run of marks that is longer than any script needs. */
const pileOfMarks = new RegExp(String.raw`([\p{Mn}\p{Me}]{${String(marksMax)}})[\p{Mn}\p{Me}]+`, "gu")

const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" })

/** The text as one line in which every unsafe character is shown by a picture or its number. */
export function visibleText(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(lineBreak, "⏎")
    .replaceAll("\t", " ")
    .replaceAll(unsafe, shown)
    .replaceAll(pileOfMarks, "$1…")
}

/**
 * JSON text with every unsafe character as `\\uXXXX`: a parser gets the same value.
 * Such characters stand only inside of strings.
 */
export function jsonText(json: string): string {
  return json.replaceAll(lineBreak, escaped).replaceAll(unsafe, escaped)
}

/** JSON text over several lines, as `jsonText` writes each of them. */
export function jsonLines(json: string): string {
  return json.split("\n").map(jsonText).join("\n")
}

/** Whether a text holds what `visibleText` would show in another way, line breaks and tabs aside. */
export function isUnsafe(text: string): boolean {
  return escapedLines(text, escaped) !== text
}

/**
 * YAML text over several lines with every unsafe character as `\\uXXXX` or `\\UXXXXXXXX`: a parser gets the same value. Such
 * characters must stand inside of double quotes only.
 */
export function yamlLines(yaml: string): string {
  return escapedLines(yaml, (found) =>
    found.length === 2 ? String.raw`\U${(found.codePointAt(0) ?? 0).toString(16).padStart(8, "0")}` : escaped(found),
  )
}

function escapedLines(text: string, escape: (found: string) => string): string {
  const escapedUnlessBlank = (found: string): string => (found === "\n" || found === "\t" ? found : escape(found))
  return text.replaceAll(lineBreak, escapedUnlessBlank).replaceAll(unsafe, escapedUnlessBlank)
}

/** The text as `visibleText` shows it, at most `columns` wide; "…" at its end marks that it was cut. */
export function terminalText(text: string, columns: number): string {
  const readMax = (columns + 1) * codeUnitsPerColumn
  const visible = visibleText(text.slice(0, readMax))
  let kept = ""
  let keptBeforeMark = ""
  let width = 0
  for (const { segment } of segmenter.segment(visible)) {
    const character = truncate(segment)
    width += characterWidth(character)
    if (width > columns) return `${keptBeforeMark}…`
    kept += character
    if (width < columns) keptBeforeMark = kept
  }
  return text.length > readMax ? `${keptBeforeMark}…` : kept
}

/** The end of the text as `visibleText` shows it, at most `columns` wide; "…" before it marks that it was cut. */
export function terminalTextEnd(text: string, columns: number): string {
  const readMax = (columns + 1) * codeUnitsPerColumn
  const visible = visibleText(text.slice(-readMax))
  const characters = Array.from(segmenter.segment(visible), ({ segment }) => truncate(segment))
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

/** Columns of a text that `visibleText` has made. An estimate: terminals disagree about emoji. */
export function textWidth(visible: string): number {
  return stringWidth(visible, { countAnsiEscapeCodes: true })
}

function shown(found: string): string {
  const codePoint = found.codePointAt(0) ?? 0
  if (found.length > 2) return found
  if (codePoint < 0x20) return String.fromCodePoint(0x2400 + codePoint)
  if (codePoint === 0x7f) return "\u2421"
  return `<U+${codePoint.toString(16).toUpperCase().padStart(4, "0")}>`
}

/** A found character as JSON spells it; a flag that is spelt with tags stays. */
function escaped(found: string): string {
  if (found.length > 2) return found
  return Array.from({ length: found.length }, (_, at) => {
    return `\\u${found.charCodeAt(at).toString(16).padStart(4, "0")}`
  }).join("")
}

function truncate(character: string): string {
  if (character.length <= codePointsMax) return character
  const codePoints = Array.from(character)
  return codePoints.length <= codePointsMax ? character : `${codePoints.slice(0, codePointsMax).join("")}…`
}

function characterWidth(character: string): number {
  return stringWidth(character, { countAnsiEscapeCodes: true })
}
