const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" })

const steps = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
] as const

/**
 * How long before or after `nowMs` a moment is; both are Unix ms. What is less than ten seconds ahead is "now": the clocks
 * of server and viewer differ by a little, and a page counts on every ten seconds.
 */
export function relativeText(atMs: number, nowMs: number): string {
  const differenceMs = atMs - nowMs
  if (differenceMs > 0 && differenceMs < 10_000) return "now"
  const [unit, unitMs] = steps.find(([, ms]) => Math.abs(differenceMs) >= ms) ?? ["second", 1_000]
  const count = Math.round(differenceMs / unitMs)
  return count === 0 ? "now" : relative.format(count, unit)
}
