/** The measured figures in the documents: pages with marked numbers and tables, the page of all figures, the plots. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fillPage } from "./fill.ts"
import { plotFiles } from "./plots.ts"
import { figureFinder, readRuns } from "./runs.ts"
import { computeScale } from "./scale.ts"
import { clusterTable, fairnessTable, figuresPage, goalsList, otherProgramsTable } from "./tables.ts"

/** The pages that have marked numbers or tables, below the repository's root. */
const filledPages = ["README.md", "docs/performance.md", "docs/scale.md", "docs/figures/limits.md"]

/** Every file that is made from the figures, by its path below the root, with the content that the data gives it. */
export function filesFromFigures(root: string): ReadonlyMap<string, string> {
  const runs = readRuns(join(root, "docs/figures"))
  const find = figureFinder(runs)
  const { computed, meanTable } = computeScale(find)
  const tables = new Map([
    ["goals", goalsList(runs)],
    ["fairness", fairnessTable(runs)],
    ["other-programs", otherProgramsTable(runs, find)],
    ["cluster", clusterTable(find)],
    ["mean", meanTable],
  ])
  const filled = filledPages.map(
    (path) => [path, fillPage(readFileSync(join(root, path), "utf8"), { find, computed, tables })] as const,
  )
  const plots = Array.from(plotFiles(find), ([name, svg]) => [`docs/figures/${name}`, svg] as const)
  return new Map([...filled, ["docs/figures/README.md", figuresPage(runs, find)], ...plots])
}
