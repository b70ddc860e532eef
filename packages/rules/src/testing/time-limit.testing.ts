/**
 * Time limits for synchronous code.
 *
 * A test's own timeout cannot interrupt a loop that blocks the thread. V8 can interrupt a script from another thread, and
 * with it everything that the script calls.
 */

import { createContext, Script } from "node:vm"

const context: { run: () => void } = { run: () => {} }
createContext(context)
const script = new Script("run()")

/** Calls `run`. Returns false if it was interrupted after `limitMs`. Takes a fifth of a millisecond itself. */
export function endsWithin(limitMs: number, run: () => void): boolean {
  context.run = run
  try {
    script.runInContext(context, { timeout: limitMs })
    return true
  } catch (error) {
    if ((error as { code?: unknown }).code === "ERR_SCRIPT_EXECUTION_TIMEOUT") return false
    throw error
  } finally {
    context.run = () => {}
  }
}

/**
 * Calls `run` with 0 up to `count` until it returns true. Returns the last index. A single call that takes longer than the
 * limit ends the search too.
 */
export function findWithin(
  limitMs: number,
  count: number,
  run: (index: number) => boolean,
): { readonly index: number; readonly isOverrun: boolean } | undefined {
  const state = { index: 0, isFound: false }
  const search = (end: number) => () => {
    while (state.index < end && !state.isFound) {
      state.isFound = run(state.index)
      if (!state.isFound) state.index++
    }
  }
  for (;;) {
    if (state.isFound) return { index: state.index, isOverrun: false }
    if (state.index >= count) return undefined
    // Many calls under one limit, because setting it takes longer than most of them.
    if (endsWithin(limitMs, search(Math.min(count, state.index + 500)))) continue
    if (!endsWithin(limitMs, search(state.index + 1))) return { index: state.index, isOverrun: true }
  }
}
