/** How threads share the processors when all of them have work. */
import { setPriority } from "node:os"

/**
 * Lets this thread run behind the others of the process while these have work; alone it is as fast. On Linux, where a thread
 * has a priority of its own (setpriority(2)); elsewhere it would be that of the process, so nothing changes.
 * Returns whether it has a lower priority now.
 *
 * Ours: by 5 a thread gets a quarter to a third of a processor that another one wants as well (sched(7)), so it never starves.
 */
export function runBehindOthers(): boolean {
  if (process.platform !== "linux") return false
  setPriority(behindBy)
  return true
}

const behindBy = 5
