import fc from "fast-check"
import { expect, test } from "vitest"
import { counted } from "../testing/counted.testing.ts"
import { hasNear, nearAt, nearDistanceMax, nearWordsMax } from "./near.ts"
import { wordsOf, type Word } from "./words.ts"
import { tokenise, type Token } from "./tokenise.ts"

function isNear(words: string, distance: number, text: string): boolean {
  return hasNear(tokenise(text, "post"), wordsOf(words), distance)
}

/** The least distance at which the words are found; 7 when they are not. */
function distanceOf(words: string, text: string): number {
  for (let distance = 1; distance <= nearDistanceMax; distance++) if (isNear(words, distance, text)) return distance
  return nearDistanceMax + 1
}

test.each([
  ["social media", 1],
  ["social x media", 1],
  ["social x x media", 2],
  ["social x x x media", 3],
  ["social x x x x x x media", 6],
  ["social x x x x x x x media", 7],
  // In the reverse order, two fewer tokens may be between the words.
  ["media social", 2],
  ["media x social", 3],
  ["media x x x x social", 6],
  ["media x x x x x social", 7],
  ["social", 7],
  ["social social", 7],
  ["media, x (social) x media!", 1],
  // A shortened link is one token that nothing matches.
  ["social https://t.co/a1 media", 1],
  ["social https://t.co/a1 https://t.co/b2 media", 2],
])("“social media” in “%s” is at most %i away", (text, distance) => {
  expect(distanceOf("social media", text)).toBe(distance)
})

test.each([
  ["zebra cat dog", "zebra cat dog", 1],
  ["zebra cat dog", "zebra x cat dog", 1],
  ["zebra cat dog", "zebra x cat x dog", 2],
  ["zebra cat dog", "x x zebra x x cat x dog", 3],
  // The last word would have to be moved over the other two, and one further.
  ["zebra cat dog", "dog zebra cat", 3],
  ["zebra cat dog", "dog cat zebra", 4],
  ["zebra cat dog", "cat dog zebra", 3],
  ["zebra cat dog", "zebra dog", 7],
  ["cat zebra cat", "cat zebra cat", 1],
  ["cat zebra cat", "cat zebra", 7],
  ["cat cat", "cat", 7],
  ["cat cat", "cat x cat", 1],
  ["cat cat zebra", "zebra cat cat", 3],
  ["cat dog cat dog", "dog cat dog cat", 2],
])("“%s” in “%s” is at most %j away", (words, text, distance) => {
  expect(distanceOf(words, text)).toBe(distance)
})

test.each([
  ["東京 タワー", "東京のタワー", 1],
  ["東京 タワー", "東京スカイタワー", 3],
  ["東京 タワー", "タワー東京", 5],
  ["東京 タワー", "京東タワー", 7],
  ["東京 タワー", "東 京タワー", 7],
  // Words without spaces hold together, and one as written needs no other.
  ["東京タワー", "東京タワー", 1],
  ["東京タワー", "東京のタワー", 7],
  // Words that differ may share a letter, equal ones may not.
  ["東京 京都", "東京都", 1],
  ["猫猫 猫猫", "猫猫猫", 7],
  ["猫猫 猫猫", "猫猫猫猫", 1],
])("“%s” in “%s”, without spaces, is at most %j away", (words, text, distance) => {
  expect(distanceOf(words, text)).toBe(distance)
})

test("a proximity ignores the skin tone of the post's emoji, but not the skin tone of its own", () => {
  expect(isNear("👍 cat", 1, "👍🏽 cat")).toBe(true)
  expect(isNear("👍🏽 cat", 1, "👍 cat")).toBe(false)
  expect(isNear("👍 👍🏽", 2, "👍🏽 👍")).toBe(true)
})

test("an empty proximity matches nothing", () => {
  expect(nearAt(tokenise("a b", "post"), [], 6, 0)).toBeUndefined()
  expect(hasNear([], wordsOf("a b"), 6)).toBe(false)
})

test("a found range contains all the words, and the search continues after it", () => {
  const tokens = tokenise("x media social x social media", "post")
  expect(nearAt(tokens, wordsOf("social media"), 2, 0)).toEqual({ from: 1, to: 3 })
  expect(nearAt(tokens, wordsOf("social media"), 2, 3)).toEqual({ from: 4, to: 6 })
  expect(nearAt(tokens, wordsOf("social media"), 2, 5)).toBeUndefined()
})

