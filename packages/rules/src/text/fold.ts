/**
 * Full Unicode case folding, so that `STRASSE` finds `straße` and `ΟΔΟΣ` finds `οδος`.
 *
 * JavaScript has no case folding. Lower, upper and lower case again give the same mapping except for two letters:
 * Turkish ı, which upper case would merge with i, and final ς, which lower case restores. Diacritics are kept: é and e
 * differ, as on X's stream. é written as two characters equals é.
 */

import { codeAt } from "./code-at.ts"

/** The form in which strings that differ only in case are equal. */
export function fold(text: string): string {
  if (isAscii(text)) return text.toLowerCase()
  const parts = text.normalize("NFC").split("ı").map(foldPart)
  return parts.join("ı").normalize("NFC")
}

function foldPart(text: string): string {
  return text.toLowerCase().toUpperCase().toLowerCase().replaceAll("ς", "σ")
}

/** True if the text has no character beyond ASCII, so that no mapping but lower case changes it. */
export function isAscii(text: string): boolean {
  for (let index = 0; index < text.length; index++) if (codeAt(text, index) > 0x7f) return false
  return true
}

/** Folded forms by UTF-16 unit; 0 if it was not computed yet. */
const folding = new Uint16Array(0x10000)

/** Stands for a unit that does not fold on its own. It is no character. */
export const needsWholeFold = 0xffff

/**
 * The folded form of the UTF-16 unit: a text of only such units is folded unit by unit. `needsWholeFold` if it may
 * depend on its neighbours or has another length: for marks, for letters that may combine with others, and for
 * surrogates.
 */
export function foldedUnit(unit: number): number {
  const known = folding[unit] ?? 0
  if (known !== 0) return known
  const folded = fold(String.fromCharCode(unit))
  const isAlone = folded.length === 1 && !mayJoin(String.fromCharCode(unit)) && !mayJoin(folded)
  const found = isAlone && unit !== 0 ? folded.charCodeAt(0) : needsWholeFold
  folding[unit] = found
  return found
}

/** Marks, surrogates, and the parts of Korean syllables. */
function mayJoin(character: string): boolean {
  return /[\p{M}\p{Cs}\u1100-\u11FF\uA960-\uA97F\uD7B0-\uD7FF]/u.test(character)
}

/** True if a text of only such UTF-16 units is its own folded form. May be false for one that is. */
export function foldsToItself(unit: number): boolean {
  return foldedUnit(unit) === unit
}
