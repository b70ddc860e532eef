/**
 * Fills the measured numbers and tables into a page of Markdown.
 *
 *     27,553<!-- ingest -->                      the value of a figure, of its newest run
 *     0.51<!-- ingest.ratio -->                  its ratio; also .limit
 *     11,685<!-- cluster-ingest-1.limit@2026-11-22 -->     of the run of that date
 *     4.5<!-- scale.cores -->                    a number that a script computes
 *
 *     <!-- table: fairness -->
 *     …
 *     <!-- end of table -->
 */
import assert from "node:assert"
import { printed, printedValue, type FindFigure } from "./runs.ts"

/** Names that a page may use: figures, computed numbers and tables. */
export interface Fillings {
  readonly find: FindFigure
  /** Computed numbers by their names, ready to print. */
  readonly computed: ReadonlyMap<string, string>
  /** Tables by their names, as Markdown. */
  readonly tables: ReadonlyMap<string, string>
}

/** The page with every marked number and table as the data has it. Throws for a name that the data does not have. */
export function fillPage(page: string, { find, computed, tables }: Fillings): string {
  return page
    .replaceAll(/[^\s|*(]+<!-- ([\w@.-]+) -->/g, (_, reference: string) => {
      const text = computed.get(reference) ?? numberOf(reference, find)
      return `${text}<!-- ${reference} -->`
    })
    .replaceAll(/<!-- table: ([\w-]+) -->.*?<!-- end of table -->/gs, (_, name: string) => {
      const table = tables.get(name)
      assert(table !== undefined, `there is no table ${name}`)
      return `<!-- table: ${name} -->\n\n${table}\n\n<!-- end of table -->`
    })
}

function numberOf(reference: string, find: FindFigure): string {
  const [, name = "", member, date] = /^([\w-]+)(?:\.(\w+))?(?:@(\d{4}-\d\d-\d\d))?$/.exec(reference) ?? []
  const figure = find(name, date)
  if (member === undefined) return printedValue(figure)
  const value = member === "ratio" ? figure.ratio : member === "limit" ? figure.limit : null
  assert(value !== null, `${reference} has no number`)
  return member === "ratio" ? value.toFixed(2) : printed(value)
}

/** Markdown as it reads: without the padding of tables, which the formatter adds. */
export function unpadded(page: string): string {
  return page
    .split("\n")
    .map((line) => (line.startsWith("|") ? line.replaceAll(/ +/g, " ").replaceAll(/-{3,}/g, "---") : line))
    .join("\n")
}
