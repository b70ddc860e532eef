import { expect, test } from "vitest"
import { createManualClock } from "./manual-clock.testing.ts"
import { Turns, turnBytesMax, turnMsMax, turnStepsMax, type Turn } from "./turns.ts"

async function begun(clock = createManualClock()): Promise<Turn> {
  const turn = new Turns(clock).open()
  await turn.next()
  return turn
}

test("a turn ends with its time, its steps or its bytes, and the next one has all of them again", async () => {
  const clock = createManualClock()
  const turn = await begun(clock)
  const nextAfter = async (ended: Promise<void> | undefined): Promise<void> => {
    expect(ended).toBeInstanceOf(Promise)
    await ended
  }
  expect(turn.spend(turnBytesMax - 1)).toBeUndefined()
  await nextAfter(turn.spend(1))
  for (let step = 1; step < turnStepsMax; step++) expect(turn.spend()).toBeUndefined()
  await nextAfter(turn.spend())
  await clock.advance(turnMsMax - 1)
  expect(turn.spend()).toBeUndefined()
  await clock.advance(1)
  await nextAfter(turn.spend())
  expect(turn.spend()).toBeUndefined()
})

test("a turn begins at once in a round that has none yet, and else in a later one", async () => {
  const turns = new Turns(createManualClock())
  const seen: string[] = []
  const work = async (name: string): Promise<void> => {
    await turns.open().begin()
    seen.push(name)
  }
  const works = [work("a"), work("b")]
  for (let step = 0; step < 10; step++) await Promise.resolve()
  expect(seen).toEqual(["a"])
  await Promise.all(works)
  expect(seen).toEqual(["a", "b"])
})

test("bodies have turns one after the other, with a turn of the event loop before each", async () => {
  const turns = new Turns(createManualClock())
  const seen: string[] = []
  const work = async (name: string, count: number): Promise<void> => {
    const turn = turns.open()
    for (let round = 0; round < count; round++) {
      await turn.next()
      seen.push(name)
    }
  }
  let rounds = 0
  const loop = (): void => {
    rounds += 1
    if (seen.length < 9) setImmediate(loop)
  }
  setImmediate(loop)
  await Promise.all([work("a", 4), work("b", 2), work("c", 3)])
  expect(seen.join("")).toBe("abcabcaca")
  expect(rounds).toBeGreaterThanOrEqual(8)
})
