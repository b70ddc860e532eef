import type { Terminal } from "./terminal.ts"
import { terminalText, textWidth, visibleText } from "./terminal-text.ts"

/** Widest column but the last. Ours: wide enough for ids and times. */
const cellColumnsMax = 40

/** Fewest columns that the last cell gets, however many stand before it. */
const lastCellColumnsMin = 20

/** A table, with a title for each column. */
interface TableFormat<Item> {
  /** The note in place of an empty table. */
  readonly none: string
  readonly columns: Readonly<Record<string, (item: Item) => string>>
}

/**
 * Prints a list: as one JSON array if asked to, otherwise as a table. Returns true when it printed a table, which a command
 * may add a note to.
 */
export async function printList<Item>(
  terminal: Pick<Terminal, "print" | "printJson" | "note" | "columns">,
  json: boolean | undefined,
  items: readonly Item[],
  { none, columns }: TableFormat<Item>,
): Promise<boolean> {
  if (json === true) await terminal.printJson(items)
  else if (items.length === 0) terminal.note(none)
  else {
    const rows = items.map((item) => Object.values(columns).map((cellOf) => cellOf(item)))
    for (const line of table(Object.keys(columns), rows, terminal.columns)) await terminal.print(line)
    return true
  }
  return false
}

/**
 * Rows under their titles in columns, each a line. Cells may hold anything: they are made safe, and cut to what fits;
 * the last column takes what the others leave. An infinite number of columns cuts nothing.
 */
export function table(titles: readonly string[], rows: readonly (readonly string[])[], columns: number): string[] {
  const cellColumns = Number.isFinite(columns) ? cellColumnsMax : columns
  const cells = [titles, ...rows].map((row) => row.map((cell) => terminalText(cell, cellColumns)))
  const last = titles.length - 1
  const widths = titles.map((_, index) => Math.max(...cells.map((row) => textWidth(row[index] ?? ""))))
  const before = widths.slice(0, last).reduce((sum, width) => sum + width + 2, 0)
  const lastColumns = Math.max(columns - before, lastCellColumnsMin)
  return [titles, ...rows].map((row, at) =>
    row
      .map((cell, index) =>
        index === last ? terminalText(cell, lastColumns) : padded(cells[at]?.[index] ?? "", widths[index] ?? 0),
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

/** A count with its noun: "1 rule", "12 rules". */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${String(count)} ${count === 1 ? one : many}`
}
