import { expect, test } from "vitest"
import { systemClock } from "../../runtime/clock.ts"
import { turnsOf } from "../../runtime/turns.testing.ts"
import { ReadTurns } from "./read-turns.ts"

const stoppedClock = { monotonicMs: () => 0 }

/** A clock that a test sets. */
function settableClock() {
  let nowMs = 0
  return {
    monotonicMs: () => nowMs,
    advance: (ms: number): void => {
      nowMs += ms
    },
  }
}

test("a few reads begin at once, in one turn", async () => {
  const turns = new ReadTurns(stoppedClock)
  const begun = await turnsOf(async () => {
    for (let read = 0; read < 50; read += 1) expect(turns.begin()).toBeUndefined()
  })
  expect(begun).toBe(0)
})

test("a caller that reads in a loop gives the event loop a turn after fifty reads", async () => {
  const turns = new ReadTurns(stoppedClock)
  const begun = await turnsOf(async () => {
    for (let read = 0; read < 200; read += 1) await turns.begin()
  })
  expect(begun).toBeGreaterThanOrEqual(3)
})

test("a caller that reads in a loop gives the event loop a turn after five milliseconds", async () => {
  const clock = settableClock()
  const turns = new ReadTurns(clock)
  expect(turns.begin()).toBeUndefined()
  clock.advance(4)
  expect(turns.begin()).toBeUndefined()
  clock.advance(1)
  const later = turns.begin()
  expect(later).toBeInstanceOf(Promise)
  expect(await turnsOf(async () => later)).toBeGreaterThanOrEqual(0)
  expect(turns.begin()).toBeUndefined()
})

test("reads that wait begin in the order in which they came, as many in a turn as its budget takes", async () => {
  const clock = settableClock()
  const turns = new ReadTurns(clock)
  const order: number[] = []
  const read = async (number: number): Promise<void> => {
    const turn = turns.begin()
    if (turn !== undefined) await turn
    order.push(number)
    // Two of them spend the budget of a turn.
    clock.advance(3)
  }
  const spent = await turnsOf(() => Promise.all([0, 1, 2, 3, 4, 5].map(read)))
  expect(order).toEqual([0, 1, 2, 3, 4, 5])
  expect(spent).toBeGreaterThanOrEqual(2)
})

test("a read that goes on does so in a later turn each time, however much room there is", async () => {
  const turns = new ReadTurns(systemClock)
  const spent = await turnsOf(async () => {
    await turns.begin()
    for (let chunk = 0; chunk < 4; chunk += 1) await turns.next()
  })
  expect(spent).toBeGreaterThanOrEqual(3)
})
