import fc from "fast-check"
import { expect, test } from "vitest"
import { cpuMs } from "../testing/cpu-time.testing.ts"
import { counted } from "../testing/counted.testing.ts"
import { hasPhrase, isFound, phraseAt } from "./phrase.ts"
import { wordsOf, type Word } from "./words.ts"
import { tokenise, type Token } from "./tokenise.ts"

const phraseIn = (words: string, text: string) => phraseAt(tokenise(text, "post"), wordsOf(words), 0)

test.each([
  ["cat", "a cat", 1],
  ["a cat", "a a cat", 1],
  ["a b a b c", "a b a b a b c", 2],
  ["cat dog", "cat x dog", -1],
  ["cat dog", "dog cat", -1],
  ["cat dog", "cat", -1],
  ["cat dog", "cat https://t.co/a1 dog", -1],
  ["東京", "今日は東京です", 3],
  ["東京", "東 京", -1],
  ["東 京", "東京", 0],
  ["👍 👍", "👍 👍🏽 👍", 0],
  ["👍🏽 👍", "👍 👍🏽 👍", 1],
  ["", "cat", -1],
  ["cat", "", -1],
])("“%s” begins in “%s” at token %i", (words, text, at) => {
  expect(phraseIn(words, text)).toBe(at)
})

test("a word matches the text of a token with or without skin tone, and a glued word only a glued token", () => {
  const token = { text: "👍🏽", toneless: "👍", glued: false, start: 0, end: 2 }
  expect(isFound({ text: "👍🏽", glued: false }, token)).toBe(true)
  expect(isFound({ text: "👍", glued: false }, token)).toBe(true)
  expect(isFound({ text: "👍", glued: true }, token)).toBe(false)
  expect(isFound({ text: "👍", glued: true }, { ...token, glued: true })).toBe(true)
  expect(isFound({ text: "👍🏿", glued: false }, token)).toBe(false)
})

/** The plain definition. */
function phraseByDefinition(tokens: readonly Token[], words: readonly Word[], from: number): number {
  if (words.length === 0) return -1
  return tokens.findIndex(
    (_, at) =>
      at >= from &&
      words.every((word, index) => {
        const token = tokens[at + index]
        return token !== undefined && isFound(word, token)
      }),
  )
}

const names = ["a", "b", "👍", "👍🏽", "👍🏿"]
const anyWord: fc.Arbitrary<Word> = fc.record({
  text: fc.constantFrom(...names),
  glued: fc.boolean(),
})
const anyToken: fc.Arbitrary<Token> = fc
  .record({ text: fc.constantFrom(...names, ""), glued: fc.boolean(), start: fc.nat(9), end: fc.nat(9) })
  .map((token) => (/^👍./u.test(token.text) ? { ...token, toneless: "👍" } : token))

/** Tokens that contain the words at some position, perhaps with one of them changed. */
const tokensAround = (words: readonly Word[]): fc.Arbitrary<readonly Token[]> =>
  fc
    .tuple(fc.array(anyToken, { maxLength: 40, size: "max" }), fc.array(anyToken, { maxLength: 8 }), fc.nat(), anyToken)
    .map(([before, after, spoilt, other]) => {
      const at = { start: 0, end: 0 }
      const there = words.map(({ text, glued }) =>
        text === "👍" ? { text: "👍🏽", toneless: text, glued, ...at } : { text, glued, ...at },
      )
      const tokens: Token[] = [...before, ...there, ...after]
      if (spoilt % 2 === 0 && tokens.length > 0) tokens[spoilt % tokens.length] = other
      return tokens
    })

const lengths = [1, 2, 31, 32, 33, 34, 63, 64, 65, 96, 97, 130]

test.each(lengths)("a phrase of %i words is found where the definition says", (length) => {
  const someWords = fc.array(anyWord, { minLength: length, maxLength: length })
  fc.assert(
    fc.property(
      someWords.chain((words) => fc.tuple(fc.constant(words), tokensAround(words), fc.nat(4))),
      ([words, tokens, from]) => {
        const expected = phraseByDefinition(tokens, words, from)
        expect(phraseAt(tokens, words, from)).toBe(expected)
        if (from === 0) expect(hasPhrase(tokens, words)).toBe(expected >= 0)
      },
    ),
    { numRuns: 200 },
  )
})

test.each(lengths)("a repetitive phrase of %i words is found where the definition says", (length) => {
  // Two texts only, so that a phrase begins over and over before it ends.
  const mostly = (rare: number) => fc.nat(40).map((at) => (at < rare ? "b" : "a"))
  const tokensOf = (texts: readonly string[]) => texts.map((text): Token => ({ text, glued: false, start: 0, end: 0 }))
  fc.assert(
    fc.property(
      fc.array(mostly(1), { minLength: length, maxLength: length }),
      fc.array(mostly(1), { maxLength: 300, size: "max" }),
      (texts, before) => {
        const words = texts.map((text) => ({ text, glued: false }))
        const tokens = tokensOf([...before, ...texts])
        expect(phraseAt(tokens, words, 0)).toBe(phraseByDefinition(tokens, words, 0))
      },
    ),
    { numRuns: 100 },
  )
})

test("a short phrase reads each token at most once per word, a long one once", () => {
  const tokens = tokenise("a ".repeat(12_500), "post")
  for (const length of [2, 16, 32, 33, 500, 1024]) {
    const words = wordsOf(`${"a ".repeat(length - 1)}b`)
    const { list, reads } = counted(tokens)
    expect(hasPhrase(list, words)).toBe(false)
    expect(reads()).toBeLessThanOrEqual(tokens.length * (length <= 32 ? length : 1))
  }
})

test("a repetitive phrase of a thousand words takes milliseconds over 25,000 repetitive characters", () => {
  const tokens = tokenise("a ".repeat(12_500), "post")
  const words = wordsOf(`${"a ".repeat(1023)}b`)
  // Fifty times the usual time; comparing at every token would read twelve million.
  expect(cpuMs(() => hasPhrase(tokens, words))).toBeLessThan(500)
})
