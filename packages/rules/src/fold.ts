/**
 * Full Unicode case folding, so that `STRASSE` finds `straße` and `ΟΔΟΣ` finds `οδος`.
 *
 * JavaScript has no folding. Lower, upper, lower again is the same mapping but for two letters:
 * Turkish ı, which upper case would merge with i, and final ς, which lower case brings back.
 * Diacritics stay: é and e differ, as on X's stream. é written as two characters is the same é.
 */

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
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) > 0x7f) return false
  return true
}
