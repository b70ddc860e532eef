import { setImmediate as nextRound } from "node:timers/promises"
import { expect, test } from "vitest"
import { RequestScheduler } from "./request-scheduler.ts"

test("a few requests begin at once, and more begin round-robin by caller until all have begun", async () => {
  const scheduler = new RequestScheduler()
  const begun: string[] = []
  const come = (caller: string, count: number): void => {
    for (let number = 0; number < count; number++) scheduler.schedule(caller, () => begun.push(caller))
  }
  come("flood", 1_000)
  expect(begun).toHaveLength(16)
  come("neighbour", 2)
  await nextRound()
  // Sixteen in a round, of which the neighbour's are the second and the fourth.
  expect(begun).toHaveLength(32)
  expect(begun.slice(16, 20)).toEqual(["flood", "neighbour", "flood", "neighbour"])
  for (let round = 0; round < 62; round++) {
    const before = begun.length
    await nextRound()
    expect(begun.length - before).toBeLessThanOrEqual(16)
  }
  expect(begun).toHaveLength(1_002)
  // When no request is queued, the next one begins at once.
  come("neighbour", 1)
  expect(begun).toHaveLength(1_003)
})

test("a request waits behind those of its own caller, and a request that begins may schedule another", async () => {
  const scheduler = new RequestScheduler()
  const begun: number[] = []
  for (let number = 0; number < 20; number++) {
    scheduler.schedule("a", () => {
      begun.push(number)
      if (number === 16) scheduler.schedule("a", () => begun.push(20))
    })
  }
  await nextRound()
  await nextRound()
  expect(begun).toEqual(Array.from({ length: 21 }, (_, number) => number))
})
