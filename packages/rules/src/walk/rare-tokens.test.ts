import fc from "fast-check"
import { expect, test } from "vitest"
import { fold, foldedUnit, needsWholeFold } from "../text/fold.ts"
import { tokenise, type TextKind } from "../text/tokenise.ts"
import { JsonTape } from "./json-tape.ts"
import { readRareTokens } from "./rare-tokens.ts"
import { TermTexts } from "./term-texts.ts"
import { tokenSlots } from "./walk-layout.ts"

const tape = new JsonTape()
const texts = new TermTexts(tape.module)
readRareTokens(tape.module, texts)

/** The tokens of the text as units find them, in the form of `tokenise`. */
function tokensOf(text: string, kind: TextKind): readonly unknown[] {
  // After another text, as it stands in the walk.
  tape.releaseUnits(0)
  tape.writeText("c")
  const textBegin = tape.unitsCount
  texts.clear()
  texts.addTokens(textBegin, tape.writeText(text), kind)
  return Array.from({ length: texts.tokensCount }, (_, token) => {
    const [begin = 0, end = 0, tonelessEnd = 0] = texts.tokens.subarray(token * tokenSlots)
    const textOf = (from: number, to: number): string => String.fromCharCode(...texts.units.subarray(from, to))
    const textEnd = end >>> 1
    const toneless = tonelessEnd > textEnd ? textOf(textEnd + (textEnd & 1), tonelessEnd) : ""
    return [textOf(begin, textEnd), (end & 1) === 1, toneless]
  })
}

const pieces = [
  "cat",
  "CAT",
  "1",
  "#",
  "*",
  "&amp;",
  "&lt;",
  "&",
  "https://t.co/aB1",
  "HTTP://T.CO",
  "https://t.company",
  "http",
  "://",
  ".",
  "/",
  "-",
  " ",
  "é",
  "e\u0301",
  "É",
  "ß",
  "İ",
  "ı",
  "Σ",
  "ς",
  "ΟΔΟΣ",
  "д",
  "Ж",
  "猫",
  "カ",
  "ｶ",
  "\u3099",
  "豈",
  "สวัส",
  "한",
  "\u1112\u1161",
  "שָׁ",
  "می\u200Cخ",
  "👍",
  "🏽",
  "\uFE0F",
  "\u20E3",
  "\u200D",
  "💻",
  "🇫",
  "🇷",
  "©",
  "ℹ",
  "™",
  "❤",
  "\u{E0067}",
  "𝒞",
  "𠮷",
  "\ud83d",
  "\udc4d",
  "\ud83c",
  "\u0000",
  "ʰ",
  "²",
  "٣",
  "＃",
  "\u00AD",
  "\u200B",
  "’s",
  "…",
  "“",
  "\u200F",
  "\u2028",
  "𐐀",
]

test("units have the tokens of the text", () => {
  const anyText = fc.oneof(
    { weight: 4, arbitrary: fc.array(fc.constantFrom(...pieces), { maxLength: 12 }).map((some) => some.join("")) },
    { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 20 }) },
  )
  fc.assert(
    fc.property(anyText, fc.constantFrom("post", "rule"), (text, kind) => {
      const expected = tokenise(text, kind).map(({ text: word, glued, toneless = "" }) => [word, glued, toneless])
      expect(tokensOf(text, kind)).toEqual(expected)
    }),
    { numRuns: 2000 },
  )
})

test("a text of units that fold on their own is folded unit by unit", () => {
  const alone = Array.from({ length: 0xffff }, (_, unit) => unit).filter((unit) => foldedUnit(unit) !== needsWholeFold)
  expect(alone.length).toBeGreaterThan(50_000)
  const neighbours = Array.from("aΣςσıIſКﬁ가ア猫\u00C5\u212B", (text) => text.charCodeAt(0))
  for (const unit of alone) {
    for (const other of neighbours.filter((one) => foldedUnit(one) !== needsWholeFold)) {
      const text = String.fromCharCode(other, unit, other)
      const folded = String.fromCharCode(foldedUnit(other), foldedUnit(unit), foldedUnit(other))
      if (fold(text) !== folded) expect(fold(text), `unit ${unit} beside ${other}`).toBe(folded)
    }
  }
})
