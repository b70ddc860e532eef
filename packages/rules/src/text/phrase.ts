/**
 * Consecutive words among the tokens of a text.
 *
 * Comparing at every token takes text × phrase steps if both are repetitive (`a a a … b`), and texts and rules are
 * untrusted. So a long phrase is found by bits (the Shift-And algorithm): the bit of a word is set while the words up
 * to it match the tokens up to the current one. It takes text × phrase ÷ 32 steps. Knuth-Morris-Pratt would take text
 * + phrase, but needs an equality that is symmetric: here 👍 finds 👍🏽, and 👍🏽 does not find 👍.
 */

import type { Word } from "./words.ts"
import type { Token } from "./tokenise.ts"

/** True if the words follow each other in the tokens. False for no words. */
export function hasPhrase(tokens: readonly Token[], words: readonly Word[]): boolean {
  return phraseAt(tokens, words, 0) >= 0
}

/** Maximum number of words that are compared one by one: as many as an integer has bits. */
const shortMax = 32

/** Index of the first token, at `from` or after it, at which the words begin; -1 if there is none. */
export function phraseAt(tokens: readonly Token[], words: readonly Word[], from: number): number {
  if (words.length === 0) return -1
  if (words.length > shortMax) return longPhraseAt(tokens, words, from)
  const last = tokens.length - words.length
  for (let at = from; at <= last; at++) if (isPhraseAt(tokens, words, at)) return at
  return -1
}

/** True if the words begin at the token and follow each other. */
export function isPhraseAt(tokens: readonly Token[], words: readonly Word[], at: number): boolean {
  for (let index = 0; index < words.length; index++) {
    const [word, token] = [words[index], tokens[at + index]]
    if (word === undefined || token === undefined || !isFound(word, token)) return false
  }
  return true
}

/** True if the token matches the word. */
export function isFound(word: Word, token: Token): boolean {
  return (token.text === word.text || token.toneless === word.text) && (token.glued || !word.glued)
}

function longPhraseAt(tokens: readonly Token[], words: readonly Word[], from: number): number {
  const length = Math.ceil(words.length / 32)
  const bitsByWord = bitsOfWords(words, length)
  const unglued = bitsOf(words, length, (word) => !word.glued)
  const noBits = new Uint32Array(length)
  const found = new Uint32Array(length)
  const [lastIndex, lastBit] = [length - 1, (words.length - 1) % 32]
  for (let at = from; at < tokens.length; at++) {
    const token = tokens[at]
    if (token === undefined) break
    const named = bitsByWord.get(token.text) ?? noBits
    const toneless = (token.toneless === undefined ? undefined : bitsByWord.get(token.toneless)) ?? noBits
    let carried = 1
    for (let index = 0; index < length; index++) {
      const bits = found[index] ?? 0
      const allowed = token.glued ? 0xffffffff : (unglued[index] ?? 0)
      found[index] = ((bits << 1) | carried) & ((named[index] ?? 0) | (toneless[index] ?? 0)) & allowed
      carried = bits >>> 31
    }
    if ((((found[lastIndex] ?? 0) >>> lastBit) & 1) === 1) return at - words.length + 1
  }
  return -1
}

/** For each word, the bits of its indexes in the phrase. */
function bitsOfWords(words: readonly Word[], length: number): ReadonlyMap<string, Uint32Array> {
  const byWord = new Map<string, Uint32Array>()
  for (const [index, { text }] of words.entries()) {
    let bits = byWord.get(text)
    if (bits === undefined) {
      bits = new Uint32Array(length)
      byWord.set(text, bits)
    }
    bits[index >> 5] = (bits[index >> 5] ?? 0) | (1 << (index & 31))
  }
  return byWord
}

function bitsOf(words: readonly Word[], length: number, has: (word: Word) => boolean): Uint32Array {
  const bits = new Uint32Array(length)
  for (const [index, word] of words.entries())
    if (has(word)) bits[index >> 5] = (bits[index >> 5] ?? 0) | (1 << (index & 31))
  return bits
}
