/** Scales of charts: how their values are written, and at which of them a line crosses the chart. */

/** A scale from 0 on. */
export interface Scale {
  readonly format: (value: number) => string
  /** At most five values up to `max`, rising from 0, of which no two are written the same. */
  readonly ticks: (max: number) => readonly number[]
}

const ticksMax = 5

function scaleOf(format: Scale["format"], steps: readonly number[]): Scale {
  return {
    format,
    ticks(max) {
      const step = steps.find((one) => max / one < ticksMax) ?? max
      return Array.from({ length: Math.floor(max / step) + 1 }, (_, index) => index * step)
    },
  }
}

/** 1, 2, 5, 10 and so on, to 5e11. */
const decimalSteps = Array.from({ length: 12 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat()

/** So many a second. */
export const rateScale = scaleOf(
  (value) => value.toLocaleString(undefined, { maximumFractionDigits: value < 10 ? 1 : 0 }),
  [0.5, ...decimalSteps],
)

/** So many, whole. */
export const countScale = scaleOf((value) => Math.round(value).toLocaleString(), decimalSteps)

/** Seconds, in the unit that fits. */
export const durationScale = scaleOf(
  (seconds) => {
    if (seconds < 120) return `${Math.round(seconds)} s`
    if (seconds < 7_200) return `${Math.round(seconds / 60)} min`
    return `${Math.round(seconds / 3_600)} h`
  },
  [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_200, 1_800, ...decimalSteps.map((hours) => hours * 3_600)],
)
