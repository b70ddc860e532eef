/** One measured figure beside its limit of the same run. */
export interface Figure {
  readonly name: string
  readonly value: number
  readonly unit: string
  /** The same quantity of the barest program that does the same, in the same unit. */
  readonly limit: number
  /** What the limit is. */
  readonly limitIs: string
  /** `value / limit`. */
  readonly ratio: number
  /** What the ratio is to reach, for example `">= 0.6"`; null where none is set. */
  readonly goal: string | null
  readonly met: boolean | null
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
