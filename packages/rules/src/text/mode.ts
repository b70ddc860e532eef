/**
 * The mode of a rule. A stream's rule and a search's query are one language. They differ only where X documents it: a
 * search reads the post alone and not the post that it quotes, ignores diacritics, and does not have every operator.
 *
 * Source: docs.x.com, "Build a rule" and "Build a query", "Search operators".
 */

import { fold, isAscii } from "./fold.ts"

/** A rule and the posts that it is compared with must be read in the same mode. */
export type Mode = "stream" | "search"

/** The form in which texts are compared in the mode. */
export function foldFor(mode: Mode, text: string): string {
  return mode === "stream" ? fold(text) : withoutDiacritics(fold(text))
}

/** Removes accents and similar marks only. The vowel signs of Thai and Devanagari are marks too, but readers see letters. */
function withoutDiacritics(text: string): string {
  if (isAscii(text)) return text
  const bare = text.normalize("NFD").replaceAll(/[\u0300-\u036F]/gu, "")
  return bare.normalize("NFC")
}
