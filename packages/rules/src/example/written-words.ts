/** Texts and links in which given words are found. */

import { passageOf, type Passage } from "../post/field-values.ts"
import type { Mode } from "../text/mode.ts"
import { hasPhrase } from "../text/phrase.ts"
import { withoutScheme, type Word } from "../text/words.ts"

/** A text of a post in which the words follow each other: as the rule writes them where that is possible. */
export function textOfWords(value: string, words: readonly Word[], mode: Mode): string {
  // X writes these three in posts as HTML escapes.
  const escaped = value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
  return hasPhrase(passageOf(mode, "text", escaped, "post").tokens, words) ? escaped : plainWords(words, " ")
}

/** A link in which the words follow each other. `host` is used when the value has none. */
export function linkOfWords(value: string, words: readonly Word[], mode: Mode, host: string): string {
  const bare = withoutScheme(value).trim()
  const whole = /^[^/\s]+\.[^\s]+$/.test(bare) ? `https://${bare}` : `https://${host}/${bare}`
  return hasPhrase(linkPassage(whole, mode).tokens, words) ? whole : `https://${host}/${plainWords(words, "/")}`
}

/** A link that holds the text. */
export function linkOfPart(value: string, host: string): string {
  if (/^https?:\/\//i.test(value)) return value
  return /^[^/\s]+\.[^/\s]/.test(value)
    ? `https://${value}`
    : `https://${host}${value.startsWith("/") ? "" : "/"}${value}`
}

function linkPassage(link: string, mode: Mode): Passage {
  return passageOf(mode, "url", withoutScheme(link), "rule")
}

function plainWords(words: readonly Word[], between: string): string {
  return words.map(({ text, glued }, index) => (index === 0 || glued ? text : between + text)).join("")
}
