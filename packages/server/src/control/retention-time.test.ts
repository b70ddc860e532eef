import { expect, test } from "vitest"
import { noKnownTime, type KnownTime } from "../model/known-time.ts"
import { RetentionTime } from "./retention-time.ts"

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

/** Some moment of 2026. */
const startMs = 1_780_000_000_000

/** A machine whose clock is off by `offMs`; with `isFrozen` it stands still. */
class Machine {
  elapsedMs = 5_000
  offMs = 0
  frozenAtMs: number | undefined

  nowMs(): number {
    return this.frozenAtMs ?? startMs + this.elapsedMs + this.offMs
  }

  monotonicMs(): number {
    return this.elapsedMs
  }
}

const seen = (machine: Machine, agoMs = 0): KnownTime => {
  const atMs = machine.nowMs() - agoMs
  return { believedMs: atMs, clockMs: atMs, steadyMs: 0 }
}

function begin(machine: Machine, known: KnownTime | undefined, believesJump = false): RetentionTime {
  return new RetentionTime(machine, { known, believesJump, matchStandMs: dayMs })
}

/** Lets a server run for so long. */
function run(machine: Machine, time: RetentionTime, ms: number): void {
  for (let leftMs = ms; leftMs > 0; leftMs -= minuteMs) {
    machine.elapsedMs += Math.min(minuteMs, leftMs)
    time.observe()
  }
}

test("a new store, and one that was served a moment ago, trust the clock", () => {
  for (const known of [undefined, seen(new Machine()), seen(new Machine(), hourMs)]) {
    const machine = new Machine()
    const time = begin(machine, known)
    expect(time.matchNowMs()).toBe(machine.nowMs())
    expect(time.aheadMs).toBe(0)
    expect(time.known).toEqual({ believedMs: machine.nowMs(), clockMs: machine.nowMs(), steadyMs: 0 })
  }
})

test("a jump over a restart counts after an hour of steady time, and the time advances meanwhile", () => {
  const machine = new Machine()
  const known = seen(machine)
  machine.offMs = 2 * dayMs
  const time = begin(machine, known)
  expect(time.matchNowMs()).toBe(known.believedMs)
  expect(time.aheadMs).toBe(2 * dayMs)
  run(machine, time, 59 * minuteMs)
  expect(time.matchNowMs()).toBe(known.believedMs + 59 * minuteMs)
  expect(time.ofKind(30 * dayMs).nowMs(), "every kind").toBe(known.believedMs + 59 * minuteMs)
  run(machine, time, minuteMs)
  expect(time.matchNowMs()).toBe(machine.nowMs())
  expect(time.aheadMs).toBe(0)
})

test("a store whose record of the time is damaged treats nothing as old until the clock was steady for an hour", () => {
  let machine = new Machine()
  let time = begin(machine, noKnownTime)
  run(machine, time, 30 * minuteMs)
  expect(time.ofKind(30 * dayMs).nowMs()).toBe(30 * minuteMs)
  const { known } = time
  machine = new Machine()
  machine.offMs = 30 * minuteMs
  time = begin(machine, known)
  run(machine, time, 29 * minuteMs)
  expect(time.matchNowMs()).toBe(59 * minuteMs)
  run(machine, time, 2 * minuteMs)
  expect(time.matchNowMs()).toBe(machine.nowMs())
})

test("the operator's confirmation counts at once", () => {
  const machine = new Machine()
  const known = seen(machine, 2 * dayMs)
  expect(begin(machine, known, true).matchNowMs()).toBe(machine.nowMs())
})

test("a clock that moves again is not steady, and one that is set right is trusted at once", () => {
  const machine = new Machine()
  const known = seen(machine)
  machine.offMs = 2 * dayMs
  const time = begin(machine, known)
  run(machine, time, 50 * minuteMs)
  machine.offMs = dayMs
  run(machine, time, 50 * minuteMs)
  expect(time.matchNowMs()).toBe(known.believedMs + 100 * minuteMs)
  machine.offMs = 0
  run(machine, time, minuteMs)
  expect(time.matchNowMs()).toBe(machine.nowMs())
})

test("a server that is off for days between short runs waits for an hour of them, not forever", () => {
  let machine = new Machine()
  let known: KnownTime = seen(machine)
  const starts = []
  for (let start = 1; start <= 4; start += 1) {
    const { offMs } = machine
    machine = new Machine()
    machine.offMs = offMs + 2 * dayMs
    const time = begin(machine, known)
    run(machine, time, 25 * minuteMs)
    known = time.known
    starts.push(time.aheadMs > 0)
  }
  expect(starts).toEqual([true, true, false, true])
})

test("the steady time of a clock that was ahead does not count after it is set back", () => {
  const machine = new Machine()
  machine.offMs = 2 * dayMs
  const known = { believedMs: startMs, clockMs: startMs + 4 * dayMs, steadyMs: 59 * minuteMs }
  const time = begin(machine, known)
  run(machine, time, 30 * minuteMs)
  expect(time.aheadMs).toBeGreaterThan(0)
})

test("a stopped clock deletes nothing, and the missed time counts once the step has lasted for the retention", () => {
  const machine = new Machine()
  const time = begin(machine, seen(machine))
  machine.frozenAtMs = machine.nowMs()
  run(machine, time, 2 * dayMs)
  expect(time.matchNowMs()).toBe(machine.frozenAtMs)
  machine.frozenAtMs = undefined
  run(machine, time, 23 * hourMs)
  expect(time.aheadMs).toBe(2 * dayMs)
  run(machine, time, 2 * hourMs)
  expect(time.aheadMs).toBe(0)
})

test("a step back of an hour counts at once, and the hour is not lost when it comes back", () => {
  const machine = new Machine()
  const time = begin(machine, seen(machine))
  machine.offMs = -hourMs
  run(machine, time, 10 * minuteMs)
  expect(time.matchNowMs()).toBe(machine.nowMs())
  machine.offMs = 0
  run(machine, time, 10 * minuteMs)
  expect(time.matchNowMs()).toBe(machine.nowMs() - hourMs)
  run(machine, time, dayMs)
  expect(time.matchNowMs()).toBe(machine.nowMs())
})
