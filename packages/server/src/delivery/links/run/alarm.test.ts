import { expect, test } from "vitest"
import { createManualClock } from "../../../runtime/manual-clock.testing.ts"
import { Alarm } from "./alarm.ts"

function start() {
  const clock = createManualClock()
  const rungAtMs: number[] = []
  const alarm = new Alarm(clock, () => rungAtMs.push(clock.monotonicMs()))
  return { clock, rungAtMs, alarm }
}

test("an alarm rings once, at the earliest of the times that it was set for", async () => {
  const { clock, rungAtMs, alarm } = start()
  alarm.setFor(500)
  alarm.setFor(300)
  alarm.setFor(400)
  await clock.advance(0)
  expect(clock.sleepers).toBe(1)
  await clock.advance(1_000)
  expect(rungAtMs).toEqual([300])
  expect(clock.sleepers).toBe(0)
  alarm.setFor(1_200)
  await clock.advance(1_000)
  expect(rungAtMs).toEqual([300, 1_200])
})

test("an alarm set for a time that has passed rings at once", () => {
  const { rungAtMs, alarm } = start()
  alarm.setFor(-5)
  expect(rungAtMs).toEqual([0])
})

test("an alarm sleeps on when its sleep ends early", async () => {
  const clock = createManualClock()
  let rung = 0
  const hasty = { ...clock, sleep: (ms: number, signal?: AbortSignal) => clock.sleep(ms / 2, signal) }
  new Alarm(hasty, () => (rung += 1)).setFor(100)
  await clock.advance(99)
  expect(rung).toBe(0)
  await clock.advance(1)
  expect(rung).toBe(1)
})

test("an alarm that was stopped does not ring", async () => {
  const { clock, rungAtMs, alarm } = start()
  alarm.setFor(300)
  alarm.stop()
  await clock.advance(1_000)
  expect(rungAtMs).toEqual([])
})
