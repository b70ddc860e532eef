/**
 * Notices the end of the program that started this process. A signal to `npx` ends npm alone, and the server that it started
 * would run on unnoticed.
 */
import { listedProcess } from "./listed-process.ts"

/** Time between two checks. Ours. */
const pollMs = 500

/**
 * Calls `ended` once, when the parent of this process or the parent of that has ended: npm starts a shell, which starts this
 * process. The watch keeps no process alive.
 */
export function watchStarter(ended: () => void): void {
  const parent = process.ppid
  const grandparent = listedProcess(parent)?.parent
  const looking = setInterval(() => {
    if (process.ppid === parent && listedProcess(parent)?.parent === grandparent) return
    clearInterval(looking)
    ended()
  }, pollMs)
  looking.unref()
}
