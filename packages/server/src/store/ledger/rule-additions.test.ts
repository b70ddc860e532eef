import fc from "fast-check"
import { expect, test } from "vitest"
import type { AppId, RuleId } from "../../model/ids.ts"
import type { AddedRule, StoredRule } from "../../model/rule.ts"
import { addRules } from "./rule-additions.ts"

function rulesOf(values: readonly string[], firstId: number): readonly StoredRule[] {
  return values.map((value, index) => ({ id: String(firstId + index) as RuleId, appId: "1" as AppId, value }))
}

/** The definition: one rule after the other, each on all that are there by then. */
function oneByOne(rules: readonly StoredRule[], there: readonly StoredRule[], max: number): readonly AddedRule[] {
  const all = [...there]
  return rules.map((rule) => {
    const existing = all.find(({ value }) => value === rule.value)
    if (existing !== undefined) return { kind: "duplicate", id: existing.id }
    if (all.length >= max) return { kind: "over-cap" }
    all.push(rule)
    return { kind: "created" }
  })
}

test("rules are added as if one after the other, duplicates of each other included", () => {
  const someValues = fc.array(fc.constantFrom("a", "b", "c", "d"), { maxLength: 8 })
  const anyExisting = fc.uniqueArray(fc.constantFrom("a", "b", "c", "d"), { maxLength: 4 })
  fc.assert(
    fc.property(someValues, anyExisting, fc.nat(6), (values, existing, max) => {
      const [rules, there] = [rulesOf(values, 100), rulesOf(existing, 1)]
      const { outcomes, added } = addRules(rules, there, max - there.length)
      expect(outcomes).toEqual(oneByOne(rules, there, max))
      expect(added).toEqual(rules.filter((_, index) => outcomes[index]?.kind === "created"))
    }),
  )
})
