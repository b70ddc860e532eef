import { terminalText, textWidth, visibleText } from "./terminal-text.ts"

/** Widest column but the last. Ours: wide enough for ids and times. */
const cellColumnsMax = 40

/** Fewest columns that the last cell gets, however many stand before it. */
const lastCellColumnsMin = 20

/**
 * Rows under their titles in columns, each a line. Cells hold words of strangers: they are made safe, and cut to
 * what fits; the last column takes what the others leave.
 */
export function table(
  titles: readonly string[],
  rows: readonly (readonly string[])[],
  columns: number,
): string[] {
  const cells = [titles, ...rows].map((row) => row.map((cell) => terminalText(cell, cellColumnsMax)))
  const last = titles.length - 1
  const widths = titles.map((_, index) => Math.max(...cells.map((row) => textWidth(row[index] ?? ""))))
  const before = widths.slice(0, last).reduce((sum, width) => sum + width + 2, 0)
  const lastColumns = Math.max(columns - before, lastCellColumnsMin)
  return [titles, ...rows].map((row, at) =>
    row
      .map((cell, index) =>
        index === last
          ? terminalText(cell, lastColumns)
          : padded(cells[at]?.[index] ?? "", widths[index] ?? 0),
      )
      .join("  ")
      .trimEnd(),
  )
}

/** The text with spaces after it up to a width; as it is when it is as wide already. */
export function padded(text: string, columns: number): string {
  return text + " ".repeat(Math.max(columns - textWidth(text), 0))
}

/** An instant as a table shows it: as it came, without the milliseconds. */
export function shortInstant(instant: string): string {
  return visibleText(instant).replace(/\.\d+Z$/, "Z")
}
