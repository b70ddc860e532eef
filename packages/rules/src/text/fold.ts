/**
 * Full Unicode case folding, so that `STRASSE` finds `straße` and `ΟΔΟΣ` finds `οδος`.
 *
 * JavaScript has no case folding. Lower, upper and lower case again give the same mapping except for two letters: Turkish
 * ı, which upper case would merge with i, and final ς, which lower case restores. Diacritics are kept: é and e differ, as
 * on X's stream. é written as two characters equals é.
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

/** Whether the text has no character beyond ASCII, so that no mapping but lower case changes it. */
export function isAscii(text: string): boolean {
  for (let index = 0; index < text.length; index++) if (codeAt(text, index) > 0x7f) return false
  return true
}

const folding = new Uint8Array(0x10000)
const stays = 1
const changes = 2

/**
 * Whether a text of only such UTF-16 units is its own folded form. May be false for one that is: for marks, for letters
 * that may combine with others, and for surrogates.
 */
export function foldsToItself(unit: number): boolean {
  const known = folding[unit]
  if (known === stays) return true
  if (known === changes) return false
  const character = String.fromCharCode(unit)
  // Marks, surrogates, and the parts of Korean syllables.
  const mayJoin = /[\p{M}\p{Cs}\u1100-\u11FF\uA960-\uA97F\uD7B0-\uD7FF]/u.test(character)
  const isFolded = !mayJoin && fold(character) === character
  folding[unit] = isFolded ? stays : changes
  return isFolded
}
