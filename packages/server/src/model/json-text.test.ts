import fc from "fast-check"
import { expect, test } from "vitest"
import { elementsOf, membersOf, objectOf, repeatedMember } from "./json-text.ts"

function parsed(members: ReadonlyMap<string, string>): unknown {
  return Object.fromEntries([...members].map(([name, json]) => [name, JSON.parse(json) as unknown]))
}

const indents = fc.constantFrom(undefined, 1, "\t")

test("the members of an object are what JSON.parse finds in it", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), indents, (object, indent) => {
      const json = JSON.stringify(object, undefined, indent)
      expect(parsed(membersOf(json))).toEqual(JSON.parse(json))
    }),
  )
})

test("the elements of an array are what JSON.parse finds in it", () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue()), indents, (array, indent) => {
      const json = JSON.stringify(array, undefined, indent)
      expect(elementsOf(json).map((element) => JSON.parse(element) as unknown)).toEqual(JSON.parse(json))
    }),
  )
})

test("an object is the same after taking it apart and putting it together", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (object) => {
      const json = JSON.stringify(object)
      expect(objectOf(membersOf(json))).toBe(json)
    }),
  )
})

test.each([
  [
    "a number keeps the digits that a double loses",
    '{"n":12345678901234567890}',
    "n",
    "12345678901234567890",
  ],
  ["a number beyond a double stays a number", '{"n":1e400}', "n", "1e400"],
  ["an escaped name is its plain one", String.raw`{"\u0069d":1}`, "id", "1"],
  ["of a name that comes twice the last counts", '{"a":1,"a":2}', "a", "2"],
  ["a brace in a string closes nothing", '{"a":{"b":"}"},"c":1}', "c", "1"],
  ["a quote after a backslash closes nothing", String.raw`{"a":"\\\"}","c":1}`, "c", "1"],
  ["a backslash before the closing quote is not half of an escape", String.raw`{"a":"\\","c":1}`, "c", "1"],
  ["__proto__ is a name as any other", '{"__proto__":{"id":"1"}}', "__proto__", '{"id":"1"}'],
])("%s", (_, json, name, value) => {
  expect(membersOf(json).get(name)).toBe(value)
})

test("a member that stands twice is found, in an object and in its inner one, and nowhere else", () => {
  const name = fc.constantFrom("data", "id", "a", "data.id", "é\n", "__proto__")
  const names = fc.array(name, { maxLength: 4 })
  fc.assert(
    fc.property(names, names, (outer, inner) => {
      const value = `{${inner.map((one) => `${JSON.stringify(one)} : [{"x":1},"x"]`).join(" ,")}}`
      const text = `{ ${outer.map((one) => `${JSON.stringify(one)}: ${value}`).join(",")} }`
      const read = JSON.parse(text) as { readonly data?: object }
      const distinct = Object.keys(read).length + Object.keys(read.data ?? {}).length
      const isRepeated =
        new Set(outer).size < outer.length || (outer.includes("data") && new Set(inner).size < inner.length)
      expect(repeatedMember(text, "data", distinct) !== undefined).toBe(isRepeated)
    }),
  )
})

test("half a million brackets are taken apart without a call for each", () => {
  const deep = `${"[".repeat(500_000)}${"]".repeat(500_000)}`
  expect(membersOf(`{"deep":${deep},"id":"1"}`).get("id")).toBe('"1"')
  expect(elementsOf(deep)).toHaveLength(1)
})

test("no text, JSON or not, is walked for ever", () => {
  const parts = fc.constantFrom("{", "}", "[", "]", '"', ",", ":", "a", "1", " ", "null")
  fc.assert(
    fc.property(fc.array(parts, { maxLength: 30 }), (texts) => {
      const text = texts.join("")
      expect(membersOf(text).size).toBeLessThanOrEqual(text.length)
      expect(elementsOf(text).length).toBeLessThanOrEqual(text.length)
    }),
    { numRuns: 2_000 },
  )
})
