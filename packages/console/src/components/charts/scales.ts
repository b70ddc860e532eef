/** Scales of charts: the format of values, and the positions of grid lines. */

/** A scale that starts at 0. */
export interface Scale {
  readonly format: (value: number) => string
  /** At most five values from 0 to `max`, ascending, each with a different text. */
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

/** Events per second. */
export const rateScale = scaleOf(
  (value) => value.toLocaleString(undefined, { maximumFractionDigits: value < 10 ? 1 : 0 }),
  [0.5, ...decimalSteps],
)

/** Whole counts. */
export const countScale = scaleOf((value) => Math.round(value).toLocaleString(), decimalSteps)

/** Durations in seconds, in a suitable unit. */
export const durationScale = scaleOf(
  (seconds) => {
    if (seconds < 120) return `${Math.round(seconds)} s`
    if (seconds < 7_200) return `${Math.round(seconds / 60)} min`
    return `${Math.round(seconds / 3_600)} h`
  },
  [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_200, 1_800, ...decimalSteps.map((hours) => hours * 3_600)],
)
