/** Suggestions for misspelt names. */

/** Longest name that gets suggestions, characters. Ours. */
const lengthMax = 48

/**
 * The candidate nearest to the name; undefined if none is near. A name of up to three letters may differ by one edit, a
 * longer one by two. An edit is a wrong, missing or added letter, or two letters swapped (`form`).
 */
export function nearest(name: string, candidates: Iterable<string>): string | undefined {
  if (name.length > lengthMax) return undefined
  let best: string | undefined
  let bestEdits = name.length <= 3 ? 1.5 : 2.5
  for (const candidate of candidates) {
    // The distance is at least the difference in length, which rules out most candidates.
    if (Math.abs(name.length - candidate.length) >= bestEdits) continue
    const edits = editsBetween(name, candidate)
    if (edits < bestEdits && edits < candidate.length) {
      best = candidate
      bestEdits = edits
    }
  }
  return best
}

/** Optimal string alignment distance. */
function editsBetween(left: string, right: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: right.length + 1 }, (_, column) => column)
  for (let row = 1; row <= left.length; row++) {
    const current = [row]
    for (let column = 1; column <= right.length; column++) {
      const same = left[row - 1] === right[column - 1]
      let edits = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (same ? 0 : 1),
      )
      const swapped = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1]
      if (row > 1 && column > 1 && swapped) edits = Math.min(edits, (beforeLast[column - 2] ?? 0) + 1)
      current.push(edits)
    }
    beforeLast = last
    last = current
  }
  return last[right.length] ?? 0
}
