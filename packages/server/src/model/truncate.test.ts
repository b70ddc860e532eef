import fc from "fast-check"
import { expect, test } from "vitest"
import { truncate, truncateParameter } from "./truncate.ts"

test.each([
  ["", ""],
  ["a".repeat(200), "a".repeat(200)],
  ["a".repeat(201), `${"a".repeat(199)}…`],
  ["😀".repeat(200), "😀".repeat(200)],
  ["😀".repeat(201), `${"😀".repeat(199)}…`],
  [`a${"😀".repeat(199)}`, `a${"😀".repeat(199)}`],
  [`a${"😀".repeat(200)}`, `a${"😀".repeat(198)}…`],
  [`\uD800${"a".repeat(200)}`, `\uFFFD${"a".repeat(198)}…`],
])("a text is cut at 200 characters, and no character is cut in half: %#", (text, expected) => {
  expect(truncate(text)).toBe(expected)
})

test("each value of a parameter's list is cut, and a list of a hundred ids is kept whole", () => {
  expect(truncateParameter(`1,${"a".repeat(201)},2`)).toBe(`1,${"a".repeat(199)}…,2`)
  const ids = Array.from({ length: 100 }, () => "1".repeat(19)).join(",")
  expect(truncateParameter(ids)).toBe(ids)
  expect(truncateParameter(`${ids},${ids}`)).toBe(`${ids},${ids}`.slice(0, 2_099).concat("…"))
})

test("a long text is cut as the obvious implementation cuts it", () => {
  const texts = fc.string({ unit: fc.constantFrom("a", "é", "😀"), minLength: 150, maxLength: 450 })
  fc.assert(
    fc.property(texts, (text) => {
      const characters = Array.from(text)
      expect(truncate(text)).toBe(characters.length <= 200 ? text : `${characters.slice(0, 199).join("")}…`)
    }),
  )
})
