import { expect, test } from "vitest"
import { isCountry, nearestCountry } from "./countries.ts"

test.each(["US", "us", "Gb", "DE", "JP", "TR", "XK", "AQ", "ZW", "AD"])("%s is a country", (code) => {
  expect(isCountry(code)).toBe(true)
})

test.each(["", "UK", "EU", "XX", "ZZ", "USA", "U", "1A", "germany", "U S", "TRT", "ＵＳ", "constructor", "__proto__"])(
  "%j is no country",
  (code) => {
    expect(isCountry(code)).toBe(false)
  },
)

test("the countries are the 249 codes of ISO 3166-1 and Kosovo", () => {
  const letters = Array.from("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
  const codes = letters.flatMap((first) => letters.map((second) => first + second))
  const known = codes.filter(isCountry)
  expect(known).toHaveLength(250)
  // The names in English of codes that are in use differ from the codes.
  const names = new Intl.DisplayNames("en", { type: "region", fallback: "code" })
  expect(known.filter((code) => names.of(code) === code)).toEqual([])
})

test.each([
  ["UK", "GB"],
  ["uk", "GB"],
  ["USA", "US"],
  ["Germany", "DE"],
  ["JPN", "JP"],
  ["en", "GB"],
])("%s gets the suggestion %s", (code, meant) => {
  expect(nearestCountry(code)).toBe(meant)
  expect(isCountry(meant)).toBe(true)
})

test.each(["", "xx1", "xx", "toString", "__proto__", "hasOwnProperty"])("%j gets no suggestion", (code) => {
  expect(nearestCountry(code)).toBeUndefined()
})
