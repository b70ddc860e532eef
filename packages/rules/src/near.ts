/**
 * Words near each other: `"social media"~5`.
 *
 * Each word must stand somewhere, equal ones each in a place of its own. How far the words are from following each other
 * is the number of tokens that one would have to be moved at most against another. In order, that is the number
 * of tokens between; words in the opposite order are two further apart. X says the same of two words: within N
 * tokens, or within N - 2 when they stand the other way round.
 *
 *     "a b"~2    a b · a x b · a x x b · b a        but not  a x x x b · b x a
 *
 * Source: the proximity operator in X's documentation of PowerTrack.
 */

import { standsAt } from "./phrase.ts"
import type { Word } from "./rule.ts"
import type { Token } from "./tokenise.ts"

/** Words of a proximity at most. Ours: it bounds the work, and X's documentation shows two. */
export const nearWordsMax = 32

/** Moves at most. Source: docs.x.com, "Filtered stream operators". */
export const nearDistanceMax = 6

/** Tokens that a proximity takes up, end exclusive. */
export type Stretch = { readonly from: number; readonly to: number }

/** Whether the words stand within the distance. */
export function hasNear(tokens: readonly Token[], words: readonly Word[], distance: number): boolean {
  return nearAt(tokens, words, distance, 0) !== undefined
}

/**
 * The first stretch from `from` on in which the words stand within the distance. Costs tokens × words × distance.
 *
 * If the words are at most `distance` moves apart, there is a token `at` such that word number i stands among the
 * tokens `at + i` to `at + i + distance`. Equal words take the first such places that are free: both ends of those
 * ranges go up with i, so none that comes later could use an earlier one better. Words that differ need not make way
 * for each other: in `東京都` stand both `東京` and `京都`.
 */
export function nearAt(
  tokens: readonly Token[],
  words: readonly Word[],
  distance: number,
  from: number,
): Stretch | undefined {
  const runs = runsOf(words)
  if (runs.length === 0) return undefined
  for (let at = from - words.length + 1; at < tokens.length; at++) {
    const stretch = stretchAt(tokens, runs, distance, { at, from })
    if (stretch) return stretch
  }
  return undefined
}

/** A word with those after it that must touch the one before. */
type Run = {
  readonly words: readonly Word[]
  /** Of its first word. */
  readonly index: number
  /** Which run is the last before it that is equal. */
  readonly equal: number | undefined
}

function runsOf(words: readonly Word[]): readonly Run[] {
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

function stretchAt(
  tokens: readonly Token[],
  runs: readonly Run[],
  distance: number,
  { at, from }: { readonly at: number; readonly from: number },
): Stretch | undefined {
  const ends: number[] = []
  let begin = Infinity
  for (const { words, index, equal } of runs) {
    const free = equal === undefined ? from : (ends[equal] ?? from)
    let place = Math.max(free, at + index)
    while (place <= at + index + distance && !standsAt(tokens, words, place)) place++
    if (place > at + index + distance) return undefined
    begin = Math.min(begin, place)
    ends.push(place + words.length)
  }
  return { from: begin, to: Math.max(...ends) }
}
