/*
 * The tokeniser against the test data of Unicode: emoji are one token each, tokens do not cut what readers see as
 * one character, and what Unicode takes for a word is one token, but for what X measurably does otherwise. An
 * exception lists each difference, and an exception that is not needed fails.
 *
 * The data lies next to the repository, so these tests are skipped where it is not, except in CI.
 */

import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, test } from "vitest"
import { tokenise, type Token } from "./tokenise.ts"

const shared = process.env["SLUICE_SHARED"] ?? fileURLToPath(new URL("../../../../../shared", import.meta.url))
const folder = join(shared, "data/text")
const isThere = existsSync(join(folder, "emoji-test.txt"))
const isSkipped = !isThere && process.env["CI"] === undefined
if (isSkipped) console.warn(`skipped: no Unicode data in ${folder}; set SLUICE_SHARED to the folder that holds data/`)

function dataOf(file: string): readonly string[] {
  return readFileSync(join(folder, file), "utf8")
    .split("\n")
    .filter((line) => /^[0-9A-F÷]/.test(line))
}

function tokensOf(text: string): readonly string[] {
  return tokenise(text, "rule").map((token) => token.text)
}

test.each<[string, string, readonly string[]]>([
  ["a joiner within a word is no end of it", "ශ්\u200Dරී ක්\u200Dෂ", ["ශ්රී", "ක්ෂ"]],
  ["nor is a non-joiner", "می\u200Cخواهم", ["میخواهم"]],
  ["nor is a soft hyphen, a word joiner or a mark of direction", "a\u00ADb c\u2060d \u200Ee\u200F", ["ab", "cd", "e"]],
  ["a zero-width space is one", "a\u200Bb", ["a", "b"]],
  ["a joiner does not unglue letters of a script without spaces", "東\u2060京", ["東", "京"]],
  ["a joiner by itself is nothing", "\u200D \u200C \u00AD", []],
  ["the sign for information is an emoji within a word too", "aℹ️bℹ️ℹ️", ["a", "ℹ", "b", "ℹ", "ℹ"]],
])("%s", (_, text, tokens) => {
  expect(tokensOf(text)).toEqual(tokens)
})

test("letters of a script without spaces stay glued across a joiner, and not across a zero-width space", () => {
  expect(tokenise("東\u2060京\u200B都", "rule").map((token) => token.glued)).toEqual([false, true, false])
})

type Emoji = { readonly emoji: string; readonly status: string; readonly name: string }

/** Lines such as `1F44D 1F3FD ; fully-qualified # 👍🏽 E1.0 thumbs up: medium skin tone`. */
function emojiData(): readonly Emoji[] {
  return dataOf("emoji-test.txt").map((line) => {
    const [, codes = "", status = "", name = ""] = /^([0-9A-F ]+?) +; ([a-z-]+) +# \S+ \S+ (.+)$/.exec(line) ?? []
    return { emoji: textOf(codes), status, name }
  })
}

function textOf(codes: string): string {
  return String.fromCodePoint(...codes.split(" ").map((code) => Number.parseInt(code, 16)))
}

/** Typographic signs, which are emoji only with a variation selector. ℹ without one is a letter. */
const typography = new Set(["‼", "⁉", "©", "®", "™", "ℹ"])

/** Half an emoji, which is meaningless without the one before it. */
const isSkinTone = ({ emoji }: Emoji) => /^\p{EMod}$/u.test(emoji)

describe.skipIf(isSkipped)("the emoji of Unicode", () => {
  const all = isThere ? emojiData() : []
  const whole = all.filter((one) => !typography.has(one.emoji) && !isSkinTone(one))
  const nameOf = ({ emoji }: Emoji) => emoji.replaceAll(/[\uFE0E\uFE0F]/g, "")

  test("every emoji except six typographic signs and five skin tones is in the data", () => {
    expect(all.length).toBeGreaterThan(5000)
    expect(all.filter((one) => one.status === "fully-qualified").length).toBeGreaterThan(3900)
    expect(all.length - whole.length).toBe(typography.size + 5)
    expect(all.filter((one) => !whole.includes(one)).map((one) => one.status)).not.toContain("fully-qualified")
  })

  test("each emoji is one token: its characters without variation selectors", () => {
    expect(whole.filter((one) => tokensOf(one.emoji).join() !== nameOf(one))).toEqual([])
  })

  test("each emoji is one token between letters and between digits", () => {
    const broken = whole.filter((one) => tokensOf(`a${one.emoji}b`).join() !== `a,${nameOf(one)},b`)
    expect(broken).toEqual([])
    // A keycap's digit, unlike other digits, does not belong to the number before it.
    expect(whole.filter((one) => tokensOf(`1${one.emoji}2`).join() !== `1,${nameOf(one)},2`)).toEqual([])
  })

  test("each emoji is one token between equal and other emoji", () => {
    for (const [index, one] of whole.entries()) {
      const next = whole[(index + 1) % whole.length] ?? one
      for (const [left, right] of [
        [one, one],
        [one, next],
        [next, one],
      ] as const) {
        // A sign of typography is an emoji through its selector, which is the last of the left and not lost.
        expect(tokensOf(left.emoji + right.emoji)).toEqual([nameOf(left), nameOf(right)])
      }
    }
  })

  test("each emoji with a skin tone is also found without it", () => {
    for (const one of whole) {
      const [token] = tokenise(one.emoji, "rule")
      const toneless = nameOf(one).replaceAll(/\p{EMod}/gu, "")
      expect(token?.toneless ?? nameOf(one)).toBe(toneless)
      expect(toneless !== nameOf(one)).toBe(one.name.includes("skin tone"))
    }
  })

  test("typographic signs without a variation selector are not emoji", () => {
    expect(tokensOf("a‼b⁉c©d®e™f")).toEqual(["a", "b", "c", "d", "e", "f"])
    expect(tokensOf("aℹb")).toEqual(["aℹb"])
  })
})

