import { expect, test, vi } from "vitest"
import { createManualClock } from "../runtime/manual-clock.testing.ts"
import { Supervisor } from "./supervisor.ts"

function start() {
  const clock = createManualClock()
  const failed = vi.fn<(event: { where: string; error: unknown }) => void>()
  return {
    clock,
    failed,
    supervisor: new Supervisor<string, object>("a loop", { clock, events: { failed } }),
  }
}

/** A loop that runs until it is stopped. */
function untilStopped(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve())
  })
}

test("a loop that fails is reported, and restarted after a second", async () => {
  const { clock, failed, supervisor } = start()
  const run = vi.fn<(signal: AbortSignal) => Promise<void>>(untilStopped)
  run.mockRejectedValueOnce(new Error("disk"))
  supervisor.start("1", {}, run)
  await clock.advance(999)
  expect(run).toHaveBeenCalledTimes(1)
  expect(failed).toHaveBeenCalledExactlyOnceWith({ where: "a loop", error: new Error("disk") })
  await clock.advance(1)
  expect(run).toHaveBeenCalledTimes(2)
  expect([...supervisor.loops.keys()]).toEqual(["1"])
})

test("a loop that has ended is forgotten, and not restarted", async () => {
  const { clock, supervisor } = start()
  const run = vi.fn<() => Promise<void>>(() => Promise.resolve())
  supervisor.start("1", {}, run)
  await clock.advance(10_000)
  expect(run).toHaveBeenCalledTimes(1)
  expect(supervisor.loops.size).toBe(0)
})

test("a loop that is stopped is forgotten at once, and its key is busy until it has ended", async () => {
  const { clock, supervisor } = start()
  const ending = Promise.withResolvers<void>()
  supervisor.start("1", {}, () => ending.promise)
  expect(supervisor.busy.has("1")).toBe(true)
  const stopped = supervisor.stop("1")
  await clock.advance(0)
  expect(supervisor.loops.size).toBe(0)
  expect(supervisor.busy.has("1")).toBe(true)
  ending.resolve()
  await stopped
  expect(supervisor.busy.has("1")).toBe(false)
  supervisor.start("1", {}, untilStopped)
  expect(supervisor.loops.size).toBe(1)
})

test("stopping all waits for every loop, including those stopped before, and restarts no loop", async () => {
  const { clock, supervisor } = start()
  const ending = Promise.withResolvers<void>()
  supervisor.start("1", {}, () => ending.promise)
  supervisor.start("2", {}, () => Promise.reject(new Error("disk")))
  void supervisor.stop("1")
  await clock.advance(0)
  const ended = vi.fn<() => void>()
  void supervisor.stopAll().then(ended)
  await clock.advance(0)
  expect(ended).not.toHaveBeenCalled()
  ending.resolve()
  await clock.advance(0)
  expect(ended).toHaveBeenCalledTimes(1)
})
