/**
 * What a character does to a token.
 *
 * Classes of the basic plane are computed once per character on first sight and kept in a
 * table of one byte each: a Unicode regular expression per character would cost more than
 * the rest of the tokeniser. The astral planes are rare enough to be asked every time.
 */

/** Ends a token and belongs to none. */
export const separator = 1

/** Combining mark, or invisible sign that shapes or joins letters: belongs to the letter before it. */
export const mark = 2

/** Digit or other number: joins letters of any script (`covid19`). */
export const digit = 3

/** Begins an emoji, if what follows agrees. */
export const pictograph = 4

/** Letter of a script without spaces between words: every letter is a token of its own. */
export const unsegmented = 5

/** Letter of no script in particular: joins letters of any. */
export const anyScript = 6

/** Classes from here on are letters of one script each; a change between them ends a token. */
export const firstScript = 7

const scripts: readonly RegExp[] = [
  /\p{Script=Latin}/u,
  /\p{Script=Cyrillic}/u,
  /\p{Script=Arabic}/u,
  /\p{Script=Greek}/u,
  /\p{Script=Hebrew}/u,
  /\p{Script=Hangul}/u,
  /\p{Script=Devanagari}/u,
  /\p{Script=Bengali}/u,
  /\p{Script=Tamil}/u,
  /\p{Script=Telugu}/u,
  /\p{Script=Armenian}/u,
  /\p{Script=Georgian}/u,
  /\p{Script=Ethiopic}/u,
]
const otherScript = firstScript + scripts.length

const spaceless =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]/u

const known = new Uint8Array(0x10000)

/** The class of the code point, which may be a lone surrogate (a separator). */
export function classOf(codePoint: number): number {
  if (codePoint > 0xffff) return classify(codePoint)
  const seen = known[codePoint]
  if (seen !== undefined && seen !== 0) return seen
  const found = classify(codePoint)
  known[codePoint] = found
  return found
}

function classify(codePoint: number): number {
  const character = String.fromCodePoint(codePoint)
  if (/\p{M}/u.test(character) || isInvisible(character)) return mark
  // Below the arrows only ©, ®, ™, ‼, ⁉ and ℹ are pictographs, and there they are typography.
  if (codePoint >= 0x2190 && /[\p{Extended_Pictographic}\p{RI}]/u.test(character)) return pictograph
  if (/\p{N}/u.test(character)) return digit
  if (!/\p{L}/u.test(character)) return separator
  if (spaceless.test(character)) return unsegmented
  if (/[\p{Script=Common}\p{Script=Inherited}]/u.test(character)) return anyScript
  const script = scripts.findIndex((one) => one.test(character))
  return script < 0 ? otherScript : firstScript + script
}

/**
 * Joiners, soft hyphens and marks of direction are no end of a word: without them `می‌خواهم` and `ශ්‍රී` would be two
 * words each. The zero-width space is one, that being its purpose.
 *
 * Source: UAX #29, rule WB4. The signs that stand before Arabic and Syriac numbers are visible, so they separate.
 */
function isInvisible(character: string): boolean {
  return /(?=\p{Cf})\p{Default_Ignorable_Code_Point}/u.test(character) && character !== "\u200B"
}
