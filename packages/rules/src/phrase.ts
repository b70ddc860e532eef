/**
 * Words found in a row among the tokens of a text.
 *
 * Comparing at every token costs text × phrase when both repeat themselves (`a a a … b`), and texts and rules
 * come from strangers. So a long phrase is found by bits: one for each of its words, set while the words up to it
 * stand before the present token. That costs text × phrase ÷ 32. (The Knuth-Morris-Pratt way, which would cost
 * text + phrase, needs tokens that are either equal or not; here 👍 finds 👍🏽, and 👍🏽 does not find 👍.)
 */

import type { Word } from "./rule.ts"
import type { Token } from "./tokenise.ts"

/** Whether the words follow each other somewhere in the tokens. No words are found nowhere. */
export function hasPhrase(tokens: readonly Token[], words: readonly Word[]): boolean {
  return phraseAt(tokens, words, 0) >= 0
}

/** Words that are compared one by one: as many as there are bits. */
const shortMax = 32

/** Index of the token, at or after `from`, where the words begin; -1 when they do not. */
export function phraseAt(tokens: readonly Token[], words: readonly Word[], from: number): number {
  if (words.length === 0) return -1
  if (words.length > shortMax) return longPhraseAt(tokens, words, from)
  const last = tokens.length - words.length
  for (let at = from; at <= last; at++) if (standsAt(tokens, words, at)) return at
  return -1
}

/** Whether the words begin at the token and follow each other. */
export function standsAt(tokens: readonly Token[], words: readonly Word[], at: number): boolean {
  for (let index = 0; index < words.length; index++) {
    const [word, token] = [words[index], tokens[at + index]]
    if (word === undefined || token === undefined || !isFound(word, token)) return false
  }
  return true
}

/** Whether the token is the word. */
export function isFound(word: Word, token: Token): boolean {
  return (token.text === word.text || token.toneless === word.text) && (token.glued || !word.glued)
}

function longPhraseAt(tokens: readonly Token[], words: readonly Word[], from: number): number {
  const length = Math.ceil(words.length / 32)
  const places = placesOf(words, length)
  const mayTouchNothing = bitsOf(words, length, (word) => !word.glued)
  const noPlaces = new Uint32Array(length)
  const found = new Uint32Array(length)
  const [lastPlace, lastBit] = [length - 1, (words.length - 1) % 32]
  for (let at = from; at < tokens.length; at++) {
    const token = tokens[at]
    if (token === undefined) break
    const named = places.get(token.text) ?? noPlaces
    const toneless = (token.toneless === undefined ? undefined : places.get(token.toneless)) ?? noPlaces
    let carried = 1
    for (let place = 0; place < length; place++) {
      const bits = found[place] ?? 0
      const allowed = token.glued ? 0xffffffff : (mayTouchNothing[place] ?? 0)
      found[place] = ((bits << 1) | carried) & ((named[place] ?? 0) | (toneless[place] ?? 0)) & allowed
      carried = bits >>> 31
    }
    if ((((found[lastPlace] ?? 0) >>> lastBit) & 1) === 1) return at - words.length + 1
  }
  return -1
}

/** For each word, the bits of the places in the phrase where it stands. */
function placesOf(words: readonly Word[], length: number): ReadonlyMap<string, Uint32Array> {
  const places = new Map<string, Uint32Array>()
  for (const [index, { text }] of words.entries()) {
    let bits = places.get(text)
    if (bits === undefined) {
      bits = new Uint32Array(length)
      places.set(text, bits)
    }
    bits[index >> 5] = (bits[index >> 5] ?? 0) | (1 << (index & 31))
  }
  return places
}

function bitsOf(words: readonly Word[], length: number, has: (word: Word) => boolean): Uint32Array {
  const bits = new Uint32Array(length)
  for (const [index, word] of words.entries())
    if (has(word)) bits[index >> 5] = (bits[index >> 5] ?? 0) | (1 << (index & 31))
  return bits
}
