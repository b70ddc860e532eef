import fc from "fast-check"
import { expect, test } from "vitest"
import type { AppId } from "../../model/ids.ts"
import { createManualClock } from "../../runtime/manual-clock.testing.ts"
import type { SharedLimits } from "../../store/shared-limits.ts"
import { RequestCounts } from "./request-counts.ts"

const app = "1" as AppId
const limit = { max: 3, windowMs: 900_000 }

/** Counts as several processes share them, and how often they are asked. */
function sharedCounts(clock: { nowMs(): number }) {
  const windows = new Map<string, { used: number; endsAtMs: number }>()
  const shared = {
    asked: 0,
    takeUses: (async (appId, use, { max, windowMs, count = 1 }) => {
      shared.asked += 1
      await Promise.resolve()
      const key = `${appId} ${use}`
      let window = windows.get(key)
      if (window === undefined || window.endsAtMs <= clock.nowMs()) {
        window = { used: 0, endsAtMs: clock.nowMs() + windowMs }
        windows.set(key, window)
      }
      const granted = Math.max(0, Math.min(count, max - window.used))
      window.used += granted
      return { granted, left: max - window.used, endsInMs: window.endsAtMs - clock.nowMs() }
    }) satisfies SharedLimits["takeUses"],
  }
  return shared
}

test("a window takes as many as its bound, from its first one on, and then begins again", async () => {
  const clock = createManualClock()
  const counts = new RequestCounts(clock)
  const take = async (): Promise<readonly number[]> => {
    const { granted, left, endsInMs } = await counts.take(app, "a", limit)
    return [granted, left, endsInMs]
  }
  expect(await take()).toEqual([1, 2, 900_000])
  await clock.advance(899_999)
  expect([await take(), await take(), await take()]).toEqual([
    [1, 1, 1],
    [1, 0, 1],
    [0, 0, 1],
  ])
  expect(await counts.take("2" as AppId, "a", limit)).toMatchObject({ granted: 1, left: 2 })
  expect(await counts.take(app, "b", limit)).toMatchObject({ granted: 1, left: 2 })
  await clock.advance(1)
  expect(await take()).toEqual([1, 2, 900_000])
})

test("a bound that is changed counts what the window had before", async () => {
  const counts = new RequestCounts(createManualClock())
  await counts.take(app, "a", limit)
  await counts.take(app, "a", limit)
  expect(await counts.take(app, "a", { ...limit, max: 5 })).toMatchObject({ granted: 1, left: 2 })
  expect(await counts.take(app, "a", { ...limit, max: 2 })).toMatchObject({ granted: 0, left: 0 })
})

test("one process on a shared store grants exactly the bound, shows what is left, and asks for small parts", async () => {
  const clock = createManualClock()
  const shared = sharedCounts(clock)
  const counts = new RequestCounts(clock, shared)
  const max = 10_000
  for (let left = max - 1; left >= 0; left -= 1) {
    expect(await counts.take(app, "a", { max, windowMs: 1_000 })).toEqual({ granted: 1, left, endsInMs: 1_000 })
  }
  // A part is a 256th of what is left, so there are some 256 times ln(10,000 / 256) of them, and one for each of the last.
  expect(shared.asked).toBeLessThan(1_500)
  const { asked } = shared
  for (let more = 0; more < 100; more += 1) {
    expect(await counts.take(app, "a", { max, windowMs: 1_000 })).toMatchObject({ granted: 0, left: 0 })
  }
  expect(shared.asked, "a window that is known to be full asks nothing").toBe(asked)
})

test("several processes never grant more than the bound, and all of a small one, however their requests mix", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 2_000 }),
      fc.array(fc.record({ process: fc.nat(2), together: fc.integer({ min: 1, max: 40 }) }), { maxLength: 60 }),
      async (max, steps) => {
        const clock = createManualClock()
        const shared = sharedCounts(clock)
        const processes = [0, 1, 2].map(() => new RequestCounts(clock, shared))
        let [requests, granted] = [0, 0]
        for (const { process, together } of steps) {
          const taken = await Promise.all(
            Array.from({ length: together }, async () => processes[process]?.take(app, "a", { max, windowMs: 1_000 })),
          )
          requests += together
          granted += taken.reduce((sum, one) => sum + (one?.granted ?? 0), 0)
        }
        expect(granted).toBeLessThanOrEqual(Math.min(max, requests))
        if (max < 512) expect(granted).toBe(Math.min(max, requests))
      },
    ),
    { numRuns: 60 },
  )
})

test("a store that fails refuses those who wait for it, and the next request asks again", async () => {
  const clock = createManualClock()
  let fails = true
  const counts = new RequestCounts(clock, {
    takeUses: async () => {
      if (fails) throw new Error("away")
      return { granted: 1, left: 0, endsInMs: 1_000 }
    },
  })
  const both = await Promise.allSettled([counts.take(app, "a", limit), counts.take(app, "a", limit)])
  expect(both.map(({ status }) => status)).toEqual(["rejected", "rejected"])
  fails = false
  expect(await counts.take(app, "a", limit)).toMatchObject({ granted: 1 })
})
