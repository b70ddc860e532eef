import { setImmediate as nextTurn } from "node:timers/promises"
import { expect, test } from "vitest"
import { systemClock } from "../../../runtime/clock.ts"
import { turnsOf } from "../../../runtime/turns.testing.ts"
import { logReader, requestOf } from "../../readers.ts"
import { ReadTurns } from "./read-turns.ts"

const a = requestOf("a")
const b = requestOf("b")
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
    for (let read = 0; read < 50; read += 1) expect(turns.begin(a)).toBeUndefined()
  })
  expect(begun).toBe(0)
})

test("a caller that reads in a loop gives the event loop a turn after fifty reads", async () => {
  const turns = new ReadTurns(stoppedClock)
  const begun = await turnsOf(async () => {
    for (let read = 0; read < 200; read += 1) await turns.begin(a)
  })
  expect(begun).toBeGreaterThanOrEqual(3)
})

test("a caller that reads in a loop gives the event loop a turn after five milliseconds", async () => {
  const clock = settableClock()
  const turns = new ReadTurns(clock)
  expect(turns.begin(a)).toBeUndefined()
  clock.advance(4)
  expect(turns.begin(a)).toBeUndefined()
  clock.advance(1)
  const later = turns.begin(a)
  expect(later).toBeInstanceOf(Promise)
  expect(await turnsOf(async () => later)).toBeGreaterThanOrEqual(0)
  expect(turns.begin(a)).toBeUndefined()
})

test("reads of one app that wait begin in the order in which they came, as many in a turn as its budget takes", async () => {
  const clock = settableClock()
  const turns = new ReadTurns(clock)
  const order: number[] = []
  const read = async (number: number): Promise<void> => {
    const turn = turns.begin(a)
    if (turn !== undefined) await turn
    order.push(number)
    // Two of them spend the budget of a turn.
    clock.advance(3)
  }
  const spent = await turnsOf(() => Promise.all([0, 1, 2, 3, 4, 5].map(read)))
  expect(order).toEqual([0, 1, 2, 3, 4, 5])
  expect(spent).toBeGreaterThanOrEqual(2)
})

test("a read that continues does so in a later turn each time, however much room there is", async () => {
  const turns = new ReadTurns(systemClock)
  const spent = await turnsOf(async () => {
    await turns.begin(a)
    for (let chunk = 0; chunk < 4; chunk += 1) await turns.next(a)
  })
  expect(spent).toBeGreaterThanOrEqual(3)
})

/** The order in which reads begin that all wait, each of which spends the budget of a turn. */
async function orderOf(readers: readonly (readonly [string, ReturnType<typeof requestOf>])[]): Promise<string[]> {
  const clock = settableClock()
  const turns = new ReadTurns(clock)
  const order: string[] = []
  void turns.begin(a)
  clock.advance(5)
  await Promise.all(
    readers.map(async ([name, reader]) => {
      await turns.begin(reader)
      order.push(name)
      clock.advance(5)
    }),
  )
  return order
}

test("a read of an app waits for one read of another app, however many of those came before", async () => {
  const many = Array.from({ length: 200 }, (_, at) => [`a${at}`, a] as const)
  const order = await orderOf([...many, ["b", b]])
  expect(order.indexOf("b")).toBeLessThanOrEqual(1)
  expect(order.filter((name) => name !== "b")).toEqual(many.map(([name]) => name))
})

test("every other waiting read that begins is a log reader's, however many requests wait", async () => {
  const requests = Array.from({ length: 100 }, (_, at) => [`request ${at}`, requestOf(`app ${at}`)] as const)
  const logs = Array.from({ length: 3 }, (_, at) => [`log ${at}`, logReader("c")] as const)
  const order = await orderOf([...requests, ...logs])
  expect(order.slice(0, 6).filter((name) => name.startsWith("log"))).toHaveLength(3)
})

test("no read begins while the thread's rounds rest for those that connect", async () => {
  const rounds = { isResting: true }
  const turns = new ReadTurns(stoppedClock, rounds)
  let hasBegun = false
  const read = (async () => {
    await turns.begin(a)
    hasBegun = true
  })()
  for (let turn = 0; turn < 5; turn += 1) await nextTurn()
  expect(hasBegun).toBe(false)
  rounds.isResting = false
  await read
  expect(hasBegun).toBe(true)
})
