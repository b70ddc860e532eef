/** Work of tests that takes real time, such as calls of a database, and that a manual clock waits for before it moves on. */
const pending = new Set<Promise<unknown>>()
let idle = Promise.withResolvers<void>()

/** The same promise, counted until it is settled. */
export async function countedOutside<Result>(work: Promise<Result>): Promise<Result> {
  pending.add(work)
  try {
    return await work
  } finally {
    pending.delete(work)
    if (pending.size === 0) {
      idle.resolve()
      idle = Promise.withResolvers()
    }
  }
}

/** Waits until none of it is pending. False when none was. */
export async function waitedForOutside(): Promise<boolean> {
  if (pending.size === 0) return false
  while (pending.size > 0) await idle.promise
  return true
}
