/**
 * What a rule is for. A stream's rule and a search's query are one language with one meaning, but for what
 * X documents: a search looks at the post alone and not at what it quotes, takes letters with and without
 * diacritics for the same, and does not know every operator.
 *
 * Source: docs.x.com, "Build a rule" and "Build a query", "Search operators".
 */

import { fold } from "./fold.ts"

/** A rule and the posts that it is compared with are read in the same mode. */
export type Mode = "stream" | "search"

/** The form in which two texts are equal for the mode. */
export function foldFor(mode: Mode, text: string): string {
  return mode === "stream" ? fold(text) : withoutDiacritics(fold(text))
}

/** Only accents and their like: the vowel signs of Thai or Devanagari are marks too, and are letters to their readers. */
function withoutDiacritics(text: string): string {
  return isPlain(text)
    ? text
    : text
        .normalize("NFD")
        .replaceAll(/[\u0300-\u036F]/gu, "")
        .normalize("NFC")
}

function isPlain(text: string): boolean {
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) > 0x7f) return false
  return true
}
