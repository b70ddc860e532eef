const blocks = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"] as const

/** Longest line where the output has no width. Ours: that of a common terminal. */
const columnsMax = 80

/**
 * Counts as a line of blocks, in their order: the highest block is the greatest count, a space is none. More counts than
 * columns are added up in groups of the same length.
 */
export function sparkline(counts: readonly number[], columns: number): string {
  const groupLength = Math.ceil(counts.length / Math.min(columns, columnsMax))
  const sums: number[] = []
  for (let from = 0; from < counts.length; from += groupLength)
    sums.push(counts.slice(from, from + groupLength).reduce((sum, count) => sum + count, 0))
  const greatest = Math.max(...sums)
  return sums.map((sum) => (sum === 0 ? " " : blocks[Math.ceil((sum / greatest) * blocks.length) - 1])).join("")
}
