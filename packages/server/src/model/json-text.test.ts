import fc from "fast-check"
import { expect, test } from "vitest"
import {
  countMembers,
  elementsOf,
  membersOf,
  objectOf,
  repeatedMember,
  withMembers,
  withoutNullMembers,
} from "./json-text.ts"

function parsed(members: ReadonlyMap<string, string>): unknown {
  return Object.fromEntries([...members].map(([name, json]) => [name, JSON.parse(json) as unknown]))
}

const indents = fc.constantFrom(undefined, 1, "\t")

test("an object has the members that JSON.parse finds in it", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), indents, (object, indent) => {
      const json = JSON.stringify(object, undefined, indent)
      expect(parsed(membersOf(json))).toEqual(JSON.parse(json))
    }),
  )
})

test("an array has the elements that JSON.parse finds in it", () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue()), indents, (array, indent) => {
      const json = JSON.stringify(array, undefined, indent)
      expect(elementsOf(json).map((element) => JSON.parse(element) as unknown)).toEqual(JSON.parse(json))
    }),
  )
})

test("an object that is split into its members and joined again is unchanged", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (object) => {
      const json = JSON.stringify(object)
      expect(objectOf(membersOf(json))).toBe(json)
    }),
  )
})

test.each([
  ["a number keeps the digits that a double loses", '{"n":12345678901234567890}', "n", "12345678901234567890"],
  ["a number beyond a double stays a number", '{"n":1e400}', "n", "1e400"],
  ["an escaped name is its plain one", String.raw`{"\u0069d":1}`, "id", "1"],
  ["of a name that comes twice the last counts", '{"a":1,"a":2}', "a", "2"],
  ["a brace in a string closes nothing", '{"a":{"b":"}"},"c":1}', "c", "1"],
  ["a quote after a backslash closes nothing", String.raw`{"a":"\\\"}","c":1}`, "c", "1"],
  ["a backslash before the closing quote is not half of an escape", String.raw`{"a":"\\","c":1}`, "c", "1"],
  ["__proto__ is a name as any other", '{"__proto__":{"id":"1"}}', "__proto__", '{"id":"1"}'],
])("a member is read as JSON has it: %s", (_, json, name, value) => {
  expect(membersOf(json).get(name)).toBe(value)
})

test("in the output of JSON.stringify, members are counted and no name is found twice", () => {
  fc.assert(
    fc.property(fc.jsonValue(), indents, (value, indent) => {
      let members = 0
      const json = JSON.stringify(
        value,
        (_, one: unknown) => {
          if (typeof one === "object" && one !== null && !Array.isArray(one)) members += Object.keys(one).length
          return one
        },
        indent,
      )
      expect(countMembers(json)).toBe(members)
      expect(repeatedMember(json)).toBeUndefined()
      expect(withMembers(json, (_, one) => one).length).toBeLessThanOrEqual(json.length)
    }),
  )
})

test("half a million nested brackets are split without a call for each", () => {
  const deep = `${"[".repeat(500_000)}${"]".repeat(500_000)}`
  expect(membersOf(`{"deep":${deep},"id":"1"}`).get("id")).toBe('"1"')
  expect(elementsOf(deep)).toHaveLength(1)
})

test("the scan of any text ends, whether it is JSON or not", () => {
  const parts = fc.constantFrom("{", "}", "[", "]", '"', ",", ":", "a", "1", " ", "null")
  fc.assert(
    fc.property(fc.array(parts, { maxLength: 30 }), (texts) => {
      const text = texts.join("")
      expect(membersOf(text).size).toBeLessThanOrEqual(text.length)
      expect(elementsOf(text).length).toBeLessThanOrEqual(text.length)
      expect(countMembers(text)).toBeLessThanOrEqual(text.length)
      expect(withoutNullMembers(text).length).toBeLessThanOrEqual(text.length)
      repeatedMember(text)
    }),
    { numRuns: 2_000 },
  )
})
