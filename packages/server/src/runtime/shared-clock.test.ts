import { afterEach, expect, test, vi } from "vitest"
import { SharedClock } from "./shared-clock.ts"

const dayMs = 86_400_000

afterEach(() => {
  vi.useRealTimers()
})

test("until it is corrected, it has the machine's time of day; then it has the other's, in every thread", async () => {
  const clock = new SharedClock()
  expect(Math.abs(clock.nowMs() - Date.now())).toBeLessThan(1_000)
  const inAnotherThread = new SharedClock(clock.epoch)
  for (const offMs of [2 * dayMs, -2 * dayMs, 3_600_000]) {
    await clock.correct(async () => Date.now() + offMs)
    expect(Math.abs(clock.nowMs() - Date.now() - offMs)).toBeLessThan(1_000)
    expect(Math.abs(inAnotherThread.nowMs() - clock.nowMs())).toBeLessThan(1_000)
  }
})

test("a machine whose clock steps does not change it", async () => {
  const clock = new SharedClock()
  await clock.correct(async () => Date.now())
  const before = clock.nowMs()
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 2 * dayMs })
  expect(clock.nowMs() - before).toBeLessThan(60_000)
})

test("an answer that is within the time that it took corrects nothing: a slow network does not shake the clock", async () => {
  const clock = new SharedClock()
  await clock.correct(async () => 1_780_000_000_000)
  const [epochUs] = new BigInt64Array(clock.epoch)
  await clock.correct(async () => {
    const atMs = clock.nowMs()
    await new Promise((resolve) => setTimeout(resolve, 20))
    return atMs + 10
  })
  expect(new BigInt64Array(clock.epoch)[0]).toBe(epochUs)
})

test("a question without an answer leaves it as it is", async () => {
  const clock = new SharedClock()
  const [epochUs] = new BigInt64Array(clock.epoch)
  await expect(clock.correct(() => Promise.reject(new Error("gone")))).rejects.toThrow("gone")
  expect(new BigInt64Array(clock.epoch)[0]).toBe(epochUs)
})
