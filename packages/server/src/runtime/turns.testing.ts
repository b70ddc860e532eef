import { setImmediate as nextTurn } from "node:timers/promises"

/** How many turns of the event loop others have while `work` is under way. */
export async function turnsOf(work: () => Promise<unknown>): Promise<number> {
  let turns = -1
  let isOver = false
  const count = (): void => {
    turns += 1
    if (!isOver) setImmediate(count)
  }
  // What earlier work has scheduled comes first, and is not counted.
  await nextTurn()
  count()
  await work()
  isOver = true
  return turns
}
