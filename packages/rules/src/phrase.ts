/** Words found in a row among the tokens of a text. */

import type { Word } from "./rule.ts"
import type { Token } from "./tokenise.ts"

/** Whether the words follow each other somewhere in the tokens. No words are found nowhere. */
export function hasPhrase(tokens: readonly Token[], words: readonly Word[]): boolean {
  return phraseAt(tokens, words, 0) >= 0
}

/** Index of the token, at or after `from`, where the words begin; -1 when they do not. */
export function phraseAt(tokens: readonly Token[], words: readonly Word[], from: number): number {
  const last = words.length === 0 ? -1 : tokens.length - words.length
  for (let at = from; at <= last; at++) if (standsAt(tokens, words, at)) return at
  return -1
}

function standsAt(tokens: readonly Token[], words: readonly Word[], at: number): boolean {
  return words.every((word, index) => {
    const token = tokens[at + index]
    if (token === undefined || (word.glued && !token.glued)) return false
    return token.text === word.text || token.toneless === word.text
  })
}
