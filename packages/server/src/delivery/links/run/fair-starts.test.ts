import { setImmediate as nextTurn } from "node:timers/promises"
import { expect, test } from "vitest"
import { FairStarts } from "./fair-starts.ts"

/** A starter that wants so many starts, and notes each by its name. */
function starterOf(starts: FairStarts, started: string[], name: string, wanted: number) {
  let left = wanted
  return {
    pump() {
      while (left > 0 && starts.isOpenTo(this)) {
        left -= 1
        starts.note()
        started.push(name)
      }
    },
  }
}

test("few starts are made at once", () => {
  const starts = new FairStarts()
  const started: string[] = []
  starterOf(starts, started, "a", 3).pump()
  starterOf(starts, started, "b", 2).pump()
  expect(started).toEqual(["a", "a", "a", "b", "b"])
})

test("attempts beyond the bound of a turn are started in the next ones, all of them", async () => {
  const starts = new FairStarts()
  const started: string[] = []
  starterOf(starts, started, "a", 150).pump()
  const atOnce = started.length
  expect(atOnce).toBeLessThan(100)
  await nextTurn()
  expect(started.length).toBe(2 * atOnce)
  await nextTurn()
  expect(started.length).toBe(150)
})

test("waiting links are served in order, each with an equal share, and no link is passed over", async () => {
  const starts = new FairStarts()
  const started: string[] = []
  starterOf(starts, started, "first", 1_000).pump()
  started.length = 0
  for (const name of ["a", "b", "c"]) starterOf(starts, started, name, 1_000).pump()
  expect(started).toEqual([])
  await nextTurn()
  const counts = Map.groupBy(started, (name) => name)
  expect([...counts.keys()]).toEqual(["first", "a", "b", "c"])
  expect(new Set([...counts.values()].map(({ length }) => length)).size).toBe(1)
})

test("when there are more starters than starts in a turn, each has one before any has a second", async () => {
  const starts = new FairStarts()
  const started: string[] = []
  starterOf(starts, started, "first", 1_000).pump()
  started.length = 0
  for (let number = 0; number < 500; number++) starterOf(starts, started, String(number), 2).pump()
  while (started.length < 501) await nextTurn()
  expect(new Set(started.slice(0, 501)).size).toBe(501)
})