/** The characters of a line such as `÷ 0061 × 0308 ÷ 0020 ÷ # …`, and before which of them it may be cut. */
type BreakCase = { readonly characters: readonly string[]; readonly breaks: ReadonlySet<number> }

function breakCases(file: string): readonly BreakCase[] {
  return dataOf(file).map((line) => {
    const characters: string[] = []
    const breaks = new Set<number>()
    for (const part of line.replace(/#.*/, "").trim().split(/\s+/)) {
      if (part === "÷") breaks.add(characters.length)
      else if (part !== "×") characters.push(textOf(part))
    }
    return { characters, breaks }
  })
}

const isLetter = (character: string) => /[\p{L}\p{N}]/u.test(character)
const isUnsegmented = (character: string) =>
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]/u.test(character)

const scripts = ["Latin", "Greek", "Hebrew", "Arabic", "Syriac", "Hangul", "Devanagari", "Bengali", "Gujarati"]

/** "" of digits and of letters of no script in particular. */
function scriptOf(character: string): string {
  if (!/\p{L}/u.test(character) || /[\p{Script=Common}\p{Script=Inherited}]/u.test(character)) return ""
  return scripts.find((script) => new RegExp(`\\p{Script=${script}}`, "u").test(character)) ?? "another"
}

/** The script of the last letter that has one. */
const lastScript = (characters: readonly string[]) => characters.map(scriptOf).findLast((one) => one !== "")

/** Counts what each rule excused. */
class Excuses<Case> {
  readonly counts = new Map<string, number>()
  readonly #rules: Readonly<Record<string, (one: Case) => boolean>>

  constructor(rules: Readonly<Record<string, (one: Case) => boolean>>) {
    this.#rules = rules
    for (const name of Object.keys(rules)) this.counts.set(name, 0)
  }

