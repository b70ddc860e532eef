import fc from "fast-check"
import { expect, test } from "vitest"
import { noRule, rootSlot } from "./expression-layout.ts"
import { IntArena } from "./int-arena.ts"
import { isList, listOf, listSlot, onlyRuleOf, RuleNumbers } from "./rule-numbers.ts"

function rulesOf(arena: IntArena, root: number): number[] {
  const rules = arena.read(root, rootSlot.rules)
  if (rules === noRule) return []
  if (!isList(rules)) return [onlyRuleOf(rules)]
  const list = listOf(rules)
  const count = arena.read(list, listSlot.count)
  expect(count).toBeGreaterThan(1)
  return Array.from({ length: count }, (_, index) => arena.read(list, listSlot.rules + index))
}

/** A root to which a rule is added, or below 0 one of the rules, which is removed. More are added, so that lists grow. */
const anyStep = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 0, max: 2 }) },
  { weight: 2, arbitrary: fc.integer({ min: -300, max: -1 }) },
)

test("each root has the rules that were added to it and not removed, whatever the order", () => {
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 400, size: "max" }), (steps) => {
      const arena = new IntArena()
      const rules = new RuleNumbers(arena)
      const roots = [0, 1, 2].map(() => arena.allocate(rootSlot.parts))
      for (const root of roots) arena.write(root, rootSlot.rules, noRule)
      const expected = roots.map(() => new Set<number>())
      const remove = (at: number, number: number) => {
        expected[at]?.delete(number)
        expect(rules.rootOf(number)).toBe(roots[at])
        expect(rules.remove(number)).toBe(expected[at]?.size === 0)
        expect(rules.has(number)).toBe(false)
      }
      for (const step of steps) {
        if (step >= 0) expected[step]?.add(rules.add(roots[step] ?? 0))
        else {
          const all = expected.flatMap((some, at) => Array.from(some, (number) => ({ at, number })))
          const one = all[-step % Math.max(all.length, 1)]
          if (one) remove(one.at, one.number)
        }
        expect(rules.size).toBe(expected.reduce((sum, some) => sum + some.size, 0))
      }
      for (const [at, root] of roots.entries()) expect(new Set(rulesOf(arena, root))).toEqual(expected[at])
      for (const [at, some] of expected.entries()) for (const number of Array.from(some)) remove(at, number)
      // The lists are freed, and their room was bounded by the rules in them.
      expect([arena.blocks, rules.capacity]).toEqual([roots.length, 0])
    }),
  )
})

test("any of many equal rules is removed at once, and a list that has shrunk takes little room", () => {
  const arena = new IntArena()
  const rules = new RuleNumbers(arena)
  const root = arena.allocate(rootSlot.parts)
  arena.write(root, rootSlot.rules, noRule)
  const count = 100_000
  const left = new Set(Array.from({ length: count }, () => rules.add(root)))
  for (let index = 0; index < count - 10; index++) {
    const rule = (index * 7_919) % count
    rules.remove(rule)
    left.delete(rule)
  }
  expect(new Set(rulesOf(arena, root))).toEqual(left)
  expect(arena.read(listOf(arena.read(root, rootSlot.rules)), listSlot.capacity)).toBeLessThanOrEqual(40)
})
