import fc from "fast-check"
import { expect, test } from "vitest"
import { ByteBudget, type HeldBytes } from "./byte-budget.ts"

const { signal: always } = new AbortController()
const bounds = { bytesMax: 100, shareMax: 60, waitingMax: 3 }

test("a request without room in the budget, or in its owner's share, waits until there is room", async () => {
  const budget = new ByteBudget(bounds)
  const first = await budget.take("a", 50, always)
  const second = budget.take("a", 20, always)
  const other = await budget.take("b", 50, always)
  expect(budget.bytes).toBe(100)
  other?.resize(30)
  expect(budget.bytes).toBe(80)
  first?.release()
  expect(await second).toBeDefined()
  expect(budget.bytes).toBe(50)
})

test("waiting requests of one owner do not keep another owner from free room", async () => {
  const budget = new ByteBudget(bounds)
  await budget.take("a", 60, always)
  void budget.take("a", 10, always)
  expect(await budget.take("b", 40, always)).toBeDefined()
})

test("a request that is larger than the bounds gets room alone", async () => {
  const budget = new ByteBudget(bounds)
  const large = await budget.take("a", 500, always)
  const small = budget.take("b", 1, always)
  expect(budget.bytes).toBe(500)
  large?.release()
  expect(await small).toBeDefined()
})

test("too many waiting requests of one owner are refused, and an aborted one no longer waits", async () => {
  const budget = new ByteBudget(bounds)
  const held = await budget.take("a", 60, always)
  const leaving = new AbortController()
  const waiting = [leaving.signal, always, always].map((signal) => budget.take("a", 10, signal))
  expect(await budget.take("a", 10, always)).toBeUndefined()
  leaving.abort()
  expect(await waiting[0]).toBeUndefined()
  expect(await budget.take("a", 10, leaving.signal)).toBeUndefined()
  held?.release()
  expect((await Promise.all(waiting)).map((each) => each !== undefined)).toEqual([false, true, true])
  expect(budget.bytes).toBe(20)
})

test("the bounds hold in any order of requests and releases, and no request waits while there is room", async () => {
  const owners = ["a", "b", "c"] as const
  const act = fc.record({
    owner: fc.constantFrom(...owners),
    bytes: fc.integer({ min: 1, max: 60 }),
    ends: fc.nat(3),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(act, { maxLength: 40, size: "max" }), async (acts) => {
      const budget = new ByteBudget({ ...bounds, waitingMax: 100 })
      const held: { owner: string; bytes: number; lease: HeldBytes }[] = []
      let started = 0
      const takeOne = async (from: ByteBudget, owner: string, bytes: number): Promise<void> => {
        const lease = await from.take(owner, bytes, always)
        started += 1
        if (lease !== undefined) held.push({ owner, bytes, lease })
      }
      for (const { owner, bytes, ends } of acts) {
        void takeOne(budget, owner, bytes)
        for (const { lease } of held.splice(0, ends)) lease.release()
        await new Promise(setImmediate)
        expect(budget.bytes).toBe(held.reduce((sum, each) => sum + each.bytes, 0))
        expect(budget.bytes).toBeLessThanOrEqual(bounds.bytesMax)
        for (const each of owners) {
          const share = held.filter((one) => one.owner === each).reduce((sum, one) => sum + one.bytes, 0)
          expect(share).toBeLessThanOrEqual(bounds.shareMax)
        }
      }
      while (held.length > 0) {
        for (const { lease } of held.splice(0)) lease.release()
        await new Promise(setImmediate)
      }
      expect(started).toBe(acts.length)
    }),
    { numRuns: 50 },
  )
})