  excuse(one: Case): boolean {
    const rule = Object.entries(this.#rules).find(([, holds]) => holds(one))
    if (rule !== undefined) this.counts.set(rule[0], (this.counts.get(rule[0]) ?? 0) + 1)
    return rule !== undefined
  }

  get idle(): readonly string[] {
    return Array.from(this.counts.keys()).filter((name) => this.counts.get(name) === 0)
  }
}

describe.skipIf(isSkipped)("the grapheme clusters of Unicode", () => {
  /** A cluster that a token begins or ends in: the characters before the cut and after it. */
  type Cut = { readonly before: readonly string[]; readonly after: readonly string[] }

  const isSign = (character = "") => /[\p{M}\p{Cf}]/u.test(character)
  const isEmoji = (character = "") => /[\p{Extended_Pictographic}\p{RI}]/u.test(character)

  const rules = {
    "a token begins with a letter, digit or emoji: signs before it in its cluster belong to none": ({ before }: Cut) =>
      !before.some((one) => isLetter(one) || isEmoji(one)),
    "marks and joiners put on an emoji are not part of its name, nor do they join it to the next": ({
      before,
      after,
    }: Cut) =>
      (isEmoji(before.findLast((one) => !/\p{EMod}/u.test(one))) && isSign(after[0])) ||
      (before.some(isEmoji) && isSign(before.at(-1)) && isEmoji(after[0])),
    "a skin tone on a letter is not part of the word": ({ after }: Cut) => /\p{EMod}/u.test(after[0] ?? ""),
    "letters of scripts without spaces are a token each, also where a mark binds them": ({ after }: Cut) =>
      isUnsegmented(after[0] ?? ""),
    "a change of script splits, also where a mark binds the letters": ({ before, after }: Cut) =>
      isLetter(after[0] ?? "") && lastScript(before) !== scriptOf(after[0] ?? ""),
  }

  test("no token begins or ends inside a grapheme cluster, with listed exceptions", () => {
    const excuses = new Excuses<Cut>(rules)
    const cases = breakCases("GraphemeBreakTest.txt")
    let boundaries = 0
    for (const { characters, breaks } of cases) {
      for (const token of tokenise(characters.join(""), "rule")) {
        for (const at of [token.start, token.end]) {
          boundaries++
          if (breaks.has(at)) continue
          const sorted = Array.from(breaks)
          const from = sorted.findLast((one) => one < at) ?? 0
          const to = sorted.find((one) => one > at) ?? characters.length
          const cut = { before: characters.slice(from, at), after: characters.slice(at, to) }
          expect(excuses.excuse(cut), `${JSON.stringify(characters)} at ${at}`).toBe(true)
        }
      }
    }
    const excused = Array.from(excuses.counts.values()).reduce((sum, count) => sum + count, 0)
    console.info(`token boundaries inside a cluster, by rule: ${excused} of ${boundaries}`, excuses.counts)
    expect(cases.length).toBeGreaterThan(800)
    expect(boundaries).toBeGreaterThan(900)
    expect(excused / boundaries).toBeLessThan(0.06)
    expect(excuses.idle).toEqual([])
  })
})

describe.skipIf(isSkipped)("the words of Unicode", () => {
  /** Two letters or digits with nothing but other characters between them, in one word by Unicode. */
  type Pair = {
    /** The word up to and with the left one. */
    readonly before: readonly string[]
    readonly left: string
    readonly between: readonly string[]
    readonly right: string
  }

  // Differences that X demonstrably has, or that the tokeniser has by design (see the head of its file).
  const rules = {
    "an underscore splits": ({ between }: Pair) => between.includes("_"),
    "apostrophes, periods, colons, commas and quotation marks split": ({ between }: Pair) =>
      between.some((one) => /['.:,"]/.test(one)),
    "scripts without spaces are a token for each letter": ({ left, right }: Pair) =>
      isUnsegmented(left) || isUnsegmented(right),
    "a change of script splits": ({ before, right }: Pair) => {
      const script = lastScript(before)
      return script !== undefined && scriptOf(right) !== "" && script !== scriptOf(right)
    },
    "visible signs that are no letters split, such as the Syriac one of abbreviation": ({ between }: Pair) =>
      between.some((one) => /(?=\p{Cf})\P{Default_Ignorable_Code_Point}/u.test(one)),
  }

  const tokenAt = (tokens: readonly Token[], at: number) =>
    tokens.findIndex((token) => token.start <= at && at < token.end)

  test("letters and digits are joined as by Unicode, with listed exceptions, and never where Unicode splits", () => {
    const excuses = new Excuses<Pair>(rules)
    const cases = breakCases("WordBreakTest.txt")
    let joined = 0
    let split = 0
    let casesOfLetters = 0
    let casesExcused = 0
    for (const { characters, breaks } of cases) {
      const tokens = tokenise(characters.join(""), "rule")
      const letters = characters.flatMap((one, at) => (isLetter(one) ? [at] : []))
      if (letters.length > 0) casesOfLetters++
      // Every letter and digit is in some token.
      expect(letters.map((at) => tokenAt(tokens, at))).not.toContain(-1)
      let isExcused = false
      for (const [index, at] of letters.slice(1).entries()) {
        const from = letters[index] ?? 0
        const isOneWord = !Array.from(breaks).some((one) => one > from && one <= at)
        const isOneToken = tokenAt(tokens, from) === tokenAt(tokens, at)
        const wordStart = Array.from(breaks).findLast((one) => one <= from) ?? 0
        const pair = {
          before: characters.slice(wordStart, from + 1),
          left: characters[from] ?? "",
          between: characters.slice(from + 1, at),
          right: characters[at] ?? "",
        }
        if (isOneWord && excuses.excuse(pair)) {
          isExcused = true
          expect(isOneToken, `${JSON.stringify(characters)} at ${at}`).toBe(false)
        } else {
          expect(isOneToken, `${JSON.stringify(characters)} at ${at}`).toBe(isOneWord)
          if (isOneWord) joined++
          else split++
        }
      }
      if (isExcused) casesExcused++
    }
    console.info(
      `words of Unicode: ${casesOfLetters} cases with letters, ${casesExcused} of them excused;`,
      `as Unicode does, ${joined} pairs joined and ${split} split; by rule split:`,
      excuses.counts,
    )
    expect(casesOfLetters).toBeGreaterThan(1300)
    expect(casesExcused / casesOfLetters).toBeLessThan(0.13)
    expect(joined).toBeGreaterThan(90)
    expect(split).toBeGreaterThan(200)
    expect(excuses.idle).toEqual([])
  })

  test("a mark or joiner is in the token of the letter before it, except between words", () => {
    let followed = 0
    for (const { characters, breaks } of breakCases("WordBreakTest.txt")) {
      const tokens = tokenise(characters.join(""), "rule")
      for (let at = 1; at < characters.length; at++) {
        const isJoiner = /^(?:\p{M}|(?=\p{Cf})\p{Default_Ignorable_Code_Point})$/u.test(characters[at] ?? "")
        const token = tokenAt(tokens, at - 1)
        if (!isJoiner || token < 0 || breaks.has(at) || !isLetter(characters[at - 1] ?? "")) continue
        followed++
        expect(tokenAt(tokens, at), JSON.stringify(characters)).toBe(token)
      }
    }
    expect(followed).toBeGreaterThan(250)
  })
})
