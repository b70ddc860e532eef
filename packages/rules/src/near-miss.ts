/** What somebody probably meant by a name that does not exist. */

const lengthMax = 24

/**
 * The candidate nearest to the name; undefined when none is near: one slip for names of up to three
 * letters, two for longer ones. A slip is a letter wrong, missing, added, or two swapped (`form`).
 */
export function nearest(name: string, candidates: Iterable<string>): string | undefined {
  if (name.length > lengthMax) return undefined
  let best: string | undefined
  let bestSlips = name.length <= 3 ? 1.5 : 2.5
  for (const candidate of candidates) {
    // A distance is never below the difference in length, and most candidates end here.
    if (Math.abs(name.length - candidate.length) >= bestSlips) continue
    const slips = slipsBetween(name, candidate)
    if (slips < bestSlips && slips < candidate.length) {
      best = candidate
      bestSlips = slips
    }
  }
  return best
}

/** Optimal string alignment distance. */
function slipsBetween(left: string, right: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: right.length + 1 }, (_, column) => column)
  for (let row = 1; row <= left.length; row++) {
    const current = [row]
    for (let column = 1; column <= right.length; column++) {
      const same = left[row - 1] === right[column - 1]
      let slips = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (same ? 0 : 1),
      )
      const swapped = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1]
      if (row > 1 && column > 1 && swapped) slips = Math.min(slips, (beforeLast[column - 2] ?? 0) + 1)
      current.push(slips)
    }
    beforeLast = last
    last = current
  }
  return last[right.length] ?? 0
}
