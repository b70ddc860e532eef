import { expect, test } from "vitest"
import { isLanguage, languageKey, nearestLanguage } from "./languages.ts"

test.each(["en", "EN", "ja", "iw", "he", "in", "id", "zh", "zh-CN", "zh-TW", "hi-Latn", "ckb", "und", "art", "zxx"])(
  "%s is a language",
  (code) => {
    expect(isLanguage(code)).toBe(true)
  },
)

test("X's codes for posts without words are languages", () => {
  for (const code of ["qam", "qct", "qht", "qme", "qst", "zxx", "und"]) expect(isLanguage(code)).toBe(true)
})

test.each(["", "xx", "jp", "english", "en-US", "zh-HK", "e", "en ", "constructor", "__proto__"])(
  "%j is no language",
  (code) => {
    expect(isLanguage(code)).toBe(false)
  },
)

test.each([
  ["EN", "en"],
  ["he", "iw"],
  ["IW", "iw"],
  ["id", "in"],
  ["in", "in"],
  ["zh-TW", "zh-tw"],
  ["constructor", "constructor"],
  ["__proto__", "__proto__"],
])("%s is compared as %s", (code, key) => {
  expect(languageKey(code)).toBe(key)
})

test.each([
  ["jp", "ja"],
  ["JP", "ja"],
  ["cz", "cs"],
  ["us", "en"],
  ["Japanese", "ja"],
  ["englsh", undefined],
  ["eng", "en"],
  ["en-US", "en"],
  ["en_GB", "en"],
  ["zh-HK", "zh"],
  ["zh-twn", "zh"],
  ["xx", undefined],
  ["x", undefined],
  ["", undefined],
  ["qqq", undefined],
  ["__proto__", undefined],
])("%j gets the suggestion %j", (code, meant) => {
  expect(nearestLanguage(code)).toBe(meant)
})

test("every suggestion is a language", () => {
  const letters = Array.from("abcdefghijklmnopqrstuvwxyz")
  const pairs = letters.flatMap((first) => letters.map((second) => first + second))
  const codes = pairs.flatMap((pair) => [pair, `${pair}a`, `${pair}-XY`, `${pair}rman`])
  const suggested = codes.filter((code) => !isLanguage(code)).flatMap((code) => nearestLanguage(code) ?? [])
  expect(suggested.length).toBeGreaterThan(300)
  expect(suggested.filter((code) => !isLanguage(code))).toEqual([])
})
