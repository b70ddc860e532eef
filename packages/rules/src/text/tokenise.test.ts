import fc from "fast-check"
import { expect, test } from "vitest"
import { fold } from "./fold.ts"
import { tokenise } from "./tokenise.ts"

/** The tokens of a post's text; `+` before those glued to the one before. */
function tokensOf(text: string): readonly string[] {
  return tokenise(text, "post").map((token) => (token.glued ? "+" : "") + token.text)
}

test.each<[string, string, readonly string[]]>([
  ["punctuation separates", "don't, I like coca-cola!", ["don", "t", "i", "like", "coca", "cola"]],
  ["an underscore separates", "@happy_yed #HAPPY_BIRTH_DAY", ["happy", "yed", "happy", "birth", "day"]],
  ["digits stay with letters", "covid19 GPT3 2021", ["covid19", "gpt3", "2021"]],
  ["a change of script separates", "iPhoneケース Москваcity", ["iphone", "ケ", "+ー", "+ス", "москва", "city"]],
  ["diacritics stay", "É e\u0301 e", ["é", "é", "e"]],
  ["case folds in full", "STRASSE ΟΔΟΣ οδος ǅ İı", ["strasse", "οδοσ", "οδοσ", "ǆ", "i̇ı"]],
  ["letters of a script without spaces are tokens each", "猫が好き", ["猫", "+が", "+好", "+き"]],
  ["a space or comma between such letters unglues them", "東 京、都", ["東", "京", "都"]],
  ["marks stay with their letter", "สวัสดี", ["ส", "+วั", "+ส", "+ดี"]],
  ["digits between such letters are a token", "2021年1月", ["2021", "年", "1", "月"]],
  ["Korean is written with spaces", "고양이가 좋아", ["고양이가", "좋아"]],
  ["HTML escapes are one character", "AT&amp;T a&lt;b &gt; &amp;amp;", ["at", "t", "a", "b", "amp"]],
  ["other escapes are text", "&quot;a", ["quot", "a"]],
  ["shortened links are gaps", "a https://t.co/XXitK36prP b http://t.co", ["a", "", "b", ""]],
  [
    "other links are text",
    "https://t.com/x t.co https://t.co.uk",
    ["https", "t", "com", "x", "t", "co", "https", "t", "co", "uk"],
  ],
  ["zero-width space and ellipsis separate", "a\u200bb…c", ["a", "b", "c"]],
  ["an emoji glued to letters is a token", "good🍕day", ["good", "🍕", "day"]],
  ["emoji glued to each other are tokens", "🍕🍕❤️🔥", ["🍕", "🍕", "❤", "🔥"]],
  ["a joined sequence is one emoji", "👨‍👩‍👧‍👦👩🏽‍💻", ["👨‍👩‍👧‍👦", "👩🏽‍💻"]],
  ["flags are pairs", "🇫🇷🇩🇪🏴󠁧󠁢󠁥󠁮󠁧󠁿🏳️‍🌈", ["🇫🇷", "🇩🇪", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "🏳‍🌈"]],
  ["keycaps are emoji, bare digits are not", "1️⃣2 #️⃣3", ["1⃣", "2", "#⃣", "3"]],
  ["typographic signs with a variation selector are emoji", "Nike® a©️b", ["nike", "a", "©", "b"]],
  ["halves of a pair separate", "a\ud800b", ["a", "b"]],
  ["nothing comes of nothing", " …!?", []],
])("%s", (_, text, tokens) => {
  expect(tokensOf(text)).toEqual(tokens)
})

test("an emoji with a skin tone is also found without it", () => {
  expect(tokenise("👍🏽👩🏽‍💻👍", "post").map((token) => token.toneless)).toEqual(["👍", "👩‍💻", undefined])
})

test("the text of a rule is read without HTML escapes and short links", () => {
  expect(tokenise("AT&amp;T https://t.co/x", "rule").map((token) => token.text)).toEqual([
    "at",
    "amp",
    "t",
    "https",
    "t",
    "co",
    "x",
  ])
})

test("offsets are code points of the original text", () => {
  const text = "𝒳🍕 &amp; https://t.co/Ab1 猫é e\u0301x 👩🏽‍💻 end"
  const points = Array.from(text)
  for (const { text: token, start, end } of tokenise(text, "post")) {
    const there = points.slice(start, end).join("")
    expect(token === "" ? there : fold(there).replaceAll("\ufe0f", "")).toBe(token === "" ? "https://t.co/Ab1" : token)
  }
})

test("tokens are in order, without overlap, and within the text", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 60 }), (text) => {
      let end = 0
      for (const token of tokenise(text, "post")) {
        expect(token.start).toBeGreaterThanOrEqual(end)
        expect(token.end).toBeGreaterThan(token.start)
        end = token.end
      }
      expect(end).toBeLessThanOrEqual(Array.from(text).length)
    }),
    { numRuns: 1500 },
  )
})

test("folding is idempotent and ignores case", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 20 }), (text) => {
      const folded = fold(text)
      expect(fold(folded)).toBe(folded)
      expect(fold(text.toLowerCase())).toBe(folded.includes("ı") ? fold(text.toLowerCase()) : folded)
    }),
    { numRuns: 1500 },
  )
})
