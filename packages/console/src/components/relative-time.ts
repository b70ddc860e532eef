const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" })

const steps = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
] as const

/**
 * The distance of an instant from `nowMs`, in words; both are Unix ms. Less than ten seconds ahead is "now": the clocks of
 * server and viewer differ slightly, and times are updated every ten seconds.
 */
export function relativeText(atMs: number, nowMs: number): string {
  const differenceMs = atMs - nowMs
  if (differenceMs > 0 && differenceMs < 10_000) return "now"
  const [unit, unitMs] = steps.find(([, ms]) => Math.abs(differenceMs) >= ms) ?? ["second", 1_000]
  const count = Math.round(differenceMs / unitMs)
  return count === 0 ? "now" : relative.format(count, unit)
}
