/** Texts and links of rules as the words that are looked for. */

import { foldFor } from "./mode.ts"
import type { Mode } from "./mode.ts"
import type { Word } from "./rule.ts"
import { tokenise } from "./tokenise.ts"

/** The words of a keyword or phrase; none when it holds no letter, digit or emoji. */
export function wordsOf(text: string, mode: Mode = "stream"): readonly Word[] {
  return tokenise(text, "rule").map(({ text: word, glued }) => ({
    text: mode === "stream" ? word : foldFor(mode, word),
    glued,
  }))
}

/** The words of a link: as `wordsOf`, without the scheme that nearly all links share. */
export function wordsOfLink(link: string, mode: Mode = "stream"): readonly Word[] {
  return wordsOf(withoutScheme(link), mode)
}

/** The link after `https://`; a link without a scheme as it is. */
export function withoutScheme(link: string): string {
  // Nearly every link begins so.
  if (link.startsWith("https://")) return link.slice(8)
  return link.replace(/^\s*https?:\/\//i, "")
}

/** The words as one text, for names that are compared whole whatever stands between their words. */
export function keyOfWords(text: string, mode: Mode): string {
  // The same few applications and entities come with every other post.
  const known = keys[mode].get(text)
  if (known !== undefined) return known
  const key = wordsOf(text, mode)
    .map((word) => word.text)
    .join(" ")
  if (text.length <= keptCharactersMax) keep(keys[mode], text, key)
  return key
}

const keys: Readonly<Record<Mode, Map<string, string>>> = { stream: new Map(), search: new Map() }

/** Longest text, and most texts of a mode, that are kept; past it they are forgotten. Ours. */
const keptCharactersMax = 60
const keptMax = 2_000

function keep(known: Map<string, string>, text: string, key: string): void {
  if (known.size >= keptMax) known.clear()
  // A part of a longer text would keep all of it in memory; what JSON.parse makes stands alone.
  known.set(JSON.parse(JSON.stringify(text)) as string, JSON.parse(JSON.stringify(key)) as string)
}
