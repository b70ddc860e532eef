/** The measured runs under `docs/figures/`, and a look-up of their figures. */
import assert from "node:assert"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { FigureRun, RecordedFigure } from "../../bench/figure.ts"

/** Every run of a directory, oldest first, then by file name. */
export function readRuns(directory: string): readonly FigureRun[] {
  return readdirSync(directory)
    .filter((name) => name.endsWith(".json"))
    .toSorted()
    .map((name) => JSON.parse(readFileSync(join(directory, name), "utf8")) as FigureRun)
}

/** Finds a figure by its name: that of the newest run, or of the date given. Throws when there is none. */
export type FindFigure = (name: string, date?: string) => RecordedFigure

/** A look-up over runs that are in the order of `readRuns`. */
export function figureFinder(runs: readonly FigureRun[]): FindFigure {
  return (name, date) => {
    const figures = runs
      .filter((run) => date === undefined || run.date === date)
      .flatMap((run) => run.figures.filter((figure) => figure.name === name))
    const newest = figures.at(-1)
    assert(newest !== undefined, `no run${date === undefined ? "" : ` of ${date}`} has the figure ${name}`)
    return newest
  }
}

/** The figures of the newest run of each name, in the order of the runs. */
export function newestFigures(runs: readonly FigureRun[]): readonly RecordedFigure[] {
  const newest = new Map(runs.flatMap((run) => run.figures.map((figure) => [figure.name, figure] as const)))
  return [...newest.values()]
}

/** A number as the pages print it: whole with commas from 100 on, else up to three significant digits. */
export function printed(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3)))
}

/** The value with its range, without the unit. */
export function printedValue({ value, highest }: RecordedFigure): string {
  return highest === undefined ? printed(value) : `${printed(value)} – ${printed(highest)}`
}
