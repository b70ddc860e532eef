/**
 * Full Unicode case folding, so that `STRASSE` finds `straße` and `ΟΔΟΣ` finds `οδος`.
 *
 * JavaScript has no folding. Lower, upper, lower again is the same mapping but for two letters:
 * Turkish ı, which upper case would merge with i, and final ς, which lower case brings back.
 * Diacritics stay: é and e differ, as on X's stream. é written as two characters is the same é.
 */

import { codeAt } from "./code-at.ts"

/** The form in which two strings are equal when they differ by case alone. */
export function fold(text: string): string {
  if (isAscii(text)) return text.toLowerCase()
  const parts = text.normalize("NFC").split("ı").map(foldPart)
  return parts.join("ı").normalize("NFC")
}

function foldPart(text: string): string {
  return text.toLowerCase().toUpperCase().toLowerCase().replaceAll("ς", "σ")
}

function isAscii(text: string): boolean {
  for (let index = 0; index < text.length; index++) if (codeAt(text, index) > 0x7f) return false
  return true
}

const folding = new Uint8Array(0x10000)
const stays = 1
const changes = 2

/**
 * Whether a text of such UTF-16 units is folded as it stands. Says no to marks and to letters that may join into
 * others, and to halves of pairs, though they may be.
 */
export function foldsToItself(unit: number): boolean {
  const known = folding[unit]
  if (known === stays) return true
  if (known === changes) return false
  const character = String.fromCharCode(unit)
  // Marks, the parts of Korean syllables, and halves of pairs.
  const mayJoin = /[\p{M}\p{Cs}\u1100-\u11FF\uA960-\uA97F\uD7B0-\uD7FF]/u.test(character)
  const isFolded = !mayJoin && fold(character) === character
  folding[unit] = isFolded ? stays : changes
  return isFolded
}
