import { expect, test } from "vitest"
import { refusal } from "./errors.ts"
import { reconnectDelayMs, retryDelayMs, withRetries } from "./retry.ts"

test("a stream connection is opened again as X's documents say", () => {
  const delays = (fault: "network" | "http" | "rate-limit"): number[] =>
    [1, 2, 3, 4, 64, 1000].map((failures) => reconnectDelayMs(fault, failures))
  expect(delays("network")).toEqual([250, 500, 750, 1000, 16_000, 16_000])
  expect(delays("http")).toEqual([5000, 10_000, 20_000, 40_000, 320_000, 320_000])
  expect(delays("rate-limit")).toEqual([60_000, 120_000, 240_000, 480_000, 900_000, 900_000])
})

test("a request waits as long as the server asks, up to a minute", () => {
  expect([1, 2, 3, 9].map((failures) => retryDelayMs(failures, undefined))).toEqual([250, 500, 1000, 10_000])
  expect(retryDelayMs(9, 0)).toBe(0)
  expect(retryDelayMs(1, 7000)).toBe(7000)
  expect(retryDelayMs(1, 86_400_000)).toBe(60_000)
})

const busy = refusal(503, undefined, 0)

test("a temporary failure is retried, at most ten times", async () => {
  let attempts = 0
  const failing = (failures: number) => async (): Promise<string> => {
    attempts += 1
    if (attempts <= failures) throw busy
    return "done"
  }
  const delays: number[] = []
  expect(await withRetries(failing(3), { onRetry: (delayMs) => delays.push(delayMs) })).toBe("done")
  expect(delays).toEqual([0, 0, 0])
  attempts = 0
  await expect(withRetries(failing(100))).rejects.toBe(busy)
  expect(attempts).toBe(10)
})

test("a permanent failure, and a request that an aborted signal interrupts, is not retried", async () => {
  let attempts = 0
  const refused = refusal(400, undefined)
  const fail = (error: Error) => (): Promise<never> => {
    attempts += 1
    return Promise.reject(error)
  }
  await expect(withRetries(fail(refused))).rejects.toBe(refused)
  expect(attempts).toBe(1)
  const reason = new Error("interrupted")
  const stop = new AbortController()
  const late = refusal(503, undefined, 60_000)
  const waiting = withRetries(fail(late), { signal: stop.signal, onRetry: () => stop.abort(reason) })
  await expect(waiting).rejects.toBe(reason)
  expect(attempts).toBe(2)
})
