/** Counts over time as the bars of a chart. */

/** Some number of things between two instants, Unix ms. */
export interface Bar {
  readonly startMs: number
  /** Exclusive. */
  readonly endMs: number
  readonly count: number
}

/** Most bars of a chart, but for one that is cut at the edge: on a narrow screen each is still some pixels wide. */
export const barsMax = 64

/** Numbers of intervals that make one bar, so that bars of hours begin at the same times of each day. */
const steps = [1, 2, 3, 4, 6, 8, 12, 24]

/**
 * The bars of intervals, which ascend, have no gaps and are `intervalMs` long, the first and the last one perhaps
 * shorter. Too many are merged: a bar of several begins at a multiple of its length, in UTC.
 */
export function barsOf(intervals: readonly Bar[], intervalMs: number): readonly Bar[] {
  const step = steps.find((one) => intervals.length <= one * barsMax) ?? Math.ceil(intervals.length / barsMax)
  const slotOf = ({ startMs }: Bar): number => Math.floor(startMs / (step * intervalMs))
  const bars: Bar[] = []
  for (const interval of intervals) {
    const last = bars.at(-1)
    if (last === undefined || slotOf(last) !== slotOf(interval)) bars.push(interval)
    else bars[bars.length - 1] = { ...last, endMs: interval.endMs, count: last.count + interval.count }
  }
  return bars
}

const units = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
] as const

/** The length of the bars that are not cut at an edge: "hour", "3 hours". */
export function barLengthText(bars: readonly Bar[]): string {
  const longestMs = Math.max(0, ...bars.map(({ startMs, endMs }) => endMs - startMs))
  const [name, unitMs] = units.find(([, ms]) => longestMs >= ms) ?? ["minute", 60_000]
  const count = Math.max(1, Math.round(longestMs / unitMs))
  return count === 1 ? name : `${count} ${name}s`
}
