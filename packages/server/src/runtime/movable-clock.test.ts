import { setTimeout as delay } from "node:timers/promises"
import { expect, test } from "vitest"
import { MovableClock } from "./movable-clock.ts"
import { SharedClock } from "./shared-clock.ts"

const hourMs = 3_600_000

test("it goes as the machine's does, and its time is moved on for every clock of its epoch", async () => {
  const clock = new MovableClock()
  const ofThread = new SharedClock(clock.epoch)
  expect(Math.abs(clock.nowMs() - Date.now())).toBeLessThan(1_000)
  const begun = { nowMs: clock.nowMs(), monotonicMs: clock.monotonicMs() }
  await clock.advance(25 * hourMs)
  expect(clock.nowMs() - begun.nowMs).toBeGreaterThanOrEqual(25 * hourMs - 1)
  expect(clock.monotonicMs() - begun.monotonicMs).toBeGreaterThanOrEqual(25 * hourMs)
  expect(Math.abs(ofThread.nowMs() - clock.nowMs())).toBeLessThan(1_000)
})

test("sleeps end each at its own moment and in order, those that are begun on the way too", async () => {
  const clock = new MovableClock()
  const startMs = clock.monotonicMs()
  const ended: [name: string, hours: number][] = []
  const sleep = async (name: string, hours: number): Promise<void> => {
    await clock.sleep(hours * hourMs)
    ended.push([name, Math.round((clock.monotonicMs() - startMs) / hourMs)])
  }
  const all = [sleep("third", 9), sleep("first", 1).then(() => sleep("second", 4)), sleep("late", 11)]
  await clock.advance(10 * hourMs)
  expect(ended).toEqual([
    ["first", 1],
    ["second", 5],
    ["third", 9],
  ])
  await clock.advance(1 * hourMs)
  await Promise.all(all)
  expect(ended.at(-1)).toEqual(["late", 11])
})

test("a loop of pauses looks a hundred times, however short they are, and once more at the end", async () => {
  const clock = new MovableClock()
  const ended = new AbortController()
  let looks = 0
  const loop = (async () => {
    for (; !ended.signal.aborted; looks++) await clock.pause(1, ended.signal)
  })()
  await clock.advance(24 * hourMs)
  expect(looks).toBeGreaterThanOrEqual(99)
  expect(looks).toBeLessThan(150)
  ended.abort()
  await loop
})

test("it waits for counted work before it moves on", async () => {
  const clock = new MovableClock()
  const startMs = clock.monotonicMs()
  let requestEndedAfterMs = 0
  const work = (async () => {
    await clock.sleep(hourMs)
    await clock.counted(delay(30))
    requestEndedAfterMs = clock.monotonicMs() - startMs
    await clock.sleep(hourMs)
  })()
  await clock.advance(2.5 * hourMs)
  await work
  expect(requestEndedAfterMs).toBeLessThan(1.5 * hourMs)
})

test("counted work that fails does not stop the clock", async () => {
  const clock = new MovableClock()
  const failing = clock.counted(delay(10).then(() => Promise.reject(new Error("refused"))))
  await Promise.all([expect(failing).rejects.toThrow("refused"), clock.advance(hourMs)])
})

test("sleeps end by themselves too, and at once when they are aborted", async () => {
  const clock = new MovableClock()
  const startMs = clock.monotonicMs()
  await clock.sleep(5)
  expect(clock.monotonicMs() - startMs).toBeGreaterThanOrEqual(5)
  await clock.advance(hourMs)
  await clock.sleep(5)
  const ended = new AbortController()
  const sleeping = clock.sleep(hourMs, ended.signal)
  ended.abort()
  await sleeping
  await clock.sleep(hourMs, ended.signal)
  expect(clock.monotonicMs() - startMs).toBeLessThan(1.5 * hourMs)
})

test("a second advance begins after the first", async () => {
  const clock = new MovableClock()
  const startMs = clock.monotonicMs()
  await Promise.all([clock.advance(hourMs), clock.advance(hourMs)])
  expect(Math.floor((clock.monotonicMs() - startMs) / hourMs)).toBe(2)
})
