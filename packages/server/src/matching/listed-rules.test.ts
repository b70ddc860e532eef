import fc from "fast-check"
import { expect, test } from "vitest"
import type { MatchingRule } from "@sluice/api"
import { matchingRulesBytesMax } from "../model/match.ts"
import { ListedRules } from "./listed-rules.ts"

type Embeddings = Parameters<ListedRules["set"]>[3]

function aRule(id: bigint | number, tag = ""): MatchingRule {
  return { id: String(id), tag }
}

/** The list that a match has of these rules, of one app. */
function listed(
  matched: readonly MatchingRule[],
  { embeddings = [], similarity }: { embeddings?: Embeddings; similarity?: () => number } = {},
): ReturnType<ListedRules["list"]> {
  const rules = new ListedRules()
  for (const [number, rule] of matched.entries()) rules.set(number, 0, rule, embeddings)
  return rules.list(
    matched.map((_, number) => number),
    similarity,
  )
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))

test("a list of 25,000 rules with long tags names the oldest that fit, and counts the others", () => {
  const first = 1_900_000_000_000_000_000n
  // Ids that no double tells apart, the youngest first.
  const matched = Array.from({ length: 25_000 }, (_, at) => aRule(first + BigInt(24_999 - at), "😀".repeat(127)))
  const { rules, omitted } = listed(matched)
  expect(rules.map(({ id }) => id)).toEqual(rules.map((_, at) => String(first + BigInt(at))))
  expect(rules.length + omitted).toBe(25_000)
  expect(bytesOf(rules)).toBeLessThanOrEqual(matchingRulesBytesMax)
  expect(bytesOf([...rules, matched[0]])).toBeGreaterThan(matchingRulesBytesMax)
})

test("the similarity of a listed rule counts too", () => {
  const embeddings = [{ value: "a cat", threshold: 0.5 }]
  const matched = Array.from({ length: 3_000 }, (_, at) => aRule(at + 1))
  const { rules, omitted } = listed(matched, { embeddings, similarity: () => 0.123456789012345 + 0.5 })
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
      const inOrder = matched.toSorted((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1))
      let count = inOrder.length
      while (bytesOf(inOrder.slice(0, count)) > matchingRulesBytesMax) count -= 1
      const found = listed(matched)
      expect(found).toEqual({ rules: inOrder.slice(0, count), omitted: inOrder.length - count })
    }),
    { numRuns: 60 },
  )
})

test("rules are listed by their app, whatever order they come in", () => {
  const rules = new ListedRules()
  for (const [number, owner] of [7, 3, 7, 3, 3].entries()) rules.set(number, owner, aRule(number + 1), [])
  expect([...rules.byOwner([4, 0, 1, 2])]).toEqual([
    [3, [4, 1]],
    [7, [0, 2]],
  ])
})