const parts = ["a", "b", "cat", "猫", "東京", "京都", "👍", "👍🏽"]

/** Words with those that must touch them, by the number of their first word. */
function blocksOf(words: readonly Word[]): ReadonlyMap<number, readonly Word[]> {
  const blocks = new Map<number, Word[]>()
  let first = 0
  for (const [index, word] of words.entries()) {
    if (!word.glued) first = index
    blocks.set(first, [...(blocks.get(first) ?? []), word])
  }
  return blocks
}

function isAt(block: readonly Word[], tokens: readonly Token[], place: number): boolean {
  return block.every((word, index) => {
    const token = tokens[place + index]
    if (token?.text !== word.text && token?.toneless !== word.text) return false
    return index === 0 || token.glued
  })
}

/** Tries every place of every word. */
function isNearByTrial(tokens: readonly Token[], words: readonly Word[], distance: number): boolean {
  const blocks = Array.from(blocksOf(words))
  const tried: { readonly key: string; readonly place: number; readonly length: number }[] = []
  const goOn = (moves: readonly number[]): boolean => {
    const [index, block] = blocks[moves.length] ?? []
    if (index === undefined || block === undefined) return Math.max(...moves) - Math.min(...moves) <= distance
    const key = block.map((word) => word.text).join()
    for (let place = 0; place < tokens.length; place++) {
      const isSupported = tried.some((other) => other.key === key && Math.abs(other.place - place) < other.length)
      if (isSupported || !isAt(block, tokens, place)) continue
      tried.push({ key, place, length: block.length })
      const isFound = goOn([...moves, place - index])
      tried.pop()
      if (isFound) return true
    }
    return false
  }
  return goOn([])
}

test("words are near each other if any choice of their positions is", () => {
  const some = (maxLength: number) =>
    fc
      .array(fc.tuple(fc.constantFrom(...parts), fc.constantFrom(" ", " ", "")), { minLength: 2, maxLength })
      .map((pairs) => pairs.flat().join(""))
  fc.assert(
    fc.property(some(4), some(10), fc.integer({ min: 1, max: nearDistanceMax }), (rule, text, distance) => {
      const [words, tokens] = [wordsOf(rule), tokenise(text, "post")]
      expect(hasNear(tokens, words, distance)).toBe(isNearByTrial(tokens, words, distance))
      const stretch = nearAt(tokens, words, distance, 0)
      if (!stretch) return
      // The stretch alone would do.
      expect(hasNear(tokens.slice(stretch.from, stretch.to), words, distance)).toBe(true)
    }),
    { numRuns: 3000 },
  )
})

test("the words of a phrase are near each other, and a larger distance finds whatever a smaller one finds", () => {
  const words = fc.array(fc.constantFrom(...parts), { minLength: 2, maxLength: 5 })
  fc.assert(
    fc.property(words, words, (rule, text) => {
      const found = distanceOf(rule.join(" "), text.join(" "))
      if (found <= nearDistanceMax) expect(isNear(rule.join(" "), nearDistanceMax, text.join(" "))).toBe(true)
      expect(isNear(rule.join(" "), 1, `x ${rule.join(" ")} y`)).toBe(true)
    }),
    { numRuns: 500 },
  )
})

test.each([
  ["a single word missing", "a ".repeat(31) + "b", "a "],
  ["one of two missing", "a ".repeat(30) + "b b", "a ".repeat(8) + "b "],
  ["tones", "👍 👍🏽 ".repeat(15) + "b b", "👍🏽 ".repeat(8) + "b "],
  ["letters without spaces", "猫".repeat(31) + " b", "猫"],
  ["letters with spaces", "猫猫 ".repeat(15) + "b b", "猫"],
])("32 words read few tokens each over 25,000 characters: %s", (_, rule, piece) => {
  const words = wordsOf(rule)
  expect(words).toHaveLength(nearWordsMax)
  const text = piece.repeat(Math.floor(25_000 / piece.length))
  const { list: tokens, reads } = counted(tokenise(text, "post"))
  expect(hasNear(tokens, words, nearDistanceMax)).toBe(false)
  expect(reads()).toBeLessThanOrEqual((tokens.length + words.length) * words.length * (nearDistanceMax + 1))
})
