/** One measured figure, its limit of the same run, and its goal. */
export interface Figure {
  readonly name: string
  readonly value: number
  readonly unit: string
  /** The same quantity of the barest program that does the same, in the same unit. */
  readonly limit: number
  /** A description of the limit. */
  readonly limitIs: string
  /** `value / limit`. */
  readonly ratio: number
  /** The goal of the ratio, for example `">= 0.6"`; null without a goal. */
  readonly goal: string | null
  /** Whether the ratio reaches the goal; null without a goal. */
  readonly met: boolean | null
}

/** A figure as a run records it. A figure that was taken over from a page may have no limit of its run. */
export interface RecordedFigure extends Pick<Figure, "name" | "value" | "unit" | "goal" | "met"> {
  /** The largest value, where the run gave a range; `value` is then the least. */
  readonly highest?: number
  readonly limit: number | null
  readonly limitIs: string | null
  readonly ratio: number | null
}

/** One run of a bench: a file `docs/figures/DATE-NAME.json`. */
export interface FigureRun {
  readonly bench: string
  /** UTC, `YYYY-MM-DD`. */
  readonly date: string
  /** The command that measures it again. */
  readonly command: string
  readonly machine: string
  /** Sentences about the conditions of the run. */
  readonly notes: readonly string[]
  /** The part of the program that the bench times. */
  readonly times: string
  readonly figures: readonly RecordedFigure[]
}

/** A bench: prints its figures as it gets them. */
export type Bench = (print: (figure: Figure) => void) => Promise<void>

/** A figure and whether it meets its goal. */
export function figure(
  content: Pick<Figure, "name" | "value" | "unit" | "limit" | "limitIs">,
  goal?: { readonly atLeast: number } | { readonly atMost: number },
): Figure {
  const ratio = content.value / content.limit
  if (goal === undefined) return { ...content, ratio, goal: null, met: null }
  return "atLeast" in goal
    ? { ...content, ratio, goal: `>= ${goal.atLeast}`, met: ratio >= goal.atLeast }
    : { ...content, ratio, goal: `<= ${goal.atMost}`, met: ratio <= goal.atMost }
}

/** The value below which `share` (0 to 1) of the values lie. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

/** The middle of an odd number of rounds. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

/** A figure with three significant digits, or whole from 100 on. */
export function rounded(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3)
}
