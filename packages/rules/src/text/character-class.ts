/**
 * The class of a character, which decides how it is tokenised.
 *
 * Classes of the first two planes are computed on first use and kept in a table of one byte each: a Unicode regular
 * expression per character would take longer than the rest of the tokeniser. Other planes are rare and are classified
 * each time.
 */

/** Ends a token and belongs to no token. */
export const separator = 1

/** Combining mark, or invisible character that shapes or joins letters: belongs to the letter before it. */
export const mark = 2

/** Digit or other number: joins letters of any script (`covid19`). */
export const digit = 3

/** May begin an emoji, depending on what follows. */
export const pictograph = 4

/** Letter of a script without spaces between words: every letter is a separate token. */
export const unsegmented = 5

/** Letter of no particular script: joins letters of any script. */
export const anyScript = 6

/** This class and higher ones are letters of one script each. A change of script ends a token. */
export const firstScript = 7

const scripts = "Latin Cyrillic Arabic Greek Hebrew Hangul Devanagari Bengali Tamil Telugu Armenian Georgian Ethiopic"
  .split(" ")
  .map((name) => new RegExp(String.raw`\p{Script=${name}}`, "u"))
const otherScript = firstScript + scripts.length

const spaceless = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]/u

const known = new Uint8Array(0x20000)

/** The class of the code point. A lone surrogate is a separator. */
export function classOf(codePoint: number): number {
  if (codePoint >= known.length) return classify(codePoint)
  const seen = known[codePoint]
  if (seen !== undefined && seen !== 0) return seen
  const found = classify(codePoint)
  known[codePoint] = found
  return found
}

function classify(codePoint: number): number {
  const character = String.fromCodePoint(codePoint)
  if (/\p{M}/u.test(character) || isInvisible(character)) return mark
  // Below the arrows only ©, ®, ™, ‼, ⁉ and ℹ are pictographs, and without a variation selector they are typography.
  if (codePoint >= 0x2190 && /[\p{Extended_Pictographic}\p{RI}]/u.test(character)) return pictograph
  if (/\p{N}/u.test(character)) return digit
  if (!/\p{L}/u.test(character)) return separator
  if (spaceless.test(character)) return unsegmented
  if (/[\p{Script=Common}\p{Script=Inherited}]/u.test(character)) return anyScript
  const script = scripts.findIndex((one) => one.test(character))
  return script < 0 ? otherScript : firstScript + script
}

/**
 * Joiners, soft hyphens and directional marks do not end a word: otherwise `می‌خواهم` and `ශ්‍රී` would be two words each.
 * The zero-width space does, because that is its purpose.
 *
 * Source: UAX #29, rule WB4. The visible signs before Arabic and Syriac numbers are separators.
 */
function isInvisible(character: string): boolean {
  return /(?=\p{Cf})\p{Default_Ignorable_Code_Point}/u.test(character) && character !== "\u200B"
}
