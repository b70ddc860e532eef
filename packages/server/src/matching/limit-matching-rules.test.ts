import fc from "fast-check"
import { expect, test } from "vitest"
import type { AppId } from "../model/ids.ts"
import { matchingRulesBytesMax } from "../model/match.ts"
import { indexedRule, limitMatchingRules } from "./limit-matching-rules.ts"

const app = "1" as AppId

function aRule(id: bigint | number, tag?: string) {
  return indexedRule(app, { id: String(id), ...(tag !== undefined && { tag }) }, [])
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))

test("of 25,000 rules with long tags the oldest that fit are listed, and the others are counted", () => {
  const first = 1_900_000_000_000_000_000n
  // Ids that no double tells apart, the youngest first.
  const matched = Array.from({ length: 25_000 }, (_, at) => aRule(first + BigInt(24_999 - at), "😀".repeat(127)))
  const { rules, omitted } = limitMatchingRules(matched, undefined)
  expect(rules.map(({ id }) => id)).toEqual(rules.map((_, at) => String(first + BigInt(at))))
  expect(rules.length + omitted).toBe(25_000)
  expect(bytesOf(rules)).toBeLessThanOrEqual(matchingRulesBytesMax)
  expect(bytesOf([...rules, matched[0]?.matching])).toBeGreaterThan(matchingRulesBytesMax)
})

test("the similarity of a listed rule counts too", () => {
  const embeddings = [{ value: "a cat", threshold: 0.5 }]
  const matched = Array.from({ length: 3_000 }, (_, at) => indexedRule(app, { id: String(at + 1) }, embeddings))
  const { rules, omitted } = limitMatchingRules(matched, () => 0.123456789012345 + 0.5)
  expect(rules[0]).toMatchObject({ id: "1", embedding_threshold: 0.5 })
  expect(bytesOf(rules)).toBeLessThanOrEqual(matchingRulesBytesMax)
  expect(omitted).toBe(3_000 - rules.length)
})

test("the listed rules are those of a list that is sorted by age and cut", () => {
  const id = fc.oneof(fc.bigInt({ min: 1n, max: 2n ** 63n - 1n }), fc.bigInt({ min: 1n, max: 9n }))
  const rule = fc.record({
    id,
    length: fc.constantFrom(0, 1, 50, 255),
    character: fc.constantFrom("a", "é", "\u0001"),
  })
  const rules = fc.uniqueArray(rule, { minLength: 1, maxLength: 300, size: "max", selector: (each) => each.id })
  fc.assert(
    fc.property(rules, (some) => {
      const matched = some.map(({ id: of, length, character }) => aRule(of, character.repeat(length)))
      const inOrder = matched.map(({ matching }) => matching).toSorted((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1))
      let count = inOrder.length
      while (bytesOf(inOrder.slice(0, count)) > matchingRulesBytesMax) count -= 1
      const found = limitMatchingRules(matched, undefined)
      expect(found).toEqual({ rules: inOrder.slice(0, count), omitted: inOrder.length - count })
    }),
    { numRuns: 60 },
  )
})
