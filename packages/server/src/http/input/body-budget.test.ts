import fc from "fast-check"
import { expect, test } from "vitest"
import { BodyBudget, type HeldBody } from "./body-budget.ts"

const bounds = { bytesMax: 100, shareMax: 60 }

/** Bodies by name, and which were refused. */
function bodiesOf(budget: BodyBudget): {
  readonly open: (caller: string, name: string, bytes?: number) => HeldBody
  readonly refused: readonly string[]
} {
  const refused: string[] = []
  return {
    open(caller, name, bytes = 0) {
      const body = budget.open(caller, () => void refused.push(name))
      body.resize(bytes)
      return body
    },
    refused,
  }
}

test("the oldest unfinished body of a caller is refused when its bodies exceed the caller's share", () => {
  const budget = new BodyBudget(bounds)
  const { open, refused } = bodiesOf(budget)
  open("a", "whole", 30).complete()
  open("a", "old", 20)
  const growing = open("a", "growing", 5)
  expect(refused).toEqual([])
  growing.resize(20)
  expect(refused).toEqual(["old"])
  expect(budget.bytes).toBe(50)
})

test("at the bound of all, a body of the caller who holds most is refused, never one with a small share", () => {
  const budget = new BodyBudget(bounds)
  const { open, refused } = bodiesOf(budget)
  open("greedy", "1", 25)
  open("greedy", "2", 25)
  open("other", "3", 30)
  open("small", "4", 25)
  expect(refused).toEqual(["1"])
  expect(budget.bytes).toBe(80)
})

test("a body that holds no bytes yet is not refused because of those that do, of its caller or of another", () => {
  const budget = new BodyBudget(bounds)
  const { open, refused } = bodiesOf(budget)
  open("a", "empty")
  open("a", "large", 50)
  open("a", "more", 20)
  expect(refused).toEqual(["large"])
  // The caller who holds most has nothing that could be refused.
  open("whole", "arrived", 60).complete()
  open("whole", "also empty")
  open("b", "last", 30)
  expect(refused).toEqual(["large", "last"])
  expect(budget.bytes).toBe(80)
})

test("a body that has arrived whole is not refused, and counts until it is released", () => {
  const budget = new BodyBudget(bounds)
  const { open, refused } = bodiesOf(budget)
  const whole = open("a", "whole", 60)
  whole.complete()
  open("a", "late", 1)
  expect(refused).toEqual(["late"])
  whole.release()
  whole.release()
  expect(budget.bytes).toBe(0)
  open("a", "later", 60)
  expect(refused).toEqual(["late"])
})

test("the bounds hold while bodies come, grow and go, and every byte is returned", () => {
  const step = fc.record({
    caller: fc.constantFrom("a", "b", "c"),
    act: fc.constantFrom("open", "grow", "release"),
    bytes: fc.integer({ min: 0, max: 40 }),
    which: fc.nat(20),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const budget = new BodyBudget(bounds)
      const bodies: HeldBody[] = []
      let refused = 0
      for (const { caller, act, bytes, which } of steps) {
        const body = bodies[which % Math.max(1, bodies.length)]
        if (act === "open") bodies.push(budget.open(caller, () => void (refused += 1)))
        else if (act === "grow") body?.resize(bytes)
        else body?.release()
        expect(budget.bytes).toBeGreaterThanOrEqual(0)
        expect(budget.bytes).toBeLessThanOrEqual(bounds.bytesMax)
      }
      for (const body of bodies) body.release()
      expect(budget.bytes).toBe(0)
      expect(refused).toBeLessThanOrEqual(bodies.length)
    }),
  )
})
