import { setImmediate as nextTurn } from "node:timers/promises"

/** Number of turns of the event loop that others have while `work` is in progress. */
export async function turnsOf(work: () => Promise<unknown>): Promise<number> {
  let turns = -1
  let isOver = false
  const count = (): void => {
    turns += 1
    if (!isOver) setImmediate(count)
  }
  // Turns that earlier work has scheduled come first, and are not counted.
  await nextTurn()
  count()
  await work()
  isOver = true
  return turns
}
