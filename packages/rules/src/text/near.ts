/**
 * Words near each other: `"social media"~5`.
 *
 * Every word must occur, equal words at different positions. The distance is the largest number of tokens that one word
 * would have to be moved relative to another for the words to follow each other. For two words in order that is the
 * number of tokens between them; in the opposite order it is two more. X describes two words in the same way: within N
 * tokens, or within N - 2 if they are reversed.
 *
 *     "a b"~2    a b · a x b · a x x b · b a        but not  a x x x b · b x a
 *
 * This is the definition, simple and slow. The matcher uses the positions of words instead (`word-positions.ts`).
 *
 * Source: the proximity operator in X's documentation of PowerTrack.
 */

import { isPhraseAt } from "./phrase.ts"
import type { Word } from "./words.ts"
import type { Token } from "./tokenise.ts"

/** Maximum number of words. Ours: it bounds the work, and X's documentation shows two. */
export const nearWordsMax = 32

/** Maximum distance. Source: docs.x.com, "Filtered stream operators". */
export const nearDistanceMax = 6

/** Empty positions between two texts of a post: more than a proximity can span. */
export const textGap = nearWordsMax + nearDistanceMax

/** Token indexes, end exclusive. */
type TokenRange = { readonly from: number; readonly to: number }

/** True if the words occur within the distance. */
export function hasNear(tokens: readonly Token[], words: readonly Word[], distance: number): boolean {
  return nearAt(tokens, words, distance, 0) !== undefined
}

/**
 * The first range, at `from` or after it, that contains the words within the distance. Takes tokens × words × distance
 * comparisons.
 *
 * If the words are within the distance, there is a token `at` such that word i occurs among the tokens `at + i` to
 * `at + i + distance`. Equal words take the first free position of their range. This choice is optimal, because both ends of
 * the ranges increase with i. Different words may overlap: `東京都` contains both `東京` and `京都`.
 */
export function nearAt(
  tokens: readonly Token[],
  words: readonly Word[],
  distance: number,
  from: number,
): TokenRange | undefined {
  const runs = runsOf(words)
  if (runs.length === 0) return undefined
  for (let at = from - words.length + 1; at < tokens.length; at++) {
    const range = rangeAt(tokens, runs, distance, { at, from })
    if (range) return range
  }
  return undefined
}

/** A word with the following words that must touch the word before them. */
export type Run = {
  readonly words: readonly Word[]
  /** Index of its first word. */
  readonly index: number
  /** Index of the last run before it that is equal. */
  readonly equal: number | undefined
}

/** The words as runs, in order. */
export function runsOf(words: readonly Word[]): readonly Run[] {
  const runs: Run[] = []
  const last = new Map<string, number>()
  for (let index = 0; index < words.length;) {
    let end = index + 1
    while (words[end]?.glued === true) end++
    const run = words.slice(index, end)
    const key = run.map((word) => word.text).join(" ")
    const equal = last.get(key)
    last.set(key, runs.length)
    runs.push({ words: run, index, equal })
    index = end
  }
  return runs
}

function rangeAt(
  tokens: readonly Token[],
  runs: readonly Run[],
  distance: number,
  { at, from }: { readonly at: number; readonly from: number },
): TokenRange | undefined {
  const ends: number[] = []
  let begin = Infinity
  for (const { words, index, equal } of runs) {
    const free = equal === undefined ? from : (ends[equal] ?? from)
    let position = Math.max(free, at + index)
    while (position <= at + index + distance && !isPhraseAt(tokens, words, position)) position++
    if (position > at + index + distance) return undefined
    begin = Math.min(begin, position)
    ends.push(position + words.length)
  }
  return { from: begin, to: Math.max(...ends) }
}
