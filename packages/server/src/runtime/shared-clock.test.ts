import { afterEach, expect, test, vi } from "vitest"
import { SharedClock } from "./shared-clock.ts"

const dayMs = 86_400_000

afterEach(() => {
  vi.useRealTimers()
})

test("the clock has the machine's time until its correction, and then the other clock's, in every thread", async () => {
  const clock = new SharedClock()
  expect(Math.abs(clock.nowMs() - Date.now())).toBeLessThan(1_000)
  const inAnotherThread = new SharedClock(clock.epoch)
  for (const offMs of [2 * dayMs, -2 * dayMs, 3_600_000]) {
    await clock.correct(async () => Date.now() + offMs)
    expect(Math.abs(clock.nowMs() - Date.now() - offMs)).toBeLessThan(1_000)
    expect(Math.abs(inAnotherThread.nowMs() - clock.nowMs())).toBeLessThan(1_000)
  }
})

test("a step of the machine's clock does not change it", async () => {
  const clock = new SharedClock()
  await clock.correct(async () => Date.now())
  const before = clock.nowMs()
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 2 * dayMs })
  expect(clock.nowMs() - before).toBeLessThan(60_000)
})

test("a response that differs by less than its round trip corrects nothing: slow networks do no harm", async () => {
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

test("a request without a response leaves the clock unchanged", async () => {
  const clock = new SharedClock()
  const [epochUs] = new BigInt64Array(clock.epoch)
  await expect(clock.correct(() => Promise.reject(new Error("gone")))).rejects.toThrow("gone")
  expect(new BigInt64Array(clock.epoch)[0]).toBe(epochUs)
})
