/** The words of the texts and links in rules. */

import { foldFor, type Mode } from "./mode.ts"
import { tokenise } from "./tokenise.ts"

/** One token of a keyword, phrase or link. */
export type Word = {
  /** Folded. */
  readonly text: string
  /** Must touch the word before it. */
  readonly glued: boolean
}

/** The words of a keyword or phrase; empty if it contains no letter, digit or emoji. */
export function wordsOf(text: string, mode: Mode = "stream"): readonly Word[] {
  return tokenise(text, "rule").map(({ text: word, glued }) => ({
    text: mode === "stream" ? word : foldFor(mode, word),
    glued,
  }))
}

/** The words of a link without its scheme, as returned by `wordsOf`. */
export function wordsOfLink(link: string, mode: Mode = "stream"): readonly Word[] {
  return wordsOf(withoutScheme(link), mode)
}

/** The link without `http://` or `https://`. */
export function withoutScheme(link: string): string {
  // Fast path: nearly every link begins with it.
  if (link.startsWith("https://")) return link.slice(8)
  return link.replace(/^\s*https?:\/\//i, "")
}

/** The words of a name as one key, for names that are compared as a whole, ignoring what separates their words. */
export function keyOfWords(text: string, mode: Mode): string {
  // Most posts name the same few applications and entities.
  const known = keys[mode].get(text)
  if (known !== undefined) return known
  const key = wordsOf(text, mode)
    .map((word) => word.text)
    .join(" ")
  if (text.length <= cachedCharactersMax) cache(keys[mode], text, key)
  return key
}

const keys: Readonly<Record<Mode, Map<string, string>>> = { stream: new Map(), search: new Map() }

/** Maximum length of a cached text, and maximum number of cached texts of a mode. A full cache is cleared. Ours. */
const cachedCharactersMax = 60
const cachedMax = 2_000

function cache(known: Map<string, string>, text: string, key: string): void {
  if (known.size >= cachedMax) known.clear()
  // A slice of a string keeps the whole string in memory. JSON.parse makes a copy.
  known.set(JSON.parse(JSON.stringify(text)) as string, JSON.parse(JSON.stringify(key)) as string)
}
