/** Durations and rates of sources, as people read them. */

const secondMs = 1_000
const minuteMs = 60_000
const hourMs = 3_600_000

/** A duration in one unit: "0.4 s", "12 min", "5 h". */
export function durationText(ms: number): string {
  if (ms < minuteMs) return `${(ms / secondMs).toFixed(1)} s`
  return ms < 3 * hourMs ? `${Math.round(ms / minuteMs)} min` : `${Math.round(ms / hourMs)} h`
}

/** A rate: "12/s", and with one digit after the point below ten. */
export function rateText(perSecond: number): string {
  const digits = perSecond < 10 ? 1 : 0
  return `${perSecond.toLocaleString(undefined, { maximumFractionDigits: digits })}/s`
}
